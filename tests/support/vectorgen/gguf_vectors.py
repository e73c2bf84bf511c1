# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/gguf.json: one good file, and what one change makes of it."""
import base64
import io
import struct

from reference import gguf

U8, U16, I16, U32, I32, F32, TEXT, ARRAY, U64 = 0, 2, 3, 4, 5, 6, 8, 9, 10


def text(value):
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def array(kind, items, count=None):
    return struct.pack("<IQ", kind, len(items) if count is None else count) + b"".join(items)


def tensor(name, kind, dims, offset):
    """`dims` as they stand in the file: the innermost first."""
    return (text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims)
            + struct.pack("<IQ", kind, offset))  # fmt: skip


ARCHITECTURE = key("general.architecture", TEXT, text("llama"))
TOKENS = key("tokenizer.ggml.tokens", ARRAY, array(TEXT, [text("a"), text("\u00e9"), text("")]))
SCALE = key("llama.scale", F32, struct.pack("<f", 0.5))
KEYS = (ARCHITECTURE, TOKENS, SCALE)
# 40 bytes of F32, 24 of padding, 36 of Q4_0, 28 of padding, 3 of I8.
TENSORS = (("norm", 0, [5, 2], 0), ("blk.0.ffn", 2, [32, 2], 64), ("bias", 24, [3], 128))
DATA_SIZE = 131


def header(keys=KEYS, tensors=TENSORS, version=3, magic=b"GGUF", counts=None):
    counts = counts or (len(tensors), len(keys))
    infos = [item if isinstance(item, bytes) else tensor(*item) for item in tensors]
    return magic + struct.pack("<IQQ", version, *counts) + b"".join(keys) + b"".join(infos)


def padded(head, alignment=32):
    return head + bytes(-len(head) % alignment)


def file(data_size=DATA_SIZE, alignment=32, **changes):
    """(head, file size) of the good file with changes."""
    head = header(**changes)
    return head, len(padded(head, alignment)) + data_size


def one(kind, dims, data_size, offset=0, name="t"):
    return file(tensors=[(name, kind, dims, offset)], data_size=data_size)


def align(value):
    return key("general.alignment", U32, struct.pack("<I", value))


def split(number, count, tensors):
    return (key("split.no", U16, struct.pack("<H", number)), key("split.count", U16, struct.pack("<H", count)),
            key("split.tensors.count", I32, struct.pack("<i", tensors)))  # fmt: skip


def nested(depth):
    """An array of arrays; depth 1 is a plain array."""
    body = array(U8, [b"\1", b"\2"])
    for _ in range(depth - 1):
        body = array(ARRAY, [body])
    return key("deep", ARRAY, body)


def accepted():
    yield "version 3", file()
    yield "version 2", file(version=2)
    infos, at = [], 0
    for number, (name, block, size) in sorted(gguf.TYPES.items()):
        infos.append(("t." + name, number, [block, 2], at))
        at += -(-2 * size // 32) * 32
    yield "every type, two blocks", file(tensors=infos, data_size=at)
    yield "padding behind the last tensor", file(data_size=160)
    yield "some padding behind the last tensor", file(data_size=150)
    yield "no tensors", (header(tensors=()), len(header(tensors=())))
    yield "no tensors, padding", file(tensors=(), data_size=0)
    yield "no keys", file(keys=())
    yield "header order is not data order", file(tensors=TENSORS[::-1])
    for size in (8, 64, 65536):
        yield f"alignment {size}", file(keys=(*KEYS, align(size)), alignment=size, data_size=2 * size + 3,
                                        tensors=[("a", 24, [size - 1], 0), ("b", 24, [1], size),
                                                 ("c", 24, [3], 2 * size)][:3])  # fmt: skip
    yield "scalar", one(0, [], 4)
    yield "four dimensions", one(24, [2, 3, 4, 5], 120)
    yield "empty tensors at start, between and at end", file(
        tensors=[("e0", 0, [0], 0), ("a", 24, [5], 0), ("e1", 0, [0, 3], 32), ("b", 24, [32], 32), ("e2", 0, [0], 64)],
        data_size=64)  # fmt: skip
    yield "dimension zero, then large ones", one(0, [2**52, 2**52, 0], 0)
    yield "name of 64 bytes", one(24, [3], 3, name="n" * 64)
    yield "empty name", one(24, [3], 3, name="")
    yield "name beyond ASCII", one(24, [3], 3, name="\U0001f600e\u0301")
    yield "values of every type", file(keys=[
        key(f"k{kind}", kind, b"\xff" * size) for kind, size in gguf.VALUE_SIZES.items()] + [
        key(f"a{kind}", ARRAY, array(kind, [b"\xff" * size] * 3)) for kind, size in gguf.VALUE_SIZES.items()])  # fmt: skip
    yield "empty arrays", file(keys=[key("a", ARRAY, array(U8, [])), key("b", ARRAY, array(ARRAY, []))])
    yield "text that is not UTF-8 as a value", file(keys=[key("a", TEXT, text(b"\xff\0"))])
    yield "arrays in arrays", file(keys=[nested(4)])
    yield "part of a model", file(keys=(*KEYS, *split(1, 3, 7)))
    yield "merged from parts", file(keys=(*KEYS, *split(0, 0, 7)))
    yield "the only part", file(keys=(*KEYS, *split(0, 1, 3)))
    yield "large file, not materialised", one(24, [2**53 - 1000], 2**53 - 1000)


def refused_starts():
    good = header()
    yield "empty file", "header-beyond-file", (b"", 0)
    yield "magic alone", "header-beyond-file", (b"GGUF", 4)
    yield "other magic", "magic", file(magic=b"GGML")
    yield "magic in lower case", "magic", file(magic=b"gguf")
    yield "version 0", "big-endian", file(version=0)
    yield "version 1", "version", file(version=1)
    yield "version 4", "version", file(version=4)
    yield "version 65539", "version", file(version=65539)
    yield "big-endian", "big-endian", (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), 24)
    yield "file ends in the header", "header-beyond-file", (good[:-1], len(good) - 1)
    yield "2^20 + 1 tensors", "too-many-tensors", (header(counts=(2**20 + 1, 3)), 2**30)
    yield "2^64 - 1 tensors", "too-many-tensors", (header(counts=(2**64 - 1, 3)), 2**30)
    yield "65537 keys", "too-many-keys", (header(counts=(3, 65537)), 2**30)
    yield "2^63 keys", "too-many-keys", (header(counts=(3, 2**63)), 2**30)
    yield "one tensor more than described", "name", (header(counts=(4, 3)) + struct.pack("<Q", 65), 2**20)


def refused_keys():
    def keys(*items):
        return file(keys=items)

    yield "key twice", "duplicate-key", keys(ARCHITECTURE, SCALE, ARCHITECTURE)
    yield "empty key", "key", keys(key("", U8, b"\1"))
    yield "key of 65536 bytes", "key", keys(key("k" * 65536, U8, b"\1"))
    yield "key of 2^64 - 1 bytes", "key", keys(struct.pack("<Q", 2**64 - 1))
    yield "key is not UTF-8", "key", keys(key(b"\xff", U8, b"\1"))
    yield "key with NUL", "key", keys(key("a\0b", U8, b"\1"))
    yield "value of type 13", "value-type", keys(key("a", 13, b"\1"))
    yield "value of type 2^32 - 1", "value-type", keys(key("a", 2**32 - 1, b"\1"))
    yield "array of type 13", "value-type", keys(key("a", ARRAY, array(13, [])))
    yield "array of type 13 with items", "value-type", keys(key("a", ARRAY, array(13, [b"\1"])))
    yield "arrays five deep", "array-depth", keys(nested(5))
    yield "text of 2^64 - 1 bytes", "header-beyond-file", keys(key("a", TEXT, struct.pack("<Q", 2**64 - 1)))
    yield "array of 2^64 - 1 numbers", "header-beyond-file", keys(key("a", ARRAY, array(U64, [], 2**64 - 1)))
    yield "array whose bytes wrap 2^64", "header-beyond-file", keys(key("a", ARRAY, array(U64, [], 2**61)))
    yield "array of 2^64 - 1 texts", "header-beyond-file", keys(key("a", ARRAY, array(TEXT, [], 2**64 - 1)))
    long_text = key("a", TEXT, struct.pack("<Q", 100_000_000))
    yield "header above 100 MB", "header-too-large", (header(keys=[long_text]), 2**30)
    for value in (0, 1, 4, 24, 33, 131072, 2**31):
        yield f"alignment {value}", "alignment", keys(*KEYS, align(value))
    yield "alignment as u64", "alignment", keys(*KEYS, key("general.alignment", U64, struct.pack("<Q", 32)))
    yield "alignment as text", "alignment", keys(*KEYS, key("general.alignment", TEXT, text("32")))
    yield "part number behind the last", "split", keys(*split(3, 3, 7))
    yield "negative number of tensors of all parts", "split", keys(*split(0, 3, -1))
    yield "part without its number", "split", keys(*split(0, 3, 7)[1:])
    yield "part without the number of all tensors", "split", keys(*split(0, 3, 7)[:2])
    yield "part number as u32", "split", keys(key("split.no", U32, struct.pack("<I", 0)), *split(0, 3, 7)[1:])


def refused_tensors():
    def tensors(*items, data_size=DATA_SIZE):
        return file(tensors=items, data_size=data_size)

    first, second, third = TENSORS
    yield "name twice", "duplicate-name", tensors(first, (first[0], *second[1:]), third)
    yield "name of 65 bytes", "name", one(24, [3], 3, name="n" * 65)
    yield "name is not UTF-8", "name", one(24, [3], 3, name=b"\xc0\xaf")
    yield "name with NUL", "name", one(24, [3], 3, name="a\0b")
    yield "name __metadata__", "name", one(24, [3], 3, name="__metadata__")
    yield "five dimensions", "rank", one(24, [1, 1, 1, 1, 3], 3)
    yield "2^32 - 1 dimensions", "rank", file(tensors=[text("t") + struct.pack("<I", 2**32 - 1)], data_size=64)
    yield "dimension 2^53", "shape", one(24, [2**53, 0], 0)
    yield "dimension 2^64 - 1", "shape", one(24, [2**64 - 1], 3)
    yield "product wraps 2^64 to 8", "shape-overflow", one(24, [8, 2**32, 2**32], 8)
    yield "product passes 2^53 before a zero", "shape-overflow", one(24, [0, 2, 2**52], 0)
    for number in (4, 5, 9, 31, 36, 38, 43, 2**31, 2**32 - 1):
        yield f"type {number}", "type", one(number, [256], 1024)
    yield "half a block", "block", one(2, [16], 9)
    yield "whole blocks in all, none in a row", "block", one(2, [16, 2], 18)
    yield "scalar of a type with blocks", "block", one(2, [], 18)
    yield "tensor begins at no multiple of the alignment", "unaligned", tensors(("a", 24, [8], 0), ("b", 24, [8], 8), data_size=16)
    yield "overlap by a block of alignment", "overlap", tensors(("a", 24, [40], 0), ("b", 24, [8], 32), data_size=40)
    yield "the same range twice", "overlap", tensors(("a", 24, [8], 0), ("b", 24, [8], 0), data_size=8)
    yield "empty tensor inside another", "overlap", tensors(("a", 24, [64], 0), ("b", 24, [0], 32), data_size=64)
    yield "gap of the alignment between", "gap", tensors(first, ("b", 24, [8], 96), data_size=104)
    yield "gap behind the header", "gap", tensors(("a", 24, [8], 32), data_size=40)
    yield "empty tensor behind a gap", "gap", tensors(("a", 24, [8], 0), ("b", 24, [0], 64), data_size=64)
    yield "data cut by one byte", "beyond-file", file(data_size=DATA_SIZE - 1)
    yield "tensor wholly behind the file", "beyond-file", one(24, [3], 3, offset=2**40)
    yield "offset 2^64 - 32 wraps", "beyond-file", one(24, [3], 3, offset=2**64 - 32)
    yield "tensors without data", "beyond-file", (header(), len(header()))
    yield "32 bytes behind the last tensor", "trailing-data", file(data_size=DATA_SIZE + 32)
    yield "32 bytes without tensors", "trailing-data", (header(tensors=()), len(header(tensors=())) + 32)


def refused_padding():
    head, size = file()
    start = len(padded(head))
    assert start != len(head)
    for name, place in (("behind the header", len(head)), ("before the data", start - 1), ("between", start + 40),
                        ("before a tensor", start + 127)):  # fmt: skip
        yield f"padding that is not zero {name}", "padding", (head + bytes(place - len(head)) + b"\1", size)
    yield "padding that is not zero at the end", "padding", (head + bytes(start + 159 - len(head)) + b"\1", start + 160)


def run(head, size):
    # Zeros follow up to the end; only padding is read there, and the stream's end counts as zeros.
    return gguf.read_header(io.BytesIO(head), size)


def encoded(head):
    return base64.b64encode(head).decode()


def build():
    cases = []
    for name, (head, size) in accepted():
        cases.append({"name": name, "head": encoded(head), "file_size": size, "want": "accept", **run(head, size)})
    for group in (refused_starts, refused_keys, refused_tensors, refused_padding):
        for name, reason, (head, size) in group():
            try:
                run(head, size)
            except gguf.GgufError as error:
                assert error.reason == reason, (name, str(error)[:200])
            else:
                raise AssertionError(name)
            cases.append({"name": name, "head": encoded(head), "file_size": size, "want": "reject",
                          "reason": reason})  # fmt: skip
    return {
        "what": "GGUF files. The file of a case starts with the bytes of head (base64), then zero "
        "bytes up to file_size; sizes above 1 MB are for readers that take the size as a number. "
        "tensors: what is read, ordered by name as UTF-8 bytes, offset counted from the start of "
        "the file. Reasons are the words of schemas/tree.md section 6.6; what counts is accept or "
        "reject.",
        "source": "written for this project after the public description of the GGUF format",
        "cases": cases,
    }
