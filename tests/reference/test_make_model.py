# SPDX-License-Identifier: Apache-2.0
import io
import json
import os
import tempfile
import unittest
from unittest import mock

import support
import make_model
from reference import safetensors, tree


class MakeModel(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.top = held.name

    def make(self, name, *options):
        out = os.path.join(self.top, name)
        with mock.patch("sys.stderr", io.StringIO()):
            status = make_model.main(["make_model.py", out, *options])
        return out, status

    def test_output_depends_on_size_and_seed_alone(self):
        roots = []
        for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
            out, status = self.make(name, "--size", "2MB", "--seed", seed)
            self.assertEqual(status, 0)
            roots.append(tree.hash_path(out)[0]["root"])
        self.assertEqual(roots[0], roots[1])
        self.assertNotEqual(roots[0], roots[2])

    def test_layout(self):
        out, _ = self.make("m", "--size", "3MB")
        with open(os.path.join(out, "model.safetensors.index.json"), encoding="utf-8") as stream:
            index = json.load(stream)
        seen, total = {}, 0
        for shard in make_model.SHARDS:
            name = os.path.join(out, shard)
            with open(name, "rb") as stream:
                for tensor in safetensors.read_header(stream, os.path.getsize(name)):
                    seen[tensor["name"]] = {**tensor, "shard": shard}
                    total += tensor["size"]
        self.assertEqual({name: tensor["shard"] for name, tensor in seen.items()}, index["weight_map"])
        self.assertEqual(total, index["metadata"]["total_size"])
        self.assertGreaterEqual(total, 3_000_000)
        self.assertEqual({tensor["dtype"] for tensor in seen.values()}, set(make_model.BITS))
        self.assertTrue(any(tensor["size"] == 0 for tensor in seen.values()))
        self.assertTrue(any(tensor["shape"] == [] for tensor in seen.values()))
        self.assertTrue(any(t["offset"] % 2 and t["dtype"] == "F32" for t in seen.values()))
        self.assertIn("model.layers.0.self_attn.q_proj.weight", seen)

    def test_default_is_at_least_300_megabytes(self):
        _, _, _, shards = make_model.plan(make_model.parse_size("300MB"))
        total = sum(make_model.byte_count(dtype, shape) for shard in shards for _, dtype, shape in shard)
        self.assertGreaterEqual(total, 300_000_000)
        self.assertLess(total, 330_000_000)

    def test_a_directory_in_use_is_left_alone(self):
        out, _ = self.make("m", "--size", "1MB")
        self.assertEqual(self.make("m", "--size", "1MB")[1], 2)
        self.assertEqual(self.make("m", "--size", "1MB", "--force")[1], 0)

    def test_sizes(self):
        self.assertEqual(make_model.parse_size("12"), 12)
        self.assertEqual(make_model.parse_size("2kib"), 2048)
        self.assertEqual(make_model.parse_size("1GB"), 10**9)
        for bad in ("", "MB", "-1", "1.5MB", "1XB"):
            self.assertRaises(Exception, make_model.parse_size, bad)


if __name__ == "__main__":
    unittest.main()
