# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/safetensors.json: good and hostile headers."""
import base64
import io
import json
import struct

from reference import safetensors


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def text(header):
    return json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()


def with_prefix(header, length=None):
    return struct.pack("<Q", len(header) if length is None else length) + header


def simple(header, data_size):
    """(head, file size) of a header given as a dict or as bytes."""
    raw = header if isinstance(header, bytes) else text(header)
    return with_prefix(raw), 8 + len(raw) + data_size


def one(fields, data_size=8):
    """A file with one tensor t whose description is the given JSON text."""
    return simple(b'{"t":' + fields.encode() + b"}", data_size)


U8 = tensor("U8", [8], 0, 8)
PLAIN = text({"t": U8})


def accepted():
    every = {name: bits for name, bits in safetensors.DTYPE_BITS.items()}
    header, at = {}, 0
    for name, bits in every.items():
        header["t." + name] = tensor(name, [4, 2], at, at + bits)
        at += bits
    yield "every dtype, shape [4,2]", simple(header, at)
    yield "no tensors, no data", simple({}, 0)
    yield "only metadata", simple({"__metadata__": {"format": "pt", "": "empty key"}}, 0)
    yield "empty metadata", simple({"__metadata__": {}, "t": U8}, 8)
    yield "one tensor", simple(PLAIN, 8)
    yield "trailing spaces", simple(PLAIN + b"       ", 8)
    yield "whitespace inside", simple(b'{\n\t"t" : {"dtype":"U8", "shape":[ 8 ],\r\n"data_offsets":[0,8]}}', 8)
    yield "scalar", simple({"t": tensor("F32", [], 0, 4)}, 4)
    yield "ones in the shape", simple({"t": tensor("F32", [1, 1, 1, 1], 0, 4)}, 4)
    yield "empty tensor alone", simple({"t": tensor("F32", [0], 0, 0)}, 0)
    yield "empty tensor, zero first, then large", simple({"t": tensor("F32", [0, 2**52, 2**52], 0, 0)}, 0)
    yield "empty tensors at start, between and at end", simple(
        {"e0": tensor("F32", [0], 0, 0), "a": tensor("U8", [3], 0, 3), "e1": tensor("I8", [2, 0], 3, 3),
         "e2": tensor("I8", [0], 3, 3), "b": tensor("U8", [2], 3, 5), "e3": tensor("U8", [0], 5, 5)}, 5)  # fmt: skip
    yield "unaligned after an odd tensor", simple(
        {"a": tensor("U8", [3], 0, 3), "b": tensor("F64", [2], 3, 19), "c": tensor("F16", [1], 19, 21)}, 21)  # fmt: skip
    yield "header order is not data order", simple(
        {"z": tensor("U8", [1], 9, 10), "a": tensor("U8", [4], 5, 9), "m": tensor("U8", [5], 0, 5)}, 10)  # fmt: skip
    yield "names: empty, quote, NUL, astral, combining", simple(
        b'{"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},'
        b'"\\"\\\\":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},'
        b'"\\u0000":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},'
        b'"\\ud83d\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[3,4]},'
        b'"\xef\xbc\xa1":{"dtype":"U8","shape":[1],"data_offsets":[4,5]},'
        b'"e\xcc\x81":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}}', 6)  # fmt: skip
    yield "members in another order", one('{"data_offsets":[0,8],"dtype":"U8","shape":[2,2,2]}')
    yield "four-bit elements, whole bytes", simple({"t": tensor("F4", [3, 2], 0, 3)}, 3)
    yield "six-bit elements, whole bytes", simple({"t": tensor("F6_E2M3", [4], 0, 3)}, 3)
    yield "large file, not materialised", simple({"t": tensor("U8", [2**53 - 1000], 0, 2**53 - 1000)}, 2**53 - 1000)
    yield "64 dimensions", simple({"t": tensor("U8", [1] * 63 + [8], 0, 8)}, 8)


def refused():
    yield "empty file", "file-too-short", (b"", 0)
    yield "seven bytes", "file-too-short", (b"\0" * 7, 7)
    yield "length zero", "header-start", (b"\0" * 8, 8)
    yield "begins like an artifact", "header-too-large", (
        b'{"chunk_size":4096,"hash":"sha256","tree":"assay-tree-v1"}', 2**40)  # fmt: skip
    yield "length one beyond the file", "header-beyond-file", (with_prefix(PLAIN, len(PLAIN) + 9), 8 + len(PLAIN) + 8)
    yield "length beyond a short file", "header-beyond-file", (with_prefix(b"{}", 3), 10)
    yield "header above 100 MB", "header-too-large", (with_prefix(b"{", 100_000_001), 200_000_000)
    yield "length 2^63", "header-too-large", (with_prefix(b"{}", 2**63), 10)
    yield "length 2^64-1", "header-too-large", (with_prefix(b"{}", 2**64 - 1), 10)
    yield "length 2^64-8 (8 + n wraps)", "header-too-large", (with_prefix(b"{}", 2**64 - 8), 10)
    yield "big-endian length", "header-too-large", (struct.pack(">Q", len(PLAIN)) + PLAIN, 8 + len(PLAIN) + 8)
    yield "leading space", "header-start", simple(b" " + PLAIN, 8)
    yield "byte order mark", "header-start", simple(b"\xef\xbb\xbf" + PLAIN, 8)
    yield "an array", "header-start", simple(b"[]", 0)
    yield "spaces only", "header-start", simple(b"        ", 0)
    yield "newline padding", "header-padding", simple(PLAIN + b"\n", 8)
    yield "NUL padding", "header-json", simple(PLAIN + b"\0\0", 8)
    yield "two objects", "header-json", simple(PLAIN + b"{}", 8)
    yield "cut object", "header-json", simple(PLAIN[:-1], 8)
    yield "trailing comma", "header-json", simple(b'{"t":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},}', 8)
    yield "comment", "header-json", simple(b"{/**/}", 0)
    yield "single quotes", "header-json", simple(b"{'t':1}", 0)
    yield "raw control character in a name", "header-json", simple(b'{"a\nb":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}', 8)
    yield "lone surrogate in a name", "header-json", simple(b'{"\\ud800":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}', 8)
    yield "name is not UTF-8", "header-utf8", simple(b'{"\xff":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}', 8)
    yield "name with an overlong form", "header-utf8", simple(b'{"\xc0\xaf":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}', 8)
    yield "name with an encoded surrogate", "header-utf8", simple(b'{"\xed\xa0\x80":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}', 8)
    yield "same tensor twice", "duplicate-key", simple(
        b'{"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"t":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}', 8)  # fmt: skip
    yield "same tensor twice, once escaped", "duplicate-key", simple(
        b'{"t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"\\u0074":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}', 8)  # fmt: skip
    yield "member twice", "duplicate-key", one('{"dtype":"U8","shape":[4],"shape":[8],"data_offsets":[0,8]}')
    yield "metadata twice", "duplicate-key", simple(b'{"__metadata__":{},"__metadata__":{}}', 0)
    yield "metadata key twice", "duplicate-key", simple(b'{"__metadata__":{"a":"1","a":"2"}}', 0)
    yield "metadata is a list", "metadata", simple(b'{"__metadata__":[]}', 0)
    yield "metadata is null", "metadata", simple(b'{"__metadata__":null}', 0)
    yield "metadata value is a number", "metadata", simple(b'{"__metadata__":{"a":1}}', 0)
    yield "metadata value is an object", "metadata", simple(b'{"__metadata__":{"a":{}}}', 0)
    yield "tensor is a list", "tensor-fields", one("[]", 0)
    yield "tensor is null", "tensor-fields", one("null", 0)
    yield "dtype missing", "tensor-fields", one('{"shape":[8],"data_offsets":[0,8]}')
    yield "shape missing", "tensor-fields", one('{"dtype":"U8","data_offsets":[0,8]}')
    yield "data_offsets missing", "tensor-fields", one('{"dtype":"U8","shape":[8]}')
    yield "unknown member", "tensor-fields", one('{"dtype":"U8","shape":[8],"data_offsets":[0,8],"scale":1}')
    yield "dtype in lower case", "dtype", one('{"dtype":"u8","shape":[8],"data_offsets":[0,8]}')
    yield "dtype unknown", "dtype", one('{"dtype":"F128","shape":[8],"data_offsets":[0,128]}', 128)
    yield "dtype empty", "dtype", one('{"dtype":"","shape":[8],"data_offsets":[0,8]}')
    yield "dtype is a number", "dtype", one('{"dtype":8,"shape":[8],"data_offsets":[0,8]}')
    yield "65 dimensions", "shape", simple({"t": tensor("U8", [1] * 64 + [8], 0, 8)}, 8)
    yield "shape is a number", "shape", one('{"dtype":"U8","shape":8,"data_offsets":[0,8]}')
    yield "shape negative", "shape", one('{"dtype":"U8","shape":[-8],"data_offsets":[0,8]}')
    yield "two negatives make a positive", "shape", one('{"dtype":"U8","shape":[-2,-4],"data_offsets":[0,8]}')
    yield "shape with a fraction", "shape", one('{"dtype":"U8","shape":[8.0],"data_offsets":[0,8]}')
    yield "shape with an exponent", "shape", one('{"dtype":"U8","shape":[8e0],"data_offsets":[0,8]}')
    yield "shape as text", "shape", one('{"dtype":"U8","shape":["8"],"data_offsets":[0,8]}')
    yield "shape null", "shape", one('{"dtype":"U8","shape":[null],"data_offsets":[0,8]}')
    yield "shape true", "shape", one('{"dtype":"U8","shape":[8,true],"data_offsets":[0,8]}')
    yield "shape with leading zero", "header-json", one('{"dtype":"U8","shape":[08],"data_offsets":[0,8]}')
    yield "shape NaN", "header-json", one('{"dtype":"U8","shape":[NaN],"data_offsets":[0,8]}')
    yield "dimension 2^53", "number-range", one('{"dtype":"U8","shape":[9007199254740992,0],"data_offsets":[0,0]}', 0)
    yield "dimension 2^64", "number-range", one('{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}', 0)
    yield "dimension of 400 digits", "number-range", one('{"dtype":"U8","shape":[' + "9" * 400 + '],"data_offsets":[0,0]}', 0)
    yield "product wraps 2^64 to 8", "shape-overflow", one('{"dtype":"U8","shape":[4294967296,4294967296,8],"data_offsets":[0,8]}')
    yield "product passes 2^53, then zero", "shape-overflow", one('{"dtype":"U8","shape":[4503599627370496,2,0],"data_offsets":[0,0]}', 0)
    yield "product wraps to 0", "shape-overflow", one('{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}', 0)
    yield "bytes wrap 2^64", "size-mismatch", one('{"dtype":"F64","shape":[2305843009213694],"data_offsets":[0,8]}')
    yield "offsets missing one", "offsets", one('{"dtype":"U8","shape":[8],"data_offsets":[8]}')
    yield "three offsets", "offsets", one('{"dtype":"U8","shape":[8],"data_offsets":[0,8,8]}')
    yield "offsets an object", "offsets", one('{"dtype":"U8","shape":[8],"data_offsets":{"0":0,"1":8}}')
    yield "offset negative", "offsets", one('{"dtype":"U8","shape":[9],"data_offsets":[-1,8]}')
    yield "offset with a fraction", "offsets", one('{"dtype":"U8","shape":[8],"data_offsets":[0,8.0]}')
    yield "offset 2^53", "number-range", one('{"dtype":"U8","shape":[8],"data_offsets":[0,9007199254740992]}')
    yield "begin after end", "offsets-order", one('{"dtype":"U8","shape":[0],"data_offsets":[8,0]}')
    yield "end one beyond the data", "beyond-data", one('{"dtype":"U8","shape":[9],"data_offsets":[0,9]}')
    yield "range wholly beyond the data", "beyond-data", one('{"dtype":"U8","shape":[1],"data_offsets":[100,101]}')
    yield "data cut by one byte", "beyond-data", simple(PLAIN, 7)
    yield "size below shape times dtype", "size-mismatch", one('{"dtype":"F32","shape":[8],"data_offsets":[0,8]}')
    yield "size above shape times dtype", "size-mismatch", one('{"dtype":"U8","shape":[7],"data_offsets":[0,8]}')
    yield "scalar with eight bytes of F32", "size-mismatch", one('{"dtype":"F32","shape":[],"data_offsets":[0,8]}')
    yield "zero elements with bytes", "size-mismatch", one('{"dtype":"U8","shape":[0],"data_offsets":[0,8]}')
    yield "four-bit elements, half a byte", "size-mismatch", one('{"dtype":"F4","shape":[3],"data_offsets":[0,2]}', 2)
    yield "six-bit elements, no whole byte", "size-mismatch", one('{"dtype":"F6_E3M2","shape":[1],"data_offsets":[0,1]}', 1)
    pair = lambda a, b: {"a": tensor("U8", [a[1] - a[0]], *a), "b": tensor("U8", [b[1] - b[0]], *b)}  # noqa: E731
    yield "overlap by one byte", "overlap", simple(pair((0, 5), (4, 8)), 8)
    yield "the same range twice", "overlap", simple(pair((0, 8), (0, 8)), 8)
    yield "one range inside another", "overlap", simple(pair((0, 8), (2, 4)), 8)
    yield "empty tensor inside another", "overlap", simple(pair((0, 8), (4, 4)), 8)
    yield "gap between", "gap", simple(pair((0, 3), (4, 8)), 8)
    yield "gap at the start", "gap", simple({"t": tensor("U8", [7], 1, 8)}, 8)
    yield "empty tensor after a gap", "gap", simple(pair((0, 3), (8, 8)), 8)
    yield "data after the last tensor", "trailing-data", simple(PLAIN, 9)
    yield "data without tensors", "trailing-data", simple({}, 1)
    yield "metadata nested deeply", "header-json", simple(b'{"__metadata__":' + b"[" * 2000 + b"]" * 2000 + b"}", 0)


def run(head, size):
    return safetensors.read_header(io.BytesIO(head + b"\0" * 16), size)


def build():
    cases = []
    for name, (head, size) in accepted():
        cases.append({"name": name, "head": base64.b64encode(head).decode(), "file_size": size,
                      "want": "accept", "tensors": run(head, size)})  # fmt: skip
    for name, reason, (head, size) in refused():
        try:
            run(head, size)
        except safetensors.SafetensorsError as error:
            assert error.reason == reason, (name, str(error)[:200])
        else:
            raise AssertionError(name)
        cases.append({"name": name, "head": base64.b64encode(head).decode(), "file_size": size,
                      "want": "reject", "reason": reason})  # fmt: skip
    return {
        "what": "Headers of safetensors files. The file of a case starts with the bytes of head "
        "(base64: length prefix and header), then zero bytes up to file_size; sizes above 1 MB "
        "are for readers that take the size as a number. tensors: what is read, ordered by name "
        "as UTF-8 bytes, offset counted from the start of the file. Reasons are the words of "
        "schemas/tree.md section 6.3; what counts is accept or reject.",
        "source": "written for this project after the public description of the safetensors format",
        "cases": cases,
    }
