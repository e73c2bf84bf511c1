# SPDX-License-Identifier: Apache-2.0
"""Strict reader of GGUF headers: schemas/tree.md sections 6.4 to 6.6.

    python3 gguf.py FILE     list the tensors as JSON, or say why the file is refused
"""
import json
import struct
import sys

if __package__ in (None, ""):
    import os

    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "reference"
from . import jcs

MAX_HEADER = 100_000_000
MAX_TENSORS = 1 << 20
MAX_KEYS = 65536
MAX_KEY = 65535  # bytes
MAX_NAME = 64  # bytes
MAX_RANK = 4
MAX_DEPTH = 4

# number: (name, elements of a block, bytes of a block). Section 6.5.
TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 30: ("BF16", 1, 2), 28: ("F64", 1, 8),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8),
    2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 20: ("IQ4_NL", 32, 18), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 42: ("Q2_0", 64, 18), 41: ("Q1_0", 128, 18),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 22: ("IQ2_S", 256, 82),
    18: ("IQ3_XXS", 256, 98), 21: ("IQ3_S", 256, 110), 19: ("IQ1_S", 256, 50),
    29: ("IQ1_M", 256, 56), 23: ("IQ4_XS", 256, 136), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
}  # fmt: skip
BLOCKS = {name: (elements, size) for name, elements, size in TYPES.values()}

# Sizes of values by type; 8 is text and 9 an array.
VALUE_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
TEXT, ARRAY = 8, 9
# key: (type, form, word of the check)
KNOWN_KEYS = {
    "general.alignment": (4, "<I", "alignment"),
    "split.no": (2, "<H", "split"),
    "split.count": (2, "<H", "split"),
    "split.tensors.count": (5, "<i", "split"),
}


class GgufError(ValueError):
    """A file that is refused; `reason` is a word of schemas/tree.md section 6.6."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


class _Input:
    def __init__(self, stream, file_size):
        self.stream, self.file_size, self.at = stream, file_size, 0

    def take(self, count):
        if self.at + count > MAX_HEADER and self.file_size > MAX_HEADER:
            raise GgufError("header-too-large")
        if self.at + count > self.file_size:
            raise GgufError("header-beyond-file")
        self.at += count

    def raw(self, count):
        self.take(count)
        self.stream.seek(self.at - count)
        return self.stream.read(count).ljust(count, b"\0")

    def number(self, form):
        return struct.unpack(form, self.raw(struct.calcsize(form)))[0]

    def text(self, most, word):
        size = self.number("<Q")
        if size > most:
            raise GgufError(word, "long")
        try:
            text = self.raw(size).decode("utf-8")
        except UnicodeDecodeError:
            raise GgufError(word, "not UTF-8") from None
        if "\0" in text:
            raise GgufError(word, "NUL")
        return text


def read_header(stream, file_size):
    """Read a seekable binary stream of file_size bytes; behind its end it counts as zeros.

    Returns {tensors, header_size, data_start, alignment} and, for a part of a model, split. Tensors
    are dicts {name, dtype, shape, offset, size}, ordered by name as UTF-8 bytes.
    """
    source = _Input(stream, file_size)
    start = source.raw(8)
    if start[:4] != b"GGUF":
        raise GgufError("magic")
    if start[4:6] == b"\0\0":
        raise GgufError("big-endian")
    if struct.unpack("<I", start[4:])[0] not in (2, 3):
        raise GgufError("version")
    tensor_count, key_count = source.number("<Q"), source.number("<Q")
    if tensor_count > MAX_TENSORS:
        raise GgufError("too-many-tensors")
    if key_count > MAX_KEYS:
        raise GgufError("too-many-keys")
    values = _read_keys(source, key_count)
    alignment = values.get("general.alignment", 32)
    if alignment not in [1 << shift for shift in range(3, 17)]:
        raise GgufError("alignment", str(alignment))
    split = _split_of(values)
    tensors = [_read_tensor(source) for _ in range(tensor_count)]
    if len({tensor["name"] for tensor in tensors}) != len(tensors):
        raise GgufError("duplicate-name")
    data_start = -(-source.at // alignment) * alignment
    for tensor in tensors:
        if data_start + tensor["offset"] + tensor["size"] > file_size:
            raise GgufError("beyond-file", tensor["name"])
        if tensor["offset"] % alignment:
            raise GgufError("unaligned", tensor["name"])
        tensor["offset"] += data_start
    _check_gaps(stream, source.at, tensors, alignment, file_size)
    result = {"tensors": sorted(tensors, key=lambda tensor: tensor["name"].encode()),
              "header_size": source.at, "data_start": data_start, "alignment": alignment}  # fmt: skip
    if split:
        result["split"] = split
    return result


def _read_keys(source, count):
    seen, values = set(), {}
    for _ in range(count):
        key = source.text(MAX_KEY, "key")
        if not key:
            raise GgufError("key", "empty")
        if key in seen:
            raise GgufError("duplicate-key", key)
        seen.add(key)
        kind = source.number("<I")
        if key in KNOWN_KEYS:
            wanted, form, word = KNOWN_KEYS[key]
            if kind != wanted:
                raise GgufError(word, key)
            values[key] = source.number(form)
        else:
            _skip_value(source, kind, 0)
    return values


def _skip_value(source, kind, depth):
    if kind in VALUE_SIZES:
        source.take(VALUE_SIZES[kind])
    elif kind == TEXT:
        source.take(source.number("<Q"))
    elif kind != ARRAY:
        raise GgufError("value-type", str(kind))
    elif depth == MAX_DEPTH:
        raise GgufError("array-depth")
    else:
        item, count = source.number("<I"), source.number("<Q")
        if item in VALUE_SIZES:
            source.take(count * VALUE_SIZES[item])
        elif item not in (TEXT, ARRAY):
            raise GgufError("value-type", str(item))
        else:
            for _ in range(count):
                _skip_value(source, item, depth + 1)


def _split_of(values):
    count = values.get("split.count", 0)
    if count < 2:
        return None
    number, tensors = values.get("split.no"), values.get("split.tensors.count")
    if number is None or tensors is None or number >= count or tensors < 0:
        raise GgufError("split")
    return {"no": number, "count": count, "tensors": tensors}


def _read_tensor(source):
    name = source.text(MAX_NAME, "name")
    rank = source.number("<I")
    if rank > MAX_RANK:
        raise GgufError("rank", name)
    shape = [source.number("<Q") for _ in range(rank)][::-1]
    if any(dimension > jcs.MAX_INTEGER for dimension in shape):
        raise GgufError("shape", name)
    kind, offset = source.number("<I"), source.number("<Q")
    if name == "__metadata__":
        raise GgufError("name", name)
    if kind not in TYPES:
        raise GgufError("type", str(kind))
    elements = 1
    for dimension in shape:  # the running product, from the left, stays in range
        elements *= dimension
        if elements > jcs.MAX_INTEGER:
            raise GgufError("shape-overflow", name)
    dtype, block, size = TYPES[kind]
    if (shape[-1] if shape else 1) % block:
        raise GgufError("block", name)
    return {"name": name, "dtype": dtype, "shape": shape, "offset": offset,
            "size": elements // block * size}  # fmt: skip


def _check_gaps(stream, position, tensors, alignment, file_size):
    """Header and tensors in order of place; what lies between is short and zero."""
    gaps = []
    for tensor in sorted(tensors, key=lambda tensor: (tensor["offset"], tensor["size"])):
        if tensor["offset"] < position:
            raise GgufError("overlap", tensor["name"])
        if tensor["offset"] - position >= alignment:
            raise GgufError("gap", tensor["name"])
        gaps.append((position, tensor["offset"]))
        position = tensor["offset"] + tensor["size"]
    if file_size - position >= alignment:
        raise GgufError("trailing-data")
    for begin, end in [*gaps, (position, file_size)]:
        stream.seek(begin)
        if stream.read(end - begin).strip(b"\0"):
            raise GgufError("padding", f"at {begin}")


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(argv[1], "rb") as stream:
            size = stream.seek(0, 2)
            print(json.dumps(read_header(stream, size), indent=1, ensure_ascii=False))
    except GgufError as error:
        print(f"gguf: refused: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"gguf: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
