# SPDX-License-Identifier: Apache-2.0
"""Random models, hashed and verified by the program and by the reference in tests/support/reference.

ASSAY_MODELS says how many (the slow suite runs 1000), ASSAY_SEED repeats a run.
"""
import json
import os
import random

import harness
from harness import NO
from reference import merkle, tree
from vectorgen import gguf_vectors

MODELS = int(os.environ.get("ASSAY_MODELS", "25"))
# Bits of a type, and names of it.
GGUF_TYPES = ((0, 1, 4), (30, 1, 2), (24, 1, 1), (2, 32, 18), (14, 256, 210))  # number, block: elements, bytes
DTYPES = {8: ("U8", "BOOL", "F8_E4M3"), 16: ("BF16", "F16"), 32: ("F32", "I32"), 64: ("F64", "C64")}


class RandomModels(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.seed = int(os.environ.get("ASSAY_SEED", random.randrange(1 << 30)))
        self.random = random.Random(self.seed)

    def size(self, chunk):
        """A size around a border of chunks, or any, or none."""
        around = self.random.choice((0, 1, 1, 2, 3, 5)) * chunk + self.random.choice((-1, 0, 0, 1, 9))
        return self.random.choice((0, max(0, around), self.random.randrange(3 * chunk)))

    def tensors(self, chunk):
        found = {}
        for number in range(self.random.choice((0, 1, 2, 3, 7))):
            bits = self.random.choice(tuple(DTYPES))
            elements = self.size(chunk) * 8 // bits
            name = self.random.choice(("t", "\u00e9", "a.b", "")) + str(number)
            content = self.random.randbytes(elements * bits // 8)
            found[name] = (self.random.choice(DTYPES[bits]), [elements], content)
        return found

    def safetensors(self, chunk):
        """Tensors lie in the file in another order than in its header."""
        tensors = self.tensors(chunk)
        order = list(tensors)
        self.random.shuffle(order)
        header, data = {}, b""
        for name in order:
            dtype, shape, content = tensors[name]
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
            data += content
        if self.random.random() < 0.3:
            header["__metadata__"] = {"x": "y" * self.size(chunk)}
        members = list(header.items())
        self.random.shuffle(members)
        text = json.dumps(dict(members), ensure_ascii=self.random.random() < 0.5).encode()
        text += b" " * self.random.randrange(9)
        return len(text).to_bytes(8, "little") + text + data

    def gguf(self, chunk):
        alignment = self.random.choice((8, 32, 4096))
        infos, data = [], b""
        for number in range(self.random.choice((0, 1, 2, 3, 7))):
            kind, elements, size = self.random.choice(GGUF_TYPES)
            blocks = self.size(chunk) // size
            infos.append((f"t{number}", kind, [elements * blocks], len(data)))
            data = gguf_vectors.padded(data + self.random.randbytes(size * blocks), alignment)
        self.random.shuffle(infos)
        head = gguf_vectors.header(keys=(gguf_vectors.align(alignment),), tensors=infos)
        return gguf_vectors.padded(head, alignment) + data

    def make(self, top, chunk):
        """Writes a model; returns the paths of files to hash whole."""
        whole = []
        for number in range(self.random.randrange(1, 5)):
            path = self.random.choice(("", "sub/", "sub/deep/")) + str(number)
            kind = self.random.random()
            if kind < 0.4:
                self.write(f"{top}/{path}.bin", self.random.randbytes(self.size(chunk)))
                continue
            if kind > 0.8:
                self.write(f"{top}/{path}.gguf", self.gguf(chunk))
                continue
            path += ".safetensors"
            if kind < 0.5:
                self.write(f"{top}/{path}", self.random.randbytes(self.size(chunk)))
                whole.append(path)
                continue
            self.write(f"{top}/{path}", self.safetensors(chunk))
            if self.random.random() < 0.15:
                whole.append(path)
        return whole

    def check_changed(self, top, signed, result):
        """Changes a byte: the program says no, and no more exact place than it may."""
        files = [entry for entry in result["objects"] if entry["kind"] == "file" and entry["size"] > 0]
        if not files:
            return
        entry = self.random.choice(files)
        path = self.dir / top / entry["path"]
        content = bytearray(path.read_bytes())
        at = self.random.randrange(len(content))
        content[at] ^= 1 << self.random.randrange(8)
        path.write_bytes(content)
        got = self.assay("manifest", "verify", signed, top, "--key", "k.pem.pub", "--outline",
                         f"{top}.outline", "-o", "json", code=NO).json()  # fmt: skip
        self.assertTrue(all(found["file"] == entry["path"] for found in got["differences"]))
        header = entry.get("cut", {"size": 0})["size"]
        tensors = [one for one in result["objects"] if one.get("file") == entry["path"]
                   and one["offset"] <= at < one["offset"] + one["size"]]  # fmt: skip
        if tensors and at >= header:
            [found] = got["differences"]
            self.assertEqual(found["tensor"], tensors[0]["name"])
            [place] = found["ranges"]
            self.assertTrue(place["begin"] <= at - tensors[0]["offset"] < place["end"])
        else:
            found = got["differences"][0]
            self.assertNotIn("tensor", found)
            self.assertTrue(any(place["begin"] <= at < place["end"] for place in found["ranges"]))

    def check_one(self, number):
        hash_name = self.random.choice(("sha256", "sha384"))
        chunk = self.random.choice((4096, 16384, 65536))
        objects = self.random.choice(("both", "both", "files", "tensors"))
        span = chunk * self.random.choice((1, 2, 8))
        top = f"m{number}"
        whole = self.make(top, chunk)
        options = ["--hash", hash_name, "--chunk-size", chunk]
        options += [word for path in whole for word in ("--whole", path)]
        try:
            want, subtrees = tree.hash_path(str(self.dir / top), hash_name, chunk, objects, span=span, whole=whole)
        except tree.TreeError as error:
            self.assertEqual(error.reason, "no-entries")
            self.assertEqual(self.error("hash", top, *options, "--objects", objects), "invalid-parameter")
            return
        got = self.assay("hash", top, *options, "--objects", objects, "-o", "json").json()
        for member in ("root", "parameters", "objects", "bytes"):
            self.assertEqual(got[member], want[member])
        self.assay("manifest", "create", top, "--name", "acme/x", "--objects", objects, *options, "--key",
                   "k.pem", "--out", f"{top}.json", "--outline", f"{top}.outline", "--outline-span", span)  # fmt: skip
        blob = tree.write_outline(want["objects"], subtrees, hash_name, chunk, span)
        self.assertEqual((self.dir / f"{top}.outline").read_bytes(), blob)
        if objects != "tensors":
            self.assay("manifest", "verify", f"{top}.json", top, "--key", "k.pem.pub", "--outline", f"{top}.outline")
            self.check_changed(top, f"{top}.json", want)
        return

    def test_the_program_and_the_reference_agree(self):
        self.key("k")
        for number in range(MODELS):
            with self.subTest(seed=self.seed, model=number):
                self.check_one(number)

    def test_chunks_of_headers_and_tensors_are_proven_apart(self):
        self.key("k")
        content = self.safetensors(4096)
        while int.from_bytes(content[:8], "little") + 8 + 9000 > len(content):
            content = self.safetensors(4096)
        self.write("m/x.safetensors", content)
        made = self.assay("manifest", "create", "m", "--name", "acme/x", "--chunk-size", 4096, "--key", "k.pem",
                          "--out", "m.json", "-o", "json").json()  # fmt: skip
        shown = self.assay("manifest", "show", "m.json", "-o", "json").json()
        file, *tensors = shown["objects"]
        for entry in (file, *(one for one in tensors if one["size"])):
            name = entry.get("path") or f"x.safetensors#{entry['name']}"
            offset, size, root = tree.own_object(entry)
            last = (size - 1) // 4096
            proof = self.assay("manifest", "prove", "m.json", name, "--chunk", last, "--model", "m").json()
            self.write_json("proof", proof)
            leaf = merkle.leaf_hash("sha256", content[offset + last * 4096 : offset + size])
            path = [bytes.fromhex(digest) for digest in proof["chunk"]["path"]]
            self.assertTrue(merkle.verify_inclusion("sha256", leaf, last, last + 1, path, bytes.fromhex(root)))
            checked = self.assay("manifest", "prove", "--check", "proof", "--artifact", made["artifact"], "-o", "json")
            self.assertEqual(checked.json()["chunk"], last)
            refused = self.assay("manifest", "prove", "m.json", name, "--chunk", last + 1, "--model", "m", code=2)
            self.assertEqual("FILE#TENSOR" in refused.err, entry is file, refused.err)


if __name__ == "__main__":
    harness.main()
