# SPDX-License-Identifier: Apache-2.0
"""assay-tree-v1: object roots, artifact roots, outlines (schemas/tree.md).

    tree.py hash PATH [--hash sha256|sha384] [--chunk-size N] [--objects files|tensors|both]
                      [--ignore PATTERN]... [--follow-symlinks] [--whole FILE]...
        prints what `assay hash PATH -o json` prints, but for "seconds" and "device"
    tree.py outline PATH --out FILE [--span N] [the options of hash]
        writes the outline of PATH to FILE and prints the JSON of hash
    tree.py check-outline HASH.json OUTLINE
        holds an outline against the JSON printed by hash; prints its span and digest count
    tree.py locate HASH.json OUTLINE PATH
        says which byte ranges below PATH differ from the outline

Exit status: 0 yes, 1 refused or different, 2 usage or operational error.
"""
import argparse
import json
import os
import stat
import struct
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "reference"
from . import cut, gguf, jcs, merkle, safetensors
from .files import TreeError, check_path, check_pattern, is_ignored, walk

TREE = "assay-tree-v1"
DEFAULT_CHUNK = 16384
MIN_CHUNK, MAX_CHUNK = 4096, 1048576
DEFAULT_SPAN = 1048576
MAX_SPAN = 2**40
MAX_PARAMETERS = 4095
# Left out where it is there, and bound as such (section 4.2).
USUAL = ("/.git", "/model.assay.json", "/model.assay.json.times", "/model.assay.outline")
DIGEST_SIZE = {"sha256": 32, "sha384": 48}
OUTLINE_MAGIC = b"assay-outline-v1"
OUTLINE_HASH = {"sha256": 1, "sha384": 2}


# --- trees of bytes: schemas/tree.md section 2 -----------------------------------------------


def is_power_of_two(n):
    return n > 0 and n & (n - 1) == 0


def check_parameters(hash_name, chunk_size, ignore=()):
    """Section 1: the parameters and their limits."""
    if hash_name not in DIGEST_SIZE:
        raise TreeError("hash", repr(hash_name))
    if not is_power_of_two(chunk_size) or not MIN_CHUNK <= chunk_size <= MAX_CHUNK:
        raise TreeError("chunk-size", str(chunk_size))
    for pattern in ignore:
        check_pattern(pattern)
    keys = [pattern.encode() for pattern in ignore]
    if any(before >= after for before, after in zip(keys, keys[1:])):
        raise TreeError("ignore-order", repr(ignore))


def chunk_leaves(stream, size, hash_name, chunk_size):
    """Section 2: leaf hashes of `size` bytes read from a stream."""
    leaves = []
    while size > 0:
        chunk = stream.read(min(chunk_size, size))
        if len(chunk) != min(chunk_size, size):
            raise TreeError("short-read")
        leaves.append(merkle.leaf_hash(hash_name, chunk))
        size -= len(chunk)
    return leaves


def object_root(stream, size, hash_name, chunk_size):
    """Section 2: root of one string of bytes, raw."""
    return merkle.root(hash_name, chunk_leaves(stream, size, hash_name, chunk_size))


# --- entries and the artifact root: schemas/tree.md sections 3 and 5 -------------------------


def parameters(hash_name, chunk_size, ignore=(), follow=False):
    """Section 1: ignore rules are members only when they say something."""
    known = {"chunk_size": chunk_size, "hash": hash_name, "tree": TREE}
    if ignore:
        known["ignore"] = list(ignore)
    if follow:
        known["follow_symlinks"] = True
    return known


def read_parameters(known):
    """Section 1: parameters of a JSON object, as arguments of the functions here."""
    members = {"chunk_size", "hash", "tree"}
    if not isinstance(known, dict) or not members <= set(known):
        raise TreeError("members", str(known))
    if set(known) - members - {"ignore", "follow_symlinks"} or known["tree"] != TREE:
        raise TreeError("members", str(known))
    ignore = known.get("ignore", [])
    if "ignore" in known and (not isinstance(ignore, list) or not ignore):
        raise TreeError("members", "ignore")
    if any(not isinstance(pattern, str) for pattern in ignore):
        raise TreeError("members", "ignore")
    if known.get("follow_symlinks", True) is not True:
        raise TreeError("members", "follow_symlinks")
    if not _is_natural(known["chunk_size"]) or not isinstance(known["hash"], str):
        raise TreeError("members", str(known))
    check_parameters(known["hash"], known["chunk_size"], ignore)
    if len(jcs.dumps(known)) > MAX_PARAMETERS:
        raise TreeError("parameters-size")
    return known["hash"], known["chunk_size"], tuple(ignore), "follow_symlinks" in known


def entry_key(entry):
    """Section 5.1: files by path, then tensors by (file, name), compared as UTF-8 bytes."""
    if entry["kind"] == "file":
        return (0, entry["path"].encode(), b"")
    return (1, entry["file"].encode(), entry["name"].encode())


_MEMBERS = {
    "file": {"kind", "path", "size", "root"},
    "tensor": {"kind", "name", "dtype", "shape", "file", "offset", "size", "root"},
}


_CUT = {"format", "root", "size"}


def _is_natural(value):
    return (isinstance(value, int) and not isinstance(value, bool)
            and 0 <= value <= jcs.MAX_INTEGER)  # fmt: skip


def check_entries(entries, hash_name, chunk_size=DEFAULT_CHUNK):
    """Section 5.2: what a reader refuses in an entry list."""
    if not entries:
        raise TreeError("no-entries")
    files, tensors = {}, {}
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("kind"), str):
            raise TreeError("members", str(entry))
        if set(entry) - {"cut"} != _MEMBERS.get(entry["kind"], None):
            raise TreeError("members", str(entry))
        if "cut" in entry and entry["kind"] != "file":
            raise TreeError("members", str(entry))
        _check_one_entry(entry, hash_name)
        if entry["kind"] == "file":
            files[entry["path"]] = entry
        else:
            tensors.setdefault(entry["file"], []).append(entry)
    for path in tensors if files else ():
        if path not in files:
            raise TreeError("tensor-without-file", path)
        for tensor in tensors[path]:
            if tensor["offset"] + tensor["size"] > files[path]["size"]:
                raise TreeError("tensor-beyond-file", tensor["name"])
        if "cut" not in files[path]:
            raise TreeError("tensor-without-cut", path)
    _check_order(entries)
    for path, file in files.items():
        if "cut" in file and (tensors or file["size"] == file["cut"]["size"]):
            _of_cut(cut.check, file, tensors.get(path, []), hash_name, chunk_size)


def _of_cut(call, *args):
    try:
        return call(*args)
    except cut.CutError as error:
        raise TreeError(error.reason, str(error)) from None


def _check_order(entries):
    keys = [entry_key(entry) for entry in entries]
    for before, after in zip(keys, keys[1:]):
        if before == after:
            raise TreeError("duplicate-entry", repr(after))
        if before > after:
            raise TreeError("order", repr(after))


def _check_digest_and_size(item, hash_name):
    if not isinstance(item["root"], str) or len(item["root"]) != 2 * DIGEST_SIZE[hash_name]:
        raise TreeError("root", str(item["root"]))
    if any(char not in "0123456789abcdef" for char in item["root"]):
        raise TreeError("root", item["root"])
    if not _is_natural(item["size"]):
        raise TreeError("size", str(item["size"]))


def _check_cut(entry, hash_name):
    known = entry["cut"]
    if not isinstance(known, dict) or set(known) != _CUT:
        raise TreeError("members", str(known))
    if known["format"] not in cut.FORMATS:
        raise TreeError("cut-format", str(known["format"]))
    _check_digest_and_size(known, hash_name)
    _of_cut(cut.check_header, known, entry["size"])


def _check_one_entry(entry, hash_name):
    _check_digest_and_size(entry, hash_name)
    if "cut" in entry:
        _check_cut(entry, hash_name)
    path = entry["path"] if entry["kind"] == "file" else entry["file"]
    if not isinstance(path, str):
        raise TreeError("members", str(entry))
    try:
        check_path(path.encode("utf-8", "strict"))
    except UnicodeEncodeError:
        raise TreeError("path-utf8", repr(path)) from None
    if entry["kind"] == "file":
        return
    if not isinstance(entry["name"], str) or not isinstance(entry["dtype"], str):
        raise TreeError("members", str(entry))
    if entry["name"] == "__metadata__":
        raise TreeError("name", entry["name"])
    if entry["dtype"] not in safetensors.DTYPE_BITS and entry["dtype"] not in gguf.BLOCKS:
        raise TreeError("dtype", entry["dtype"])
    if not isinstance(entry["shape"], list) or not all(_is_natural(d) for d in entry["shape"]):
        raise TreeError("shape", str(entry["shape"]))
    if not _is_natural(entry["offset"]) or entry["offset"] + entry["size"] > jcs.MAX_INTEGER:
        raise TreeError("offset", str(entry["offset"]))
    elements = 1
    for dimension in entry["shape"]:
        elements *= dimension
        if elements > jcs.MAX_INTEGER:
            raise TreeError("shape", str(entry["shape"]))
    if entry["dtype"] in safetensors.DTYPE_BITS:
        bits = elements * safetensors.DTYPE_BITS[entry["dtype"]]
    else:
        block, size = gguf.BLOCKS[entry["dtype"]]
        row = (entry["shape"] or [1])[-1]
        if row % block:
            raise TreeError("block", entry["name"])
        bits = elements // block * size * 8
    if bits != entry["size"] * 8:
        raise TreeError("size", entry["name"])


def artifact_leaves(entries, hash_name, chunk_size, ignore=(), follow=False):
    """Section 5: leaf data, parameters first. `entries` must be in order already."""
    known = parameters(hash_name, chunk_size, ignore, follow)
    read_parameters(known)
    check_entries(entries, hash_name, chunk_size)
    return [jcs.dumps(known)] + [jcs.dumps(e) for e in entries]


def artifact_root(entries, hash_name, chunk_size, ignore=(), follow=False):
    """Section 5: the artifact root, raw bytes."""
    data = artifact_leaves(entries, hash_name, chunk_size, ignore, follow)
    return merkle.root(hash_name, [merkle.leaf_hash(hash_name, leaf) for leaf in data])


def artifact_id(root, hash_name):
    """Section 5: text form of an artifact id."""
    return f"{TREE}-{hash_name}:{root.hex()}"


def _files_at(path, patterns, follow):
    if os.path.isdir(path):
        return walk(path, patterns, follow)
    if not stat.S_ISREG(os.stat(path).st_mode):  # section 4.2: a single file's path is its base name
        raise TreeError("special-file", str(path))
    return {check_path(os.path.basename(os.fsencode(path))): path}


def _hash_file(stream, path, name, objects, hash_name, chunk_size):
    """Section 3: [(entry, leaves of its own object)] of one file; `name` is its format or None."""
    size = stream.seek(0, 2)
    if size > jcs.MAX_INTEGER:
        raise TreeError("size", path)

    def leaves_of(offset, length):
        stream.seek(offset)
        return chunk_leaves(stream, length, hash_name, chunk_size)

    file = {"kind": "file", "path": path, "size": size}
    if name is None:
        leaves = leaves_of(0, size)
        file["root"] = merkle.root(hash_name, leaves).hex()
        return [(file, leaves)] if objects != "tensors" else []
    header_size, tensors = cut.read(stream, size, name)
    found, roots = [], []
    for offset, length, tensor in cut.segments(header_size, tensors, size):
        leaves = leaves_of(offset, length)
        roots.append(merkle.root(hash_name, leaves))
        if tensor is not None:
            found.append((tensor, leaves))
        elif offset == 0:
            header = leaves
        elif roots[-1] != cut.padding_root(length, hash_name, chunk_size):
            raise TreeError("padding", path)
    found += [(tensor, []) for tensor in tensors if tensor["size"] == 0]
    entries = []
    if objects != "tensors":
        file["root"] = merkle.root(hash_name, roots).hex()
        file["cut"] = {"format": name, "size": header_size, "root": roots[0].hex()}
        entries.append((file, header))
    if objects != "files":
        entries += [({"kind": "tensor", "file": path, **tensor,
                      "root": merkle.root(hash_name, leaves).hex()}, leaves)
                    for tensor, leaves in found]  # fmt: skip
    return entries


def hash_path(path, hash_name="sha256", chunk_size=DEFAULT_CHUNK, objects="both", patterns=(),
              follow=False, span=None, whole=()):  # fmt: skip
    """Sections 3 to 6 together. `patterns` in any order; nothing is added to them. `whole`: paths
    of files that are one segment whatever their names say.

    Returns (result, subtrees): the JSON of `assay hash` and, where a span is given, the subtree
    digests of each entry's own object in artifact order.
    """
    patterns = sorted(set(patterns), key=str.encode)
    check_parameters(hash_name, chunk_size, patterns)
    files = _files_at(path, patterns, follow)
    if set(whole) - set(files):
        raise TreeError("whole", str(sorted(set(whole) - set(files))))
    found, total = [], 0
    for text, name in files.items():
        cut_by = None if text in whole else cut.format_of(text)
        with open(name, "rb") as stream:
            entries = _hash_file(stream, text, cut_by, objects, hash_name, chunk_size)
        hashed = [entry["size"] for entry, _ in entries if objects == "tensors" or entry["kind"] == "file"]
        total += sum(hashed)
        for entry, leaves in entries:
            digests = span_digests(leaves, hash_name, chunk_size, span) if span else None
            found.append((entry, digests))
    found.sort(key=lambda pair: entry_key(pair[0]))
    entries = [entry for entry, _ in found]
    root = artifact_root(entries, hash_name, chunk_size, patterns, follow)
    result = {
        "root": root.hex(),
        "parameters": parameters(hash_name, chunk_size, patterns, follow),
        "objects": entries,
        "bytes": total,
    }
    return result, [digests for _, digests in found]


# --- outlines: schemas/tree.md section 7 -----------------------------------------------------


def check_span(span, chunk_size):
    """Section 7.1: a power of two, not below the chunk size, at most 2^40."""
    if not is_power_of_two(span) or not chunk_size <= span <= MAX_SPAN:
        raise TreeError("span", str(span))


def span_digests(leaves, hash_name, chunk_size, span):
    """Section 7.2: digest i is MTH of the chunk leaves in bytes [i*span, (i+1)*span)."""
    check_span(span, chunk_size)
    per = span // chunk_size
    return [merkle.root(hash_name, leaves[i : i + per]) for i in range(0, len(leaves), per)]


def own_object(entry):
    """Section 7: offset in the file, size and root (hex) of the bytes that an entry's outline covers."""
    if "cut" in entry:
        return 0, entry["cut"]["size"], entry["cut"]["root"]
    return entry.get("offset", 0), entry["size"], entry["root"]


def usual_patterns(path):
    """Section 4.2: what a program adds to the patterns of a directory."""
    return [p for p in USUAL if os.path.isdir(path) and os.path.lexists(os.path.join(path, p[1:]))]


def write_outline(entries, subtrees, hash_name, chunk_size, span, ignore=(), follow=False):
    """Section 7.1: the outline as bytes."""
    check_span(span, chunk_size)
    out = [
        OUTLINE_MAGIC,
        struct.pack("<IIQQ", OUTLINE_HASH[hash_name], chunk_size, span, len(entries)),
        artifact_root(entries, hash_name, chunk_size, ignore, follow),
    ]
    for digests in subtrees:
        out.append(struct.pack("<Q", len(digests)))
        out.extend(digests)
    return b"".join(out)


def read_outline(blob, entries, hash_name, chunk_size, ignore=(), follow=False):
    """Section 7.3: check an outline against the entries; returns (span, digests per entry)."""
    width = DIGEST_SIZE[hash_name]
    if len(blob) < 40 + width or blob[:16] != OUTLINE_MAGIC:
        raise TreeError("outline-header")
    algorithm, chunk, span, count = struct.unpack("<IIQQ", blob[16:40])
    if algorithm != OUTLINE_HASH[hash_name] or chunk != chunk_size:
        raise TreeError("outline-parameters")
    check_span(span, chunk_size)
    if count != len(entries):
        raise TreeError("outline-count")
    if blob[40 : 40 + width] != artifact_root(entries, hash_name, chunk_size, ignore, follow):
        raise TreeError("outline-root")
    position = 40 + width
    subtrees = []
    for entry in entries:
        _, own_size, own_root = own_object(entry)
        number = -(-own_size // span)
        if blob[position : position + 8] != struct.pack("<Q", number):
            raise TreeError("outline-count")
        position += 8
        end = position + number * width
        if end > len(blob):
            raise TreeError("outline-length")
        digests = [blob[at : at + width] for at in range(position, end, width)]
        # A span is a power of two of chunks, so RFC 9162 section 2.1.1 splits the object's tree
        # at span borders first: its root is the root over the subtree digests as leaves.
        if merkle.root(hash_name, digests).hex() != own_root:
            raise TreeError("outline-digest", str(entry))
        subtrees.append(digests)
        position = end
    if position != len(blob):
        raise TreeError("outline-length")
    return span, subtrees


def _file_root(stream, entry, hash_name, chunk_size):
    """The root of a cut file's bytes, or None when they do not parse as its format."""
    try:
        found = _hash_file(stream, entry["path"], entry["cut"]["format"], "files", hash_name, chunk_size)
        return found[0][0]["root"]
    except (TreeError, safetensors.SafetensorsError):
        return None


def locate(result, blob, path, follow=False):
    """Section 7.4: byte ranges below `path` that differ from an outline.

    Yields (entry, begin, end); begin and end count from the start of the entry's own object. A file
    that is absent or has another size is reported as one range over all of it. So is, from its
    header to its end, a cut file whose root differs although nothing else says where.
    """
    hash_name, chunk_size, ignore, followed = read_parameters(result["parameters"])
    span, subtrees = read_outline(blob, result["objects"], hash_name, chunk_size, ignore, followed)
    unplaced = {}  # cut files whose roots differ
    for entry, expected in zip(result["objects"], subtrees):
        text = entry["path"] if entry["kind"] == "file" else entry["file"]
        name = os.path.join(path, text) if os.path.isdir(path) else path
        start, own_size, _ = own_object(entry)
        try:
            with open(name, "rb") as stream:
                size = stream.seek(0, 2)
                if size < start + own_size or (entry["kind"] == "file" and size != entry["size"]):
                    yield entry, 0, entry["size"]
                    continue
                stream.seek(start)
                leaves = chunk_leaves(stream, own_size, hash_name, chunk_size)
                if "cut" in entry and _file_root(stream, entry, hash_name, chunk_size) != entry["root"]:
                    unplaced[text] = entry
        except FileNotFoundError:
            yield entry, 0, entry["size"]
            continue
        for i, digest in enumerate(span_digests(leaves, hash_name, chunk_size, span)):
            if digest != expected[i]:
                unplaced.pop(text, None)
                yield entry, i * span, min((i + 1) * span, own_size)
    for entry in unplaced.values():
        yield entry, entry["cut"]["size"], entry["size"]


# --- command line ----------------------------------------------------------------------------


def _arguments(argv):
    parser = argparse.ArgumentParser(prog="tree.py", description="assay-tree-v1 reference")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("hash", "outline"):
        sub = verbs.add_parser(verb)
        sub.add_argument("path")
        sub.add_argument("--hash", default="sha256", choices=sorted(DIGEST_SIZE))
        sub.add_argument("--chunk-size", type=int, default=DEFAULT_CHUNK)
        sub.add_argument("--objects", default="both", choices=("files", "tensors", "both"))
        sub.add_argument("--ignore", action="append", default=[], metavar="PATTERN")
        sub.add_argument("--follow-symlinks", action="store_true")
        sub.add_argument("--whole", action="append", default=[], metavar="FILE")
        if verb == "outline":
            sub.add_argument("--span", type=int, default=DEFAULT_SPAN)
            sub.add_argument("--out", required=True)
    for verb in ("check-outline", "locate"):
        sub = verbs.add_parser(verb)
        sub.add_argument("json")
        sub.add_argument("outline")
        if verb == "locate":
            sub.add_argument("path")
    return parser.parse_args(argv)


def _hash(args):
    span = getattr(args, "span", None)
    if span is not None:
        check_span(span, args.chunk_size)
    patterns = args.ignore + usual_patterns(args.path)
    result, subtrees = hash_path(args.path, args.hash, args.chunk_size, args.objects, patterns,
                                 args.follow_symlinks, span, args.whole)  # fmt: skip
    if args.verb == "outline":
        hash_name, chunk_size, ignore, follow = read_parameters(result["parameters"])
        blob = write_outline(result["objects"], subtrees, hash_name, chunk_size, span, ignore, follow)
        with open(args.out, "wb") as stream:
            stream.write(blob)
    print(json.dumps(result, indent=1, ensure_ascii=False))
    return 0


def _check_outline(args):
    with open(args.json, "rb") as stream:
        result = jcs.loads(stream.read())
    with open(args.outline, "rb") as stream:
        blob = stream.read()
    if args.verb == "locate":
        status = 0
        for entry, begin, end in locate(result, blob, args.path):
            status = 1
            print(json.dumps({"object": entry, "begin": begin, "end": end}, ensure_ascii=False))
        return status
    span, subtrees = read_outline(blob, result["objects"], *read_parameters(result["parameters"]))
    print(json.dumps({"span": span, "digests": sum(len(digests) for digests in subtrees)}))
    return 0


def main(argv):
    args = _arguments(argv[1:])
    try:
        return _hash(args) if args.verb in ("hash", "outline") else _check_outline(args)
    except (TreeError, safetensors.SafetensorsError, jcs.JsonError) as error:
        print(f"tree: refused: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"tree: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv))
