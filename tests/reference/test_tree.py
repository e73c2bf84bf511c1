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
                                              case["ignore"], span=case["span"])  # fmt: skip
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
        hexadecimal = lambda block: bytes.fromhex("".join(re.findall(r"\b(?:[0-9a-f]{2}){4,}\b|^616263$", block, re.M)))  # noqa: E731
        write(self.top, {"a.bin": painted(9000), "b.safetensors": hexadecimal(blocks[0]) })
        self.assertTrue(hexadecimal(blocks[0]).endswith(b"abc"))
        result, subtrees = tree.hash_path(self.top, "sha256", 4096, "both", span=8192)
        leaves = tree.artifact_leaves(result["objects"], "sha256", 4096)
        self.assertEqual(blocks[3].splitlines(), [leaf.decode() for leaf in leaves])
        hashes = [merkle.leaf_hash("sha256", leaf) for leaf in leaves]
        chunks = tree.chunk_leaves(io.BytesIO(painted(9000)), 9000, "sha256", 4096)
        node = lambda left, right: merkle.node_hash("sha256", left, right)  # noqa: E731
        want = chunks + [node(*chunks[:2]), node(node(*chunks[:2]), chunks[2])]
        want += [bytes.fromhex(entry["root"]) for entry in result["objects"][1:]]
        want += hashes + [node(*hashes[:2]), node(*hashes[2:]), bytes.fromhex(result["root"])]
        given = re.findall(r"\b[0-9a-f]{64}\b", blocks[1] + blocks[2] + blocks[4])
        self.assertEqual(given, [digest.hex() for digest in want])
        outline = tree.write_outline(result["objects"], subtrees, "sha256", 4096, 8192)
        self.assertEqual(hexadecimal(blocks[5]), outline)
        self.assertEqual(len(outline), 224)
        ignore = ["*.tmp", "/.git"]
        other = tree.artifact_leaves(result["objects"], "sha256", 4096, ignore)
        self.assertEqual(blocks[6].splitlines(), [other[0].decode()])
        self.assertEqual(other[1:], leaves[1:])
        first = merkle.leaf_hash("sha256", other[0])
        want = [first, node(first, hashes[1]), tree.artifact_root(result["objects"], "sha256", 4096, ignore)]
        self.assertEqual(re.findall(r"\b[0-9a-f]{64}\b", blocks[7]), [digest.hex() for digest in want])

    def test_single_file_has_its_base_name(self):
        write(self.top, {"d/x.bin": b"abc"})
        result, _ = tree.hash_path(os.path.join(self.top, "d", "x.bin"))
        self.assertEqual([entry["path"] for entry in result["objects"]], ["x.bin"])
        self.assertEqual(result["bytes"], 3)

    def test_broken_safetensors_matters_only_to_tensors(self):
        write(self.top, {"m.safetensors": b"nonsense"})
        self.assertEqual(tree.hash_path(self.top, objects="files")[0]["bytes"], 8)
        for objects in ("tensors", "both"):
            with self.assertRaises(safetensors.SafetensorsError):
                tree.hash_path(self.top, objects=objects)

    def test_no_objects_is_refused(self):
        self.assert_refused("no-entries", tree.hash_path, self.top)
        write(self.top, {"a": b""})
        self.assert_refused("no-entries", tree.hash_path, self.top, objects="tensors")

    def test_locate_names_the_changed_ranges(self):
        header = {"t": {"dtype": "U8", "shape": [30000], "data_offsets": [0, 30000]}}
        text = json.dumps(header).encode()
        data = len(text).to_bytes(8, "little") + text + painted(30000)
        write(self.top, {"m.safetensors": data, "other": b"same"})
        result, subtrees = tree.hash_path(self.top, "sha256", 4096, "both", span=8192)
        blob = tree.write_outline(result["objects"], subtrees, "sha256", 4096, 8192)
        self.assertEqual(list(tree.locate(result, blob, self.top)), [])
        at = len(data) - 30000 + 8192  # first byte of the tensor's second span
        write(self.top, {"m.safetensors": data[:at] + b"\xff" + data[at + 1 :]})
        found = [(entry["kind"], begin, end) for entry, begin, end in tree.locate(result, blob, self.top)]
        self.assertEqual(found, [("file", 8192, 16384), ("tensor", 8192, 16384)])
        write(self.top, {"m.safetensors": data[:-1]})
        self.assertEqual([e["kind"] for e, _, _ in tree.locate(result, blob, self.top)], ["file", "tensor"])


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
