# SPDX-License-Identifier: Apache-2.0
"""Strict reader of the safetensors header: schemas/tree.md section 6.

    python3 safetensors.py FILE     list the tensors as JSON, or say why the file is refused
"""
import json
import struct
import sys

if __package__ in (None, ""):
    import os

    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "reference"
from . import jcs

MAX_HEADER = 100_000_000  # the format's own limit on the header, in bytes
MAX_METADATA = 65536
MAX_RANK = 64

# Bits of one element: schemas/tree.md section 6.2.
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8,
    "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32,
    "I64": 64, "U64": 64, "F64": 64, "C64": 64,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip


class SafetensorsError(ValueError):
    """A file that is refused; `reason` is a word of schemas/tree.md section 6.3."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


def read_header(stream, file_size):
    """Parse the header at the start of a binary stream of file_size bytes.

    Returns a list of dicts {name, dtype, shape, offset, size}, ordered by name as UTF-8 bytes;
    offset counts from the start of the file. The checks stand in the order of section 6.3.
    """
    if file_size < 8:
        raise SafetensorsError("file-too-short")
    length = struct.unpack("<Q", stream.read(8))[0]
    if length > MAX_HEADER:
        raise SafetensorsError("header-too-large", str(length))
    if length > file_size - 8:
        raise SafetensorsError("header-beyond-file", str(length))
    header = stream.read(length)
    if not header.startswith(b"{"):
        raise SafetensorsError("header-start")
    members = _parse_json(header)

    if "__metadata__" in members:
        metadata = members.pop("__metadata__")
        if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
            raise SafetensorsError("metadata")
        if len(metadata) > MAX_METADATA:
            raise SafetensorsError("metadata")

    data_start = 8 + length
    data_size = file_size - data_start
    tensors, ranges = [], []
    for name, info in members.items():
        begin, end = _check_tensor(name, info, data_size)
        ranges.append((begin, end))
        tensors.append({"name": name, "dtype": info["dtype"], "shape": info["shape"],
                        "offset": data_start + begin, "size": end - begin})  # fmt: skip
    _check_cover(sorted(ranges), data_size)
    return sorted(tensors, key=lambda tensor: tensor["name"].encode("utf-8"))


def _parse_json(header):
    """The header is one JSON object, then nothing but spaces (0x20)."""
    body = header.rstrip(b" ")
    if body[-1:] in (b"\t", b"\n", b"\r"):
        raise SafetensorsError("header-padding")
    try:
        return jcs.loads(body)
    except jcs.JsonError as error:
        known = {"utf8": "header-utf8", "duplicate-key": "duplicate-key",
                 "integer-range": "number-range", "number-range": "number-range"}  # fmt: skip
        raise SafetensorsError(known.get(error.reason, "header-json"), str(error)) from None


def _is_natural(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _check_tensor(name, info, data_size):
    """One tensor for itself; returns its (begin, end)."""
    if not isinstance(info, dict) or set(info) != {"dtype", "shape", "data_offsets"}:
        raise SafetensorsError("tensor-fields", repr(name))
    if not isinstance(info["dtype"], str) or info["dtype"] not in DTYPE_BITS:
        raise SafetensorsError("dtype", repr(name))
    if not isinstance(info["shape"], list) or not all(_is_natural(d) for d in info["shape"]):
        raise SafetensorsError("shape", repr(name))
    if len(info["shape"]) > MAX_RANK:
        raise SafetensorsError("shape", repr(name))
    elements = 1
    for dimension in info["shape"]:  # the running product, from the left, stays in range
        elements *= dimension
        if elements > jcs.MAX_INTEGER:
            raise SafetensorsError("shape-overflow", repr(name))
    offsets = info["data_offsets"]
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_natural, offsets)):
        raise SafetensorsError("offsets", repr(name))
    begin, end = offsets
    if begin > end:
        raise SafetensorsError("offsets-order", repr(name))
    if end > data_size:
        raise SafetensorsError("beyond-data", repr(name))
    if elements * DTYPE_BITS[info["dtype"]] != (end - begin) * 8:
        raise SafetensorsError("size-mismatch", repr(name))
    return begin, end


def _check_cover(ranges, data_size):
    """In order of (begin, end) each tensor starts where the one before ends, up to the last byte."""
    position = 0
    for begin, end in ranges:
        if begin < position:
            raise SafetensorsError("overlap", f"at {begin}")
        if begin > position:
            raise SafetensorsError("gap", f"at {position}")
        position = end
    if position != data_size:
        raise SafetensorsError("trailing-data", f"at {position}")


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(argv[1], "rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(0)
            print(json.dumps(read_header(stream, size), indent=1, ensure_ascii=False))
    except SafetensorsError as error:
        print(f"safetensors: refused: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"safetensors: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
