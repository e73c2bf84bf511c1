# SPDX-License-Identifier: Apache-2.0
"""Files that are cut into segments: schemas/tree.md section 2.2."""
import io
import struct

from . import gguf, merkle, safetensors

# The least and the greatest size of a header, in bytes, and whether bytes may lie between tensors.
FORMATS = {"safetensors": (10, 8 + safetensors.MAX_HEADER, False), "gguf": (24, gguf.MAX_HEADER, True)}
MAX_PADDING = 65535


class CutError(ValueError):
    """Entries that do not fit a cut; `reason` is one short stable word."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


def format_of(path):
    """Section 4.4: the format by which a file of this path is cut, or None."""
    return next((name for name in FORMATS if path.endswith("." + name)), None)


def read(stream, size, name):
    """The size of the header and the tensors, ordered by name, of a file in the format `name`."""
    stream.seek(0)
    if name == "gguf":
        header = gguf.read_header(stream, size)
        return header["header_size"], header["tensors"]
    tensors = safetensors.read_header(stream, size)
    stream.seek(0)
    return 8 + struct.unpack("<Q", stream.read(8))[0], tensors


def segments(header_size, tensors, file_size):
    """Section 2.2: (offset, size, tensor or None) in file order, those without bytes left out."""
    found = [(0, header_size, None)]
    position = header_size
    for tensor in sorted(tensors, key=lambda tensor: tensor["offset"]):
        if tensor["size"] == 0:
            continue
        if tensor["offset"] > position:
            found.append((position, tensor["offset"] - position, None))
        found.append((tensor["offset"], tensor["size"], tensor))
        position = tensor["offset"] + tensor["size"]
    if position < file_size:
        found.append((position, file_size - position, None))
    return found


def padding_root(size, hash_name, chunk_size):
    """Section 2.2: the root of so many zero bytes."""
    content = io.BytesIO(bytes(size))
    chunks = iter(lambda: content.read(chunk_size), b"")
    return merkle.root(hash_name, [merkle.leaf_hash(hash_name, chunk) for chunk in chunks])


def check_header(cut, file_size):
    """Section 5.2: the size of the header by itself."""
    least, most, _ = FORMATS[cut["format"]]
    if not least <= cut["size"] <= most or cut["size"] > file_size:
        raise CutError("cut-size", str(cut["size"]))


def check(file, tensors, hash_name, chunk_size):
    """Section 5.2: the tensors of a cut file cover it, and lead to its root."""
    cut = file["cut"]
    padded = FORMATS[cut["format"]][2]
    position = cut["size"]
    roots = [bytes.fromhex(cut["root"])]

    def pad(end):
        if end < position:
            raise CutError("cut-overlap", file["path"])
        if end > position and (not padded or end - position > MAX_PADDING):
            raise CutError("cut-gap", file["path"])
        return [padding_root(end - position, hash_name, chunk_size)] if end > position else []

    for tensor in sorted(tensors, key=lambda tensor: (tensor["offset"], tensor["size"])):
        if tensor["size"] == 0:
            pad(tensor["offset"])
            if bytes.fromhex(tensor["root"]) != merkle.digest(hash_name, b""):
                raise CutError("cut-root", tensor["name"])
            continue
        roots += pad(tensor["offset"]) + [bytes.fromhex(tensor["root"])]
        position = tensor["offset"] + tensor["size"]
    roots += pad(file["size"])
    if merkle.root(hash_name, roots).hex() != file["root"]:
        raise CutError("cut-root", file["path"])
