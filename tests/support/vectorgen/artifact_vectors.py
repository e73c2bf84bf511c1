# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/artifact.json: artifact roots, small trees, outlines, refused entry lists."""
import base64
import io
import json
import os
import struct
import tempfile

from reference import cut, jcs, merkle, tree
from . import gguf_vectors, painted


def file_entry(path, size, hash_name, chunk):
    root = tree.object_root(io.BytesIO(painted(size)), size, hash_name, chunk).hex()
    return {"kind": "file", "path": path, "size": size, "root": root}


def tensor_entry(file, name, dtype, shape, offset, size, hash_name, chunk):
    root = tree.object_root(io.BytesIO(painted(size)), size, hash_name, chunk).hex()
    return {"kind": "tensor", "name": name, "dtype": dtype, "shape": shape, "file": file,
            "offset": offset, "size": size, "root": root}  # fmt: skip


def cut_entries(path, header, tensors, hash_name="sha256", chunk=16384):
    """A safetensors file of a header of painted bytes, and its tensors: (name, dtype, shape, size)."""
    offset, entries, roots = header, [], [tree.object_root(io.BytesIO(painted(header)), header, hash_name, chunk)]
    for name, dtype, shape, size in tensors:
        entries.append(tensor_entry(path, name, dtype, shape, offset, size, hash_name, chunk))
        roots += [bytes.fromhex(entries[-1]["root"])] if size else []
        offset += size
    known = {"format": "safetensors", "size": header, "root": roots[0].hex()}
    file = {"kind": "file", "path": path, "size": offset, "root": merkle.root(hash_name, roots).hex(), "cut": known}
    return [file, *entries]


def padded_entries(size, hash_name="sha256", chunk=16384):
    """A GGUF file of so many bytes: a header of 24, padding, tensors of 40 and 4, and more padding."""
    header = tree.object_root(io.BytesIO(painted(24)), 24, hash_name, chunk)
    tensors = [tensor_entry("m.gguf", name, "I8", [length], offset, length, hash_name, chunk)
               for name, offset, length in (("b", 32, 40), ("a", 96, 4))]  # fmt: skip
    gap = lambda length: cut.padding_root(length, hash_name, chunk)  # noqa: E731
    roots = [bytes.fromhex(tensor["root"]) for tensor in tensors]
    root = merkle.root(hash_name, [header, gap(8), roots[0], gap(24), roots[1], gap(size - 100)])
    known = {"format": "gguf", "size": 24, "root": header.hex()}
    file = {"kind": "file", "path": "m.gguf", "size": size, "root": root.hex(), "cut": known}
    return [file, *sorted(tensors, key=tree.entry_key)]


def bytes_of(names):
    """Tensors of three bytes each, for cut_entries."""
    return [(name, "U8", [3], 3) for name in names]


def artifact(name, entries, hash_name="sha256", chunk=16384, ignore=(), follow=False):
    entries = sorted(entries, key=tree.entry_key)
    leaves = tree.artifact_leaves(entries, hash_name, chunk, ignore, follow)
    root = tree.artifact_root(entries, hash_name, chunk, ignore, follow)
    return {
        "name": name,
        "parameters": tree.parameters(hash_name, chunk, ignore, follow),
        "hash": hash_name,
        "chunk_size": chunk,
        "entries": entries,
        "leaves": [leaf.decode("utf-8") for leaf in leaves],
        "leaf_hashes": [merkle.leaf_hash(hash_name, leaf).hex() for leaf in leaves],
        "root": root.hex(),
        "id": tree.artifact_id(root, hash_name),
    }


def patterns_of(length):
    """Patterns that make parameters (sha256, 16384) of this many bytes."""
    rest = length - len(jcs.dumps(tree.parameters("sha256", 16384, ["x"]))) + 1
    patterns = []
    while rest > 0:
        size = min(400, rest)
        patterns.append(f"{len(patterns):03}" + "x" * (size - 3))
        rest -= size + 3  # the next one has quotes and a comma
    assert len(jcs.dumps(tree.parameters("sha256", 16384, patterns))) == length
    return patterns


def refused_parameters():
    """Parameters as JSON text, with the reason of tree.read_parameters."""
    good = tree.parameters("sha256", 16384, ["/.git"])
    rows = [
        ("member missing", "members", {k: v for k, v in good.items() if k != "tree"}),
        ("unknown member", "members", {**good, "files": []}),
        ("another tree", "members", {**good, "tree": "assay-tree-v2"}),
        ("unknown hash", "hash", {**good, "hash": "sha512"}),
        ("chunk size", "chunk-size", {**good, "chunk_size": 5000}),
        ("no patterns", "members", {**good, "ignore": []}),
        ("one pattern as text", "members", {**good, "ignore": "/.git"}),
        ("pattern that is a number", "members", {**good, "ignore": [1]}),
        ("empty pattern", "pattern", {**good, "ignore": [""]}),
        ("pattern that leads out", "pattern", {**good, "ignore": ["../x"]}),
        ("pattern with NUL", "pattern", {**good, "ignore": ["a\0b"]}),
        ("pattern too long", "pattern", {**good, "ignore": ["x" * 513]}),
        ("patterns out of order", "ignore-order", {**good, "ignore": ["b", "a"]}),
        ("order of UTF-16", "ignore-order", {**good, "ignore": ["\U0001f600", "\uff21"]}),
        ("pattern twice", "ignore-order", {**good, "ignore": ["a", "a"]}),
        ("links not followed, in words", "members", {**good, "follow_symlinks": False}),
        ("links by a number", "members", {**good, "follow_symlinks": 1}),
        ("one byte too long", "parameters-size", {**good, "ignore": patterns_of(4096)}),
    ]  # fmt: skip
    out = []
    for name, reason, known in rows:
        try:
            tree.read_parameters(known)
        except tree.TreeError as error:
            assert error.reason == reason, (name, error)
        else:
            raise AssertionError(name)
        out.append({"name": name, "reason": reason,
                    "parameters": json.dumps(known, ensure_ascii=True, separators=(",", ":"))})  # fmt: skip
    return out


def artifacts():
    found = []
    for hash_name, chunk in (("sha256", 16384), ("sha384", 16384), ("sha256", 4096)):
        short = f"{hash_name}/{chunk}"

        def f(path, size, h=hash_name, c=chunk):
            return file_entry(path, size, h, c)

        found.append(artifact(f"one empty file, {short}", [f("empty", 0)], hash_name, chunk))
        found.append(artifact(f"one file, {short}", [f("weights.bin", 100000)], hash_name, chunk))
        layout = [("scalar", "I64", [], 8), ("b", "F32", [100, 100], 40000),
                  ("empty", "F16", [0, 7], 0), ("a", "U8", [9000], 9000)]  # fmt: skip
        both = [f("config.json", 2), *cut_entries("model.safetensors", 992, layout, hash_name, chunk)]
        found.append(artifact(f"files and tensors, {short}", both, hash_name, chunk))
        found.append(artifact(f"files, one of them cut, {short}", both[:2], hash_name, chunk))
        found.append(artifact(f"tensors, {short}", both[2:], hash_name, chunk))
        found.append(artifact(f"padding of GGUF, {short}", padded_entries(65_635, hash_name, chunk), hash_name, chunk))
        found.append(artifact(f"a header alone, {short}", [
            *cut_entries("empty.safetensors", 10, [], hash_name, chunk),
            *cut_entries("empties.safetensors", 90, [("e", "U8", [0], 0), ("f", "F32", [0, 5], 0)], hash_name, chunk),
            *cut_entries("m.safetensors", 90000, [("t", "U8", [3], 3)], hash_name, chunk),
        ], hash_name, chunk))  # fmt: skip
    for name, ignore, follow in (
        ("a pattern", ["*.tmp"], False), ("links followed", [], True),
        ("patterns and links", ["/.git", "/model.assay.json", "\uff21", "\U0001f600"], True),
        ("patterns of the greatest length", patterns_of(tree.MAX_PARAMETERS), False),
    ):  # fmt: skip
        found.append(artifact(f"one file, {name}", [file_entry("weights.bin", 100000, "sha256", 16384)],
                              ignore=ignore, follow=follow))  # fmt: skip
    f = lambda path, size=3: file_entry(path, size, "sha256", 16384)  # noqa: E731
    # UTF-8 order: U+FF21 (ef bc a1) before U+1F600 (f0 9f 98 80); UTF-16 order is the reverse.
    found.append(artifact("order is by UTF-8 bytes", [
        f("\U0001f600"), f("\uff21"), f("a/b"), f("a.b"), f("a0"), f("A"), f("\u00e9"),
        f("e\u0301"), f(".hidden"), f("a b"), *cut_entries("b", 64, bytes_of(["\U0001f600", "\uff21", ""])),
        *cut_entries("ab", 64, bytes_of(["c"])), *cut_entries("a", 64, bytes_of(["z", "bc"])),
    ]))  # fmt: skip
    found.append(artifact("names that JSON must escape", [
        f('quote"back\\slash'), f("tab\tnewline\n"), f("\u007f\u0080\u2028"), f("</script>"),
        *cut_entries("x", 64, bytes_of(["nul\u0000in a tensor name"])),
    ]))  # fmt: skip
    found.append(artifact("greatest numbers", [
        {"kind": "file", "path": "big", "size": 2**53 - 1,
         "root": merkle.node_hash("sha256", bytes(32), b"\xff" * 32).hex(),
         "cut": {"format": "safetensors", "size": 15, "root": "00" * 32}},
        {"kind": "tensor", "name": "t", "dtype": "F64", "shape": [2**50 - 2, 1], "file": "big",
         "offset": 15, "size": 2**53 - 16, "root": "ff" * 32},
    ]))  # fmt: skip
    for count in range(1, 18):
        found.append(artifact(f"{count} files", [f(f"f{i:02}", i) for i in range(count)]))
    for dtype, shape, size in (("F4", [3, 2], 3), ("F6_E2M3", [4], 3), ("F6_E3M2", [8], 6),
                               ("F8_E8M0", [5], 5), ("C64", [2], 16), ("BOOL", [1, 1, 1], 1)):  # fmt: skip
        entry = tensor_entry("m.safetensors", "t", dtype, shape, 64, size, "sha256", 16384)
        found.append(artifact(f"dtype {dtype}", [entry]))
    return found


def safetensors_file(header, data, padding=0):
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode() + b" " * padding
    return struct.pack("<Q", len(text)) + text + data


def model_bytes():
    """A real safetensors file: unaligned offsets, an empty tensor, a scalar, metadata."""
    layout = [("embed.weight", "F16", [100, 30], 6000), ("mask", "BOOL", [7], 7),
              ("layer.0.w", "F32", [60, 50], 12000), ("empty", "BF16", [0, 4], 0),
              ("scalar", "F64", [], 8), ("layer.0.b", "I8", [5001], 5001)]  # fmt: skip
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, dtype, shape, size in layout:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    return safetensors_file(header, painted(at), padding=3)


def whole_of(name):
    return ["model.safetensors"] if name == "a model, hashed whole" else []


def gguf_model():
    """Padding of 24 and 28 bytes between tensors, and what the header leaves to the next 32."""
    data = bytearray(painted(gguf_vectors.DATA_SIZE))
    data[40:64], data[100:128] = bytes(24), bytes(28)
    return gguf_vectors.padded(gguf_vectors.header()) + data


TREES = (
    ("single files and folders", {
        "config.json": b'{"a":1}\n', "empty": b"", "sub/.hidden": b"x", "sub/deep/er/file": painted(5000),
        ".gitattributes": b"*.bin -text\n", ".git/HEAD": b"hashed", "sub/.git/HEAD": b"hashed",
    }, []),  # fmt: skip
    ("what may lie beside a model", {
        "config.json": b"{}", ".git/HEAD": b"not hashed", "sub/.git/HEAD": b"hashed",
        "model.assay.json": b"not hashed", "sub/model.assay.json": b"hashed",
    }, ["/.git", "/model.assay.json"]),  # fmt: skip
    ("ignore patterns", {
        "keep.txt": b"1", "drop.tmp": b"2", "sub/drop.tmp": b"3", "logs/a/b": b"4", "sub/logs/c": b"5",
        "x/y/z.bin": b"6",
    }, ["*.tmp", "/logs", "x/**/z.bin"]),  # fmt: skip
    ("a model", {"config.json": b"{}", "model.safetensors": None}, []),
    ("a model, hashed whole", {"config.json": b"{}", "model.safetensors": None}, []),
    ("GGUF", {"model.gguf": gguf_model(), "vocabulary.gguf": gguf_vectors.header(tensors=())}, []),
    ("headers alone", {
        "none.safetensors": safetensors_file({}, b""),
        "sub/empty.safetensors": safetensors_file(
            {"e": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}, b"", padding=9000),
        "model.SAFETENSORS": b"not one", "model.safetensors.index.json": b"{}",
    }, []),  # fmt: skip
)


def write_tree(top, files):
    for path, content in files.items():
        name = os.path.join(top, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as stream:
            stream.write(model_bytes() if content is None else content)


def trees():
    found = []
    for name, files, ignore in TREES:
        variants = [("sha256", 16384, "both", 16384)]
        if whole_of(name):
            variants = [("sha256", 4096, "both", 8192), ("sha256", 4096, "files", 4096)]
        elif None in files.values():
            variants = [("sha256", 4096, "both", 8192), ("sha256", 4096, "files", 4096),
                        ("sha256", 4096, "tensors", 4096), ("sha384", 4096, "both", 16384),
                        ("sha256", 16384, "both", 1048576)]  # fmt: skip
        with tempfile.TemporaryDirectory() as top:
            write_tree(top, files)
            for hash_name, chunk, objects, span in variants:
                result, subtrees = tree.hash_path(top, hash_name, chunk, objects, ignore, span=span,
                                                  whole=whole_of(name))  # fmt: skip
                known = tree.read_parameters(result["parameters"])
                blob = tree.write_outline(result["objects"], subtrees, hash_name, chunk, span, *known[2:])
                found.append({
                    "name": name,
                    "files": [{"path": path,
                               "hex": (model_bytes() if data is None else data).hex()}
                              if data is not None else {"path": path, "model": True}
                              for path, data in files.items()],
                    "ignore": ignore, "whole": whole_of(name), "hash": hash_name, "chunk_size": chunk, "objects": objects,
                    "span": span, "result": result,
                    "outline": base64.b64encode(blob).decode(),
                })  # fmt: skip
    return found


def refused_cuts():
    """Lists of cut files with the reason of tree.check_entries."""
    file, t, u, e = cut_entries("a", 64, [("t", "U8", [3], 3), ("u", "U8", [4], 4), ("e", "U8", [0], 0)])
    head = cut_entries("h", 64, [])[0]
    e, t, u = sorted((e, t, u), key=tree.entry_key)
    plain = file_entry("b", 4, "sha256", 16384)
    tree.check_entries([file, e, t, u], "sha256")

    def with_cut(**members):
        return {**file, "cut": {**file["cut"], **members}}

    gguf, a, b = padded_entries(128)

    return [
        ("cut of a tensor", "members", [{**t, "cut": file["cut"]}]),
        ("cut is null", "members", [{**file, "cut": None}]),
        ("cut without a root", "members", [{**file, "cut": {"format": "safetensors", "size": 64}}]),
        ("cut with another member", "members", [with_cut(offset=0)]),
        ("cut of an unknown format", "cut-format", [with_cut(format="pickle")]),
        ("cut in capitals", "cut-format", [with_cut(format="Safetensors")]),
        ("header root too short", "root", [with_cut(root=file["root"][2:])]),
        ("header size as text", "size", [with_cut(size="64")]),
        ("header larger than its file", "cut-size", [with_cut(size=72)]),
        ("header smaller than any", "cut-size", [with_cut(size=9)]),
        ("header larger than any", "cut-size", [{**file, "size": 2**40, "cut": {**file["cut"], "size": 100_000_009}}]),
        ("header alone, of another root", "cut-root", [{**head, "root": plain["root"]}]),
        ("tensor of a file without a cut", "tensor-without-cut", [plain, {**t, "file": "b", "offset": 0}]),
        ("the first tensor is missing", "cut-gap", [file, e, u]),
        ("the last tensor is missing", "cut-gap", [file, e, t]),
        ("all tensors are missing", "cut-gap", [file, head | {"path": "c"}, {**t, "file": "c", "offset": 61}]),
        ("another file's tensors are missing", "cut-gap",
         [file, {**file, "path": "c"}, e, t, u]),
        ("one range under two names", "cut-overlap", [file, e, t, {**t, "name": "t2"}, u]),
        ("tensors overlap", "cut-overlap", [file, e, t, {**u, "offset": 66, "size": 5, "shape": [5]}]),
        ("tensor in the header", "cut-overlap", [file, e, {**t, "offset": 63, "size": 4, "shape": [4]}, u]),
        ("roots of two tensors swapped", "cut-root", [file, e, {**t, "root": u["root"]}, {**u, "root": t["root"]}]),
        ("two tensors swapped", "cut-root", [file, e, {**t, "offset": 68}, {**u, "offset": 64}]),
        ("root of one tensor", "cut-root", [file, e, {**t, "root": u["root"]}, u]),
        ("root of the header", "cut-root", [with_cut(root=t["root"]), e, t, u]),
        ("root of the file", "cut-root", [{**file, "root": plain["root"]}, e, t, u]),
        ("header shorter by a byte", "cut-gap", [with_cut(size=63), e, t, u]),
        ("header longer by a byte", "cut-overlap", [with_cut(size=65), e, t, u]),
        ("padding of 65536 bytes", "cut-gap", padded_entries(65_636)),
        ("padding that is not zero", "cut-root", [{**gguf, "root": plain["root"]}, a, b]),
        ("padding in a safetensors file", "cut-gap",
         [{**gguf, "cut": {**gguf["cut"], "format": "safetensors"}}, a, b]),
        ("empty tensor inside another", "cut-overlap", [file, {**e, "offset": 65}, t, u]),
        ("empty tensor in the header", "cut-overlap", [file, {**e, "offset": 1}, t, u]),
        ("empty tensor of another root", "cut-root", [file, {**e, "root": t["root"]}, t, u]),
    ]  # fmt: skip


def refused_lists():
    """Entry lists as JSON text with the reason of tree.check_entries, all for sha256."""
    f = file_entry("a", 3, "sha256", 16384)
    g = file_entry("b", 4, "sha256", 16384)
    t = tensor_entry("a", "t", "U8", [3], 0, 3, "sha256", 16384)
    c, d = cut_entries("a", 64, bytes_of(["t"]))
    return refused_cuts() + [
        ("no entries", "no-entries", []),
        ("order of files", "order", [g, f]),
        ("tensor before file", "order", [d, c]),
        ("tensors by name only", "order", [{**t, "file": "c", "name": "a"}, {**t, "file": "b"}]),
        ("same path twice", "duplicate-entry", [f, {**f, "size": 4}]),
        ("same tensor twice", "duplicate-entry", [t, {**t, "offset": 3}]),
        ("unknown kind", "members", [{**f, "kind": "chunk"}]),
        ("kind missing", "members", [{k: v for k, v in f.items() if k != "kind"}]),
        ("root missing", "members", [{k: v for k, v in f.items() if k != "root"}]),
        ("unknown member", "members", [{**f, "mode": 420}]),
        ("file entry with a name", "members", [{**f, "name": "t"}]),
        ("root in capitals", "root", [{**f, "root": f["root"].upper()}]),
        ("root with prefix", "root", [{**f, "root": "sha256:" + f["root"]}]),
        ("root of sha384 length", "root", [{**f, "root": "00" * 48}]),
        ("root too short", "root", [{**f, "root": f["root"][:-2]}]),
        ("size negative", "size", [{**f, "size": -1}]),
        ("size as text", "size", [{**f, "size": "3"}]),
        ("size with fraction", "size", [{**f, "size": 3.5}]),
        ("size true", "size", [{**f, "size": True}]),
        ("size 2^53", "integer-range", [{**f, "size": 2**53}]),
        ("offset negative", "offset", [{**t, "offset": -1}]),
        ("offset plus size 2^53", "offset", [{**t, "offset": 2**53 - 3}]),
        ("shape with a negative", "shape", [{**t, "shape": [-3, -1]}]),
        ("shape not a list", "shape", [{**t, "shape": 3}]),
        ("shape overflows", "shape", [{**t, "shape": [2**52, 2**52, 0], "size": 0}]),
        ("size is not shape times dtype", "size", [{**t, "dtype": "F16"}]),
        ("unknown dtype", "dtype", [{**t, "dtype": "u8"}]),
        ("reserved tensor name", "name", [{**t, "name": "__metadata__"}]),
        ("path leaves the directory", "path-dot-part", [{**f, "path": "../a"}]),
        ("absolute path", "path-empty-part", [{**f, "path": "/a"}]),
        ("path with NUL", "path-nul", [{**f, "path": "a\0b"}]),
        ("bad path of a tensor's file", "path-dot-part", [{**t, "file": "./a"}]),
        ("tensor ends beyond its file", "tensor-beyond-file", [c, {**d, "offset": 65}]),
        ("tensor of a file that is no entry", "tensor-without-file", [g, t]),
        ("entry is not an object", "members", [f, "b"]),
    ]  # fmt: skip


def refused_outlines():
    """Mutations of the outline of one tree of this file, with the reason of tree.read_outline."""
    with tempfile.TemporaryDirectory() as top:
        write_tree(top, next(files for name, files, _ in TREES if name == "a model"))
        result, subtrees = tree.hash_path(top, "sha256", 4096, "both", span=8192)
    good = tree.write_outline(result["objects"], subtrees, "sha256", 4096, 8192)

    def patched(at, data):
        return good[:at] + data + good[at + len(data) :]

    first = 40 + 32 + 8  # first digest of the first entry
    mutations = [
        ("empty", b""),
        ("header only", good[:40]),
        ("other magic", patched(15, b"2")),
        ("hash algorithm 0", patched(16, b"\0")),
        ("hash algorithm sha384", patched(16, b"\2")),
        ("other chunk size", patched(20, struct.pack("<I", 16384))),
        ("span below the chunk", patched(24, struct.pack("<Q", 2048))),
        ("span not a power of two", patched(24, struct.pack("<Q", 12288))),
        ("span above 2^40", patched(24, struct.pack("<Q", 2**41))),
        ("other span", patched(24, struct.pack("<Q", 16384))),
        ("entry count one less", patched(32, struct.pack("<Q", len(result["objects"]) - 1))),
        ("entry count huge", patched(32, b"\xff" * 8)),
        ("other artifact root", patched(40, b"\0")),
        ("digest count zero", patched(72, struct.pack("<Q", 0))),
        ("digest count huge", patched(72, b"\xff" * 8)),
        ("digest changed", patched(first, bytes([good[first] ^ 1]))),
        ("last byte changed", patched(len(good) - 1, bytes([good[-1] ^ 0x80]))),
        ("one byte short", good[:-1]),
        ("one byte more", good + b"\0"),
        ("one digest more", good + b"\0" * 32),
    ]
    out = []
    for name, blob in mutations:
        try:
            tree.read_outline(blob, result["objects"], "sha256", 4096)
        except tree.TreeError as error:
            out.append({"name": name, "reason": error.reason, "outline": base64.b64encode(blob).decode()})
        else:
            raise AssertionError(name)
    return out


def build():
    refused = []
    for name, reason, entries in refused_lists():
        text = json.dumps(entries, ensure_ascii=True, separators=(",", ":"))
        try:
            tree.check_entries(jcs.loads(text.encode()), "sha256")
        except (tree.TreeError, jcs.JsonError) as error:
            assert error.reason == reason, (name, error)
        else:
            raise AssertionError(name)
        refused.append({"name": name, "reason": reason, "entries": text})
    return {
        "what": "Artifact roots of assay-tree-v1. artifacts: parameters, entries in artifact order, leaf data "
        "as text (leaf 0: the parameters), leaf hashes, root, id. model_hex: a real safetensors "
        "file. trees: directories (a file is given by its hex, or is the model), what hashing "
        "them gives, and the outline in base64. refused_entries: entry lists (JSON text, hash "
        "sha256) that a reader refuses. refused_outlines: broken outlines of the first tree "
        "named 'a model' in trees. refused_parameters: parameters (JSON text) that a reader refuses. Reasons are the words of the reference; what counts is "
        "accept or refuse.",
        "source": "computed by tests/support/reference/tree.py from schemas/tree.md, RFC 8785 and "
        "RFC 9162 section 2.1.1",
        "artifacts": artifacts(),
        "model_hex": model_bytes().hex(),
        "trees": trees(),
        "refused_entries": refused,
        "refused_parameters": refused_parameters(),
        "refused_outlines": refused_outlines(),
    }
