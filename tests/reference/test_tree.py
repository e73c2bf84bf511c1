# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import support
from reference import gguf, jcs, merkle, safetensors, tree
from vectorgen import painted


def write(top, files):
    for path, data in files.items():
        name = os.path.join(top, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as stream:
            stream.write(data)


def model(layout):
    """A safetensors file of tensors of these sizes, in this order."""
    header, at = {}, 0
    for name, size in layout.items():
        header[name] = {"dtype": "U8", "shape": [size], "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + painted(at)


class Directory(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.top = held.name

    def paths(self, *args, **kwargs):
        return sorted(tree.walk(self.top, *args, **kwargs))

    def assert_refused(self, reason, call, *args, **kwargs):
        with self.assertRaises(tree.TreeError) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.reason, reason)


class Walk(Directory):
    def test_hidden_files_count_and_no_name_is_special(self):
        write(self.top, {"a": b"", ".b": b"", ".git/x": b"", "sub/.git/y": b"", "sub/c": b""})
        os.mkdir(os.path.join(self.top, "empty"))
        self.assertEqual(self.paths(), [".b", ".git/x", "a", "sub/.git/y", "sub/c"])
        self.assertEqual(self.paths(["/.git"]), [".b", "a", "sub/.git/y", "sub/c"])

    def test_usual_patterns_are_of_what_is_there(self):
        self.assertEqual(tree.usual_patterns(self.top), [])
        write(self.top, {"a": b"", ".git": b"gitdir: elsewhere", "sub/model.assay.json": b""})
        self.assertEqual(tree.usual_patterns(self.top), ["/.git"])
        self.assertEqual(self.paths(tree.usual_patterns(self.top)), ["a", "sub/model.assay.json"])
        write(self.top, {"model.assay.json": b"", "model.assay.outline": b""})
        self.assertEqual(tree.usual_patterns(self.top), ["/.git", "/model.assay.json", "/model.assay.outline"])

    def test_a_snapshot_of_a_hugging_face_cache(self):
        write(self.top, {"models--a--b/blobs/e1": b"1", "models--a--b/snapshots/r/x": b"2",
                         "blobs/ab/ab12": b"3", "models--c--d/blobs/e9": b"4"})  # fmt: skip
        snapshot = os.path.join(self.top, "models--a--b/snapshots/r")
        os.makedirs(snapshot + "/sub")
        os.symlink("../../blobs/ab/ab12", self.top + "/models--a--b/blobs/e2")
        os.symlink("../../../blobs/e2", snapshot + "/sub/y")
        os.symlink("../../blobs/e1", snapshot + "/z")
        self.assertEqual({path: os.path.relpath(name, os.path.realpath(self.top).encode())
                          for path, name in tree.walk(snapshot).items()},
                         {"x": b"models--a--b/snapshots/r/x", "z": b"models--a--b/blobs/e1",
                          "sub/y": b"blobs/ab/ab12"})  # fmt: skip
        self.assert_refused("symlink-outside", tree.walk, snapshot, (), True)
        for target in ("../../../models--c--d/blobs/e9", "../../blobs/../blobs/e1", "x", "../../blobs"):
            os.unlink(snapshot + "/z")
            os.symlink(target, snapshot + "/z")
            self.assert_refused("symlink-outside", tree.walk, snapshot)
        os.unlink(snapshot + "/z")
        os.unlink(self.top + "/models--a--b/blobs/e2")
        os.symlink("../../models--c--d/blobs/e9", self.top + "/models--a--b/blobs/e2")
        self.assert_refused("symlink-outside", tree.walk, snapshot)

    def test_links(self):
        write(self.top, {"real": b"1", "dir/x": b"2"})
        for name, target in (("link", "real"), ("linkdir", "dir")):
            os.symlink(target, os.path.join(self.top, name))
        self.assert_refused("symlink", tree.walk, self.top)
        self.assertEqual(self.paths(follow=True), ["dir/x", "link", "linkdir/x", "real"])
        self.assertEqual(self.paths(["link", "linkdir"]), ["dir/x", "real"])

    def test_links_that_leave_loop_or_dangle(self):
        write(self.top, {"m/real": b"1", "outside": b"2"})
        inside = os.path.join(self.top, "m")
        link = os.path.join(inside, "link")
        for target, reason in (("../outside", "symlink-outside"), ("/etc/hostname", "symlink-outside"),
                               ("..", "symlink-outside"), (".", "symlink-loop"), ("gone", "symlink-broken")):  # fmt: skip
            os.symlink(target, link)
            self.assert_refused(reason, tree.walk, inside, follow=True)
            os.unlink(link)

    def test_special_files_are_refused(self):
        os.mkfifo(os.path.join(self.top, "pipe"))
        self.assert_refused("special-file", tree.walk, self.top)
        self.assertEqual(self.paths(["pipe"]), [])

    def test_a_name_that_is_not_utf8_is_refused(self):
        with open(os.path.join(os.fsencode(self.top), b"\xff"), "wb"):
            pass
        self.assert_refused("path-utf8", tree.walk, self.top)

    def test_vectors(self):
        data = support.vectors("paths")
        for case in data["paths"]:
            path = bytes.fromhex(case["hex"])
            if case["want"] == "accept":
                tree.check_path(path)
            else:
                self.assert_refused(case["reason"], tree.check_path, path)
        for case in data["ignored"]:
            self.assertEqual(tree.is_ignored(case["path"], case["patterns"]), case["ignored"], case)
        for pattern in data["refused_patterns"]:
            self.assert_refused("pattern", tree.check_pattern, pattern)


class Objects(unittest.TestCase):
    def test_vectors(self):
        data = support.vectors("tree")
        self.assertEqual(hashlib.sha256(painted(1000)).hexdigest(), data["painted_1000_sha256"])
        for size in data["refused_chunk_sizes"]:
            self.assertRaises(tree.TreeError, tree.check_parameters, "sha256", size)
        for case in data["cases"]:
            if case["size"] > 1 << 20:
                continue  # held against the generator by test_vectors.py
            content = io.BytesIO(painted(case["size"]))
            root = tree.object_root(content, case["size"], case["hash"], case["chunk_size"])
            self.assertEqual(root.hex(), case["root"])
            digests = [bytes.fromhex(digest) for digest in case["outline"]]
            self.assertEqual(merkle.root(case["hash"], digests).hex(), case["root"])

    def test_every_span_rebuilds_the_root(self):
        for count in range(0, 40):
            leaves = [merkle.leaf_hash("sha256", b"%d" % i) for i in range(count)]
            for per in (1, 2, 4, 8, 16, 64):
                digests = tree.span_digests(leaves, "sha256", 4096, 4096 * per)
                self.assertEqual(len(digests), -(-count // per))
                self.assertEqual(merkle.root("sha256", digests), merkle.root("sha256", leaves))


class Artifacts(Directory):
    def test_vectors(self):
        data = support.vectors("artifact")
        for case in data["artifacts"]:
            known = tree.read_parameters(case["parameters"])
            self.assertEqual(known[:2], (case["hash"], case["chunk_size"]))
            leaves = tree.artifact_leaves(case["entries"], *known)
            self.assertEqual([leaf.decode() for leaf in leaves], case["leaves"])
            root = tree.artifact_root(case["entries"], *known)
            self.assertEqual(root.hex(), case["root"])
            self.assertEqual(tree.artifact_id(root, case["hash"]), case["id"])
        for case in data["refused_entries"]:
            with self.assertRaises((tree.TreeError, jcs.JsonError), msg=case["name"]) as caught:
                tree.check_entries(jcs.loads(case["entries"].encode()), "sha256")
            self.assertEqual(caught.exception.reason, case["reason"], case["name"])
        for case in data["refused_parameters"]:
            self.assert_refused(case["reason"], tree.read_parameters, jcs.loads(case["parameters"].encode()))

    def test_other_ignore_rules_are_another_artifact(self):
        write(self.top, {"model.bin": b"weights"})
        roots = {tree.hash_path(self.top, patterns=patterns, follow=follow)[0]["root"]
                 for patterns in ([], ["*.py"], ["/x.py"], ["*.py", "/x.py"]) for follow in (False, True)}  # fmt: skip
        self.assertEqual(len(roots), 8)
        same = {tree.hash_path(self.top, patterns=patterns)[0]["root"] for patterns in (["a", "b"], ["b", "a", "b"])}
        self.assertEqual(len(same), 1)

    def test_vectors_of_directories_and_outlines(self):
        data = support.vectors("artifact")
        for number, case in enumerate(data["trees"]):
            top = os.path.join(self.top, str(number))
            write(top, {f["path"]: bytes.fromhex(f.get("hex", data["model_hex"])) for f in case["files"]})
            result, subtrees = tree.hash_path(top, case["hash"], case["chunk_size"], case["objects"],
                                              case["ignore"], span=case["span"], whole=case["whole"])  # fmt: skip
            self.assertEqual(result, case["result"])
            known = tree.read_parameters(result["parameters"])
            blob = base64.b64decode(case["outline"])
            self.assertEqual(tree.write_outline(result["objects"], subtrees, *known[:2], case["span"], *known[2:]), blob)
            self.assertEqual(tree.read_outline(blob, result["objects"], *known), (case["span"], subtrees))
        model = next(case for case in data["trees"] if case["name"] == "a model")
        for case in data["refused_outlines"]:
            self.assert_refused(case["reason"], tree.read_outline, base64.b64decode(case["outline"]),
                                model["result"]["objects"], "sha256", 4096)  # fmt: skip

    def test_every_changed_byte_of_an_outline_is_refused(self):
        model = next(c for c in support.vectors("artifact")["trees"] if c["name"] == "a model")
        blob = base64.b64decode(model["outline"])
        for at in range(len(blob)):
            broken = blob[:at] + bytes([blob[at] ^ 4]) + blob[at + 1 :]
            with self.assertRaises(tree.TreeError, msg=at):
                tree.read_outline(broken, model["result"]["objects"], "sha256", 4096)
        for length in range(len(blob)):
            with self.assertRaises(tree.TreeError, msg=length):
                tree.read_outline(blob[:length], model["result"]["objects"], "sha256", 4096)

    def test_worked_example_of_the_description(self):
        with open(os.path.join(support.ROOT, "schemas", "tree.md"), encoding="utf-8") as stream:
            example = stream.read().split("## 9. ")[1].split("## 10. ")[0]
        blocks = re.findall(r"```\n(.*?)```", example, re.S)
        header = blocks[0].replace("\n", "").encode()
        head = len(header).to_bytes(8, "little") + header
        write(self.top, {"a.bin": painted(9000), "b.safetensors": head + painted(5000) + b"abc"})
        self.assertIn(f"`b.safetensors` has {len(head) + 5003} bytes: header length {len(header)},", example)
        result, subtrees = tree.hash_path(self.top, "sha256", 4096, "both", span=8192)
        leaf = lambda data: merkle.leaf_hash("sha256", data)  # noqa: E731
        node = lambda left, right: merkle.node_hash("sha256", left, right)  # noqa: E731
        given = lambda *numbers: re.findall(r"\b[0-9a-f]{64}\b", "".join(blocks[n] for n in numbers))  # noqa: E731
        a = [leaf(painted(9000)[at : at + 4096]) for at in (0, 4096, 8192)]
        u = [leaf(painted(5000)[:4096]), leaf(painted(5000)[4096:])]
        want = a + [node(*a[:2]), node(node(*a[:2]), a[2])]
        want += [leaf(head), *u, node(*u), leaf(b"abc"), node(leaf(head), node(*u))]
        want += [node(want[-1], leaf(b"abc"))]
        self.assertEqual(given(1, 2), [digest.hex() for digest in want])
        self.assertEqual([entry["root"] for entry in result["objects"]],
                         [digest.hex() for digest in (want[4], want[-1], leaf(b"abc"), node(*u))])  # fmt: skip
        leaves = tree.artifact_leaves(result["objects"], "sha256", 4096)
        self.assertEqual(blocks[3].splitlines(), [text.decode() for text in leaves])
        hashes = [leaf(data) for data in leaves]
        pairs = [node(*hashes[:2]), node(*hashes[2:4])]
        want = hashes + pairs + [node(*pairs), bytes.fromhex(result["root"])]
        self.assertEqual(given(4), [digest.hex() for digest in want])
        outline = tree.write_outline(result["objects"], subtrees, "sha256", 4096, 8192)
        numbers = re.findall(r"^((?:[0-9a-f]{8,} ?)+)", blocks[5], re.M)
        self.assertEqual(bytes.fromhex("".join(numbers)), outline)
        self.assertIn(f"it has {len(outline)} bytes", example)
        ignore = ["*.tmp", "/.git"]
        other = tree.artifact_leaves(result["objects"], "sha256", 4096, ignore)
        self.assertEqual(blocks[6].splitlines(), [other[0].decode()])
        self.assertEqual(other[1:], leaves[1:])
        want = [leaf(other[0]), node(leaf(other[0]), hashes[1]),
                tree.artifact_root(result["objects"], "sha256", 4096, ignore)]  # fmt: skip
        self.assertEqual(given(7), [digest.hex() for digest in want])

    def test_single_file_has_its_base_name(self):
        write(self.top, {"d/x.bin": b"abc"})
        result, _ = tree.hash_path(os.path.join(self.top, "d", "x.bin"))
        self.assertEqual([entry["path"] for entry in result["objects"]], ["x.bin"])
        self.assertEqual(result["bytes"], 3)

    def test_broken_safetensors_is_refused_unless_it_is_hashed_whole(self):
        write(self.top, {"m.safetensors": b"nonsense"})
        for objects in ("files", "tensors", "both"):
            with self.assertRaises(safetensors.SafetensorsError):
                tree.hash_path(self.top, objects=objects)
        result, _ = tree.hash_path(self.top, whole=["m.safetensors"])
        self.assertEqual([set(entry) for entry in result["objects"]], [{"kind", "path", "size", "root"}])
        self.assert_refused("whole", tree.hash_path, self.top, whole=["other.safetensors"])

    def test_what_is_listed_changes_no_file_entry(self):
        write(self.top, {"m.safetensors": model(self.layout), "other": b"same"})
        both, _ = tree.hash_path(self.top, chunk_size=4096)
        files, _ = tree.hash_path(self.top, chunk_size=4096, objects="files")
        tensors, _ = tree.hash_path(self.top, chunk_size=4096, objects="tensors")
        self.assertEqual(files["objects"] + tensors["objects"], both["objects"])
        self.assertEqual(both["bytes"], files["bytes"])

    layout = {"b": 9000, "a": 3, "empty": 0, "c": 4096}

    def test_a_tensor_is_a_node_of_its_file(self):
        data = model(self.layout)
        write(self.top, {"m.safetensors": data})
        file, *tensors = tree.hash_path(self.top, chunk_size=4096)[0]["objects"]
        start = len(data) - sum(self.layout.values())
        root = lambda content: tree.object_root(io.BytesIO(content), len(content), "sha256", 4096)  # noqa: E731
        segments = [root(data[:start]), root(data[start : start + 9000]),
                    root(data[start + 9000 : start + 9003]), root(data[start + 9003 :])]  # fmt: skip
        self.assertEqual(file["root"], merkle.root("sha256", segments).hex())
        self.assertEqual(file["cut"], {"format": "safetensors", "size": start, "root": segments[0].hex()})
        named = {tensor["name"]: tensor["root"] for tensor in tensors}
        self.assertEqual(named, {"a": segments[2].hex(), "b": segments[1].hex(), "c": segments[3].hex(),
                                 "empty": hashlib.sha256().hexdigest()})  # fmt: skip

    def test_no_objects_is_refused(self):
        self.assert_refused("no-entries", tree.hash_path, self.top)
        write(self.top, {"a": b""})
        self.assert_refused("no-entries", tree.hash_path, self.top, objects="tensors")

    def located(self, result, blob):
        return [(entry["kind"], begin, end) for entry, begin, end in tree.locate(result, blob, self.top)]

    def test_locate_names_the_changed_ranges(self):
        data = model({"t": 30000})
        start = len(data) - 30000
        changed = data[: start + 8192] + b"\xff" + data[start + 8193 :]
        for objects in ("both", "files"):
            write(self.top, {"m.safetensors": data, "other": b"same"})
            result, subtrees = tree.hash_path(self.top, "sha256", 4096, objects, span=8192)
            blob = tree.write_outline(result["objects"], subtrees, "sha256", 4096, 8192)
            self.assertEqual(self.located(result, blob), [])
            write(self.top, {"m.safetensors": changed})
            want = [("tensor", 8192, 16384)] if objects == "both" else [("file", start, len(data))]
            self.assertEqual(self.located(result, blob), want)
            write(self.top, {"m.safetensors": data[:-1]})
            self.assertEqual([found[0] for found in self.located(result, blob)],
                             ["file", "tensor"] if objects == "both" else ["file"])  # fmt: skip
            write(self.top, {"m.safetensors": data.replace(b"U8", b"I8")})
            self.assertEqual(self.located(result, blob), [("file", 0, start)])

class Safetensors(unittest.TestCase):
    def test_vectors(self):
        for case in support.vectors("safetensors")["cases"]:
            stream = io.BytesIO(base64.b64decode(case["head"]) + bytes(16))
            if case["want"] == "accept":
                self.assertEqual(safetensors.read_header(stream, case["file_size"]), case["tensors"])
                continue
            with self.assertRaises(safetensors.SafetensorsError, msg=case["name"]) as caught:
                safetensors.read_header(stream, case["file_size"])
            self.assertEqual(caught.exception.reason, case["reason"], case["name"])


class Gguf(unittest.TestCase):
    def test_vectors(self):
        for case in support.vectors("gguf")["cases"]:
            stream = io.BytesIO(base64.b64decode(case["head"]))
            if case["want"] == "accept":
                want = {name: value for name, value in case.items() if name not in ("name", "head", "file_size", "want")}
                self.assertEqual(gguf.read_header(stream, case["file_size"]), want, case["name"])
                continue
            with self.assertRaises(gguf.GgufError, msg=case["name"]) as caught:
                gguf.read_header(stream, case["file_size"])
            self.assertEqual(caught.exception.reason, case["reason"], case["name"])


class CommandLine(Directory):
    def test_hash_outline_check_and_locate(self):
        write(self.top, {"m/a": painted(50000)})
        run = lambda *args: subprocess.run(  # noqa: E731
            [sys.executable, "-B", os.path.join(support.SUPPORT, "reference", "tree.py"), *args],
            capture_output=True, cwd=self.top)  # fmt: skip
        self.assertEqual(run("hash", "m").returncode, 0)
        made = run("outline", "m", "--out", "o", "--span", "16384")
        self.assertEqual(set(json.loads(made.stdout)), {"root", "parameters", "objects", "bytes"})
        with open(os.path.join(self.top, "j"), "wb") as stream:
            stream.write(made.stdout)
        self.assertEqual(json.loads(run("check-outline", "j", "o").stdout), {"span": 16384, "digests": 4})
        self.assertEqual(run("locate", "j", "o", "m").returncode, 0)
        write(self.top, {"m/a": bytes(50000)})
        self.assertEqual(run("locate", "j", "o", "m").returncode, 1)
        self.assertEqual(run("hash", "gone").returncode, 2)
        self.assertEqual(run("hash", "m", "--chunk-size", "5000").returncode, 1)


if __name__ == "__main__":
    unittest.main()
