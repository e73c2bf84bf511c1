# SPDX-License-Identifier: Apache-2.0
"""Formats of weights: what users are told of files that do not fit each other, and of code in them."""
import io
import json
import os
import pathlib
import pickle
import random
import sys
import unittest
import zipfile

import harness
from harness import NO, TROUBLE

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
from reference import gguf as reference  # noqa: E402
from vectorgen import gguf_vectors as make  # noqa: E402

try:  # of PyPI; it needs numpy
    import gguf
    import numpy
except ImportError:
    gguf = None

SEED = int(os.environ.get("ASSAY_SEED", random.SystemRandom().getrandbits(32)))


def gguf_file(tensors, keys=make.KEYS):
    """A GGUF file of I8 tensors {name: bytes}."""
    infos, data = [], b""
    for name, content in tensors.items():
        data += bytes(-len(data) % 32)
        infos.append((name, 24, [len(content)], len(data)))
        data += content
    return make.padded(make.header(keys=keys, tensors=infos)) + data


class Case(harness.TestCase):
    def lacks(self, path="m", whole=()):
        """What `hash` says is missing, by file; `whole` are files to hash as one."""
        options = [word for file in whole for word in ("--whole", file)]
        got = self.assay("hash", path, "--objects", "files", *options, "-o", "json").json()
        return {lack["file"]: lack["detail"] for lack in got.get("lacks", ())}

    def refused(self, path="m"):
        done = self.assay("manifest", "create", path, "--name", "acme/demo", "--out", "m.json",
                          "-o", "json", code=TROUBLE)  # fmt: skip
        return json.loads(done.err.splitlines()[-1])["error"]


class Indexes(Case):
    def index(self, **weights):
        self.write_json("m/model.safetensors.index.json",
                        {"weight_map": {name: f"{shard}.safetensors" for name, shard in weights.items()}})  # fmt: skip

    def shard(self, name, *tensors):
        content = harness.safetensors({tensor: ("U8", [1], b"x") for tensor in tensors})
        self.write(f"m/{name}.safetensors", content)

    def lack(self, **options):
        return self.lacks(**options).get("model.safetensors.index.json", "")

    def test_tensors_stand_where_the_index_says(self):
        self.shard("one", "a", "b")
        self.shard("two", "c")
        self.index(a="one", b="one", c="two")
        self.assertEqual(self.lacks(), {})
        self.assay("manifest", "create", "m", "--name", "acme/demo", "--out", "m.json")

    def test_a_tensor_in_another_shard(self):
        self.shard("one", "a", "b")
        self.shard("two", "c")
        self.index(a="one", b="two", c="two")
        self.assertEqual(self.lack(), "tensors stand in another shard than it says: "
                                      "b (in one.safetensors, not in two.safetensors)")  # fmt: skip
        self.assertEqual(self.refused()["code"], "incomplete-model")

    def test_a_tensor_in_no_shard(self):
        self.shard("one", "a")
        self.index(a="one", b="one")
        self.assertEqual(self.lack(), "tensors that it names stand in no shard: b (one.safetensors)")

    def test_a_tensor_in_two_shards(self):
        self.shard("one", "a", "b")
        self.shard("two", "b")
        self.index(a="one", b="two")
        self.assertEqual(self.lack(), "tensors stand in two shards: b (one.safetensors and two.safetensors)")

    def test_a_shard_that_is_none(self):
        self.shard("one", "a")
        self.write("m/two.safetensors", b"nonsense")
        self.index(a="one", b="two")
        self.assertIn("cannot be read: two.safetensors (header-too-large",
                      self.lack(whole=["two.safetensors"]))  # fmt: skip


class GgufParts(Case):
    def part(self, number, count=3, tensors=None, file=None, keys=None):
        name = file or f"llm-{number + 1:05}-of-{count:05}.gguf"
        tensors = tensors or {f"t{number}": b"abc"}
        keys = make.split(number, count, 3) if keys is None else keys
        self.write(f"m/{name}", gguf_file(tensors, keys))

    def test_all_parts(self):
        for number in range(3):
            self.part(number)
        self.assertEqual(self.lacks(), {})

    def test_a_part_is_missing(self):
        self.part(1)
        self.assertEqual(self.lacks(), {"llm-00002-of-00003.gguf": "parts of 3 are missing or ignored: 1, 3"})
        self.assertEqual(self.refused()["code"], "incomplete-model")

    def test_a_part_that_is_there_twice(self):
        for number in range(2):
            self.part(number)
        self.part(1, file="llm-00003-of-00003.gguf", tensors={"t2": b"abc"})
        self.assertEqual(self.lacks(), {"llm-00003-of-00003.gguf": "its name says that it is part 3 of 3, "
                                                                   "and its header that it is part 2 of 3"})  # fmt: skip

    def test_name_and_header_that_do_not_both_speak_of_parts(self):
        self.part(0, file="llm.gguf")
        self.part(0, count=1, file="other-00001-of-00002.gguf", keys=())
        found = self.lacks()
        self.assertEqual(found["llm.gguf"], "its header says that it is part 1 of 3, and its name does not")
        self.assertIn("its name says that it is part 1 of 2, and its header does not",
                      found["other-00001-of-00002.gguf"])  # fmt: skip

    def test_tensors_of_the_parts(self):
        self.part(0, tensors={"a": b"1", "b": b"2"})
        self.part(1, tensors={"b": b"2"})
        self.part(2, tensors={"c": b"3"})
        (detail,) = self.lacks().values()
        self.assertEqual(detail, "tensors stand in two parts: b; the parts hold 4 tensors, and the headers "
                                 "say another number")  # fmt: skip

    def test_a_single_file_is_no_part(self):
        self.write("m/a.gguf", gguf_file({"t": b"abc"}))
        self.write("m/b-00001-of-00001.gguf", gguf_file({"t": b"abc"}))
        self.assertEqual(self.lacks(), {})


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def sized(field, content):
    return varint(field << 3 | 2) + varint(len(content)) + content


def onnx(*locations, **values):
    """A model whose initializers lie at these locations."""
    graph = b""
    for location in locations:
        entries = [("location", location), *values.items()]
        graph += sized(5, b"".join(sized(13, sized(1, key.encode()) + sized(2, value.encode()))
                                   for key, value in entries))  # fmt: skip
    return sized(7, graph)


class Onnx(Case):
    def test_external_data_beside_the_model(self):
        self.write("m/sub/model.onnx", onnx("weights/a.data", "./b.data", offset="1", length="4"))
        self.write("m/sub/weights/a.data", b"12345")
        self.write("m/sub/b.data", b"12345")
        self.write("m/plain.onnx", onnx())
        self.assertEqual(self.lacks(), {})

    def test_external_data_that_are_not_there(self):
        self.write("m/sub/model.onnx", onnx("a.data"))
        self.write("m/a.data", b"12345")
        self.assertEqual(self.lacks(), {"sub/model.onnx": "files with external data are missing or ignored: sub/a.data"})
        self.assertEqual(self.refused()["code"], "incomplete-model")

    def test_external_data_outside_of_the_model(self):
        self.write("m/b.data", b"12345")
        for location in ("../b.data", "/etc/passwd", "x/../../m/b.data", "x/../b.data", ""):
            self.write("m/model.onnx", onnx(location))
            with self.subTest(location=location):
                self.assertIn("not below the model's directory", self.lacks()["model.onnx"])

    def test_external_data_that_are_too_short(self):
        self.write("m/b.data", b"12345")
        self.write("m/model.onnx", onnx("b.data", offset="2", length="4"))
        self.assertEqual(self.lacks(), {"model.onnx": "files with external data are too short: b.data"})

    def test_what_is_no_model(self):
        self.write("m/model.onnx", b"this is no model")
        self.assertIn("cannot be read as an ONNX model", self.lacks()["model.onnx"])


class Pickles(Case):
    def archive(self):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as file:
            file.writestr("archive/data.pkl", pickle.dumps({}))
        return stream.getvalue()

    def test_pickles_are_named_by_their_content(self):
        for name, content in (("pytorch_model.bin", self.archive()), ("sub/old.PT", pickle.dumps([1], protocol=2)),
                              ("plain.bin", b"weights of another kind"), ("notes.txt", pickle.dumps([1])),
                              ("config.json", b"{}")):  # fmt: skip
            self.write(f"m/{name}", content)
        found = self.assay("hash", "m", "-o", "json").json()["executable_format"]
        self.assertEqual(found, ["pytorch_model.bin", "sub/old.PT"])
        made = self.assay("manifest", "create", "m", "--name", "acme/demo", "--out", "m.json", "-o", "json")
        self.assertEqual(made.json()["executable_format"], found)
        self.assertIn("executable-format: pytorch_model.bin, sub/old.PT: to load a pickle can run code", made.err)
        shown = self.assay("manifest", "show", "m.json", "-o", "json").json()["executable_format"]
        self.assertEqual(shown, ["plain.bin", "pytorch_model.bin", "sub/old.PT"], "by their names alone")
        self.assertIn("executable-format", self.assay("manifest", "show", "m.json").out)

    def test_a_model_without_pickles_has_no_such_note(self):
        self.write("m/model.safetensors", harness.safetensors({"a": ("U8", [1], b"x")}))
        self.write("m/config.json", b"{}")
        self.assertNotIn("executable_format", self.assay("hash", "m", "-o", "json").json())
        made = self.assay("manifest", "create", "m", "--name", "acme/demo", "--out", "m.json")
        self.assertNotIn("executable-format", made.err)
        self.assertNotIn("executable-format", self.assay("manifest", "show", "m.json").out)

    def test_an_index_of_pickles_is_named_by_its_name(self):
        self.write("m/pytorch_model.bin.index.json", b"{}")
        self.assay("manifest", "create", "m", "--name", "acme/demo", "--out", "m.json")
        self.assertIn("executable-format", self.assay("manifest", "show", "m.json").out)


class GgufTensors(Case):
    def tensors(self, path):
        got = self.assay("hash", path, "--objects", "tensors", "-o", "json").json()
        return [{name: entry[name] for name in ("name", "dtype", "shape", "offset", "size")}
                for entry in got["objects"]]  # fmt: skip

    def test_tensors_are_listed_as_the_reference_reads_them(self):
        content = gguf_file({"b": b"abc", "a": bytes(100)})
        self.write("m.gguf", content)
        want = reference.read_header(io.BytesIO(content), len(content))["tensors"]
        self.assertEqual(self.tensors("m.gguf"), want)

    def test_a_malformed_file_is_refused(self):
        self.write("m.gguf", gguf_file({"b": b"abc"})[:-1])
        self.assertEqual(self.error("hash", "m.gguf"), "malformed-gguf")

    def test_padding_that_holds_data_is_a_difference(self):
        self.key("k")
        content = bytearray(gguf_file({"b": b"abc", "a": bytes(100)}))
        self.write("m/m.gguf", bytes(content))
        self.assay("manifest", "create", "m", "--name", "acme/demo", "--key", "k.pem", "--out", "m.json")
        first = min(reference.read_header(io.BytesIO(content), len(content))["tensors"],
                    key=lambda tensor: tensor["offset"])  # fmt: skip
        content[first["offset"] + first["size"]] = 1
        self.write("m/m.gguf", bytes(content))
        got = self.assay("manifest", "verify", "m.json", "m", "--key", "k.pem.pub", "-o", "json", code=NO).json()
        self.assertIn("padding: ", got["differences"][0]["detail"])
        self.assertEqual(self.error("hash", "m"), "malformed-gguf")

    @unittest.skipUnless(gguf, "gguf of PyPI, or numpy, is not installed")
    def test_files_of_the_gguf_package(self):
        rng = random.Random(SEED)
        known = {kind: sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items() if kind.name in reference.BLOCKS}
        for kind, sizes in known.items():
            self.assertEqual(sizes, reference.BLOCKS[kind.name], kind.name)
        for turn in range(20):
            path = self.dir / f"{turn}.gguf"
            self.write_random(rng, path, known)
            with self.subTest(seed=SEED, turn=turn):
                want = sorted(({"name": tensor.name, "dtype": tensor.tensor_type.name,
                                "shape": [int(n) for n in reversed(tensor.shape)],
                                "offset": int(tensor.data_offset), "size": int(tensor.n_bytes)}
                               for tensor in gguf.GGUFReader(path).tensors),
                              key=lambda tensor: tensor["name"].encode())  # fmt: skip
                with open(path, "rb") as stream:
                    read = reference.read_header(stream, path.stat().st_size)
                self.assertEqual(read["tensors"], want)
                self.assertEqual(self.tensors(path.name), want)

    def write_random(self, rng, path, known):
        writer = gguf.GGUFWriter(path, "llama")
        if rng.random() < 0.5:
            writer.add_custom_alignment(1 << rng.randint(3, 16))
        writer.add_array("tokenizer.ggml.tokens", ["a", "\u00e9", "x" * rng.randint(0, 70_000)])
        writer.add_float32("llama.scale", 0.5)
        for number in range(rng.randint(1, 12)):
            kind = rng.choice(list(known))
            elements, size = known[kind]
            rows, blocks = rng.randint(1, 5), rng.randint(1, 4)
            data = numpy.frombuffer(rng.randbytes(rows * blocks * size), dtype=numpy.uint8)
            writer.add_tensor(f"t{rng.randint(0, 99)}.{number}", data.reshape(rows, blocks * size), raw_dtype=kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


if __name__ == "__main__":
    harness.main()
