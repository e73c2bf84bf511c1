# SPDX-License-Identifier: Apache-2.0
"""assay hash against the independent reference in tests/support/reference."""
import json
import os

import harness
from harness import TROUBLE
from reference import tree


class Hash(harness.TestCase):
    def hash(self, path, *options):
        return self.assay("hash", path, "-o", "json", *options).json()

    def compare(self, path, *options, hash_name="sha256", chunk_size=16384, objects="both",
                ignore=(), follow=False):  # fmt: skip
        got = self.hash(path, *options)
        patterns = list(ignore) + tree.usual_patterns(str(path))
        want, _ = tree.hash_path(str(path), hash_name, chunk_size, objects, patterns, follow, None)
        self.assertEqual(got["root"], want["root"])
        self.assertEqual(got["parameters"], want["parameters"])
        self.assertEqual(got["objects"], want["objects"])
        self.assertEqual(got["artifact"], f"assay-tree-v1-{hash_name}:{want['root']}")
        return got

    def test_members_of_the_result(self):
        got = self.hash(self.model(), "--device", "cpu")
        self.assertEqual(sorted(got), ["artifact", "bytes", "device", "device_name", "driver",
                                       "objects", "parameters", "read_protection", "root", "seconds"])  # fmt: skip
        self.assertEqual(got["device"], "cpu")
        files = [entry["size"] for entry in got["objects"] if entry["kind"] == "file"]
        self.assertEqual(got["bytes"], sum(files), "each byte once")

    def test_a_model(self):
        model = self.model()
        paths = {entry.get("path") for entry in self.compare(model)["objects"]}
        self.assertIn(".hidden/also hidden", paths)
        self.assertNotIn(".git/config", paths)

    def test_what_is_left_out_is_bound_and_said(self):
        model = self.model()
        got = self.compare(model)
        self.assertEqual(got["parameters"]["ignore"], ["/.git"])
        self.assertIn("left out, and bound by the root: /.git", self.assay("hash", model).err)
        self.write("model/sub/.git/config", b"hashed")
        self.assertIn("sub/.git/config", {entry.get("path") for entry in self.compare(model)["objects"]})
        for name in ("model.assay.json", "model.assay.json.times", "model.assay.outline"):
            self.write(f"model/{name}", b"not part of the model")
        self.assertEqual(self.compare(model)["parameters"]["ignore"],
                         ["/.git", "/model.assay.json", "/model.assay.json.times", "/model.assay.outline"])  # fmt: skip
        self.write("plain/config.json", b"{}")
        self.assertEqual(set(self.compare(self.dir / "plain")["parameters"]), {"chunk_size", "hash", "tree"})

    def test_other_patterns_are_another_artifact(self):
        self.write("plain/config.json", b"{}")
        roots = {self.hash("plain", *options)["root"] for options in (
            (), ("--ignore", "*.py"), ("--ignore", "*.md"), ("--follow-symlinks",))}  # fmt: skip
        self.assertEqual(len(roots), 4)
        same = {self.hash("plain", *options)["root"] for options in (
            ("--ignore", "a", "--ignore", "b"), ("--ignore", "b", "--ignore", "a", "--ignore", "b"))}  # fmt: skip
        self.assertEqual(len(same), 1)
        self.assertEqual(self.error("hash", "plain", "--ignore", "../x"), "invalid-parameter")
        many = [word for n in range(9) for word in ("--ignore", str(n) + "x" * 499)]
        self.assertEqual(self.error("hash", "plain", *many), "limit-exceeded")

    def test_parameters_and_objects(self):
        model = self.model()
        self.compare(model, "--hash", "sha384", hash_name="sha384")
        self.compare(model, "--chunk-size", "4096", chunk_size=4096)
        self.compare(model, "--objects", "files", objects="files")
        self.compare(model, "--objects", "tensors", objects="tensors")
        self.compare(model, "--ignore", "*.bin", "--ignore", "/.hidden",
                     ignore=["*.bin", "/.hidden"])  # fmt: skip

    def test_one_file(self):
        model = self.model()
        self.compare(model / "model.safetensors")
        self.compare(model / "empty")

    def test_devices_agree(self):
        model = self.model()
        devices = [device["id"] for device in self.assay("device", "list", "-o", "json").json()["devices"]]
        self.assertEqual(devices[0], "cpu")
        want = self.hash(model, "--device", "cpu")
        for device in devices[1:]:
            with self.subTest(device=device):
                got = self.hash(model, "--device", device)
                self.assertEqual(got["device"], device)
                self.assertEqual(got["root"], want["root"])
                self.assertEqual(got["objects"], want["objects"])
        self.assertTrue(self.assay("device", "selftest", "-o", "json").json()["passed"])
        self.assertEqual(self.error("hash", model, "--device", "opencl:99"), "device-not-found")

    def test_a_device_on_the_cpu_is_not_what_auto_takes(self):
        listed = self.assay("device", "list", "-o", "json").json()
        types = {device["id"]: device["type"] for device in listed["devices"]}
        if set(types.values()) == {"cpu"}:
            self.assertEqual(listed["auto"]["device"], "cpu")
        self.assertEqual(self.hash(self.model())["device"], listed["auto"]["device"])
        self.assertIn(f"auto takes {listed['auto']['device']}: ", self.assay("device", "list").out)

    def test_the_driver_is_named(self):
        driver = self.hash(self.model(), "--device", "cpu")["driver"]
        self.assertRegex(driver, r"^(ipsec-mb \d|OpenSSL \d)")

    def test_more_than_a_thousand_mixed_files(self):
        size = 0
        for number in range(1000):
            size = (size * 7 + 1237) % 40009
            self.write(f"many/{number % 17}/{number}", bytes([number % 256]) * size)
        self.model("many/model")
        want = self.compare(self.dir / "many", "--device", "cpu")
        for device in self.assay("device", "list", "-o", "json").json()["devices"][1:]:
            got = self.hash("many", "--device", device["id"])
            self.assertEqual((got["device"], got["root"]), (device["id"], want["root"]))

    def test_symbolic_links(self):
        model = self.model()
        os.symlink("config.json", model / "link.json")
        self.assertEqual(self.error("hash", model), "unsupported-file-type")
        self.compare(model, "--follow-symlinks", follow=True)
        os.symlink("../..", model / "outside")
        self.assertEqual(self.error("hash", model, "--follow-symlinks"), "invalid-path")

    def test_what_is_refused(self):
        os.mkdir(self.dir / "nothing")
        self.assertEqual(self.error("hash", "nothing"), "invalid-parameter")
        self.write("bad/x.safetensors", b"\xff" * 20)
        self.assertEqual(self.error("hash", "bad"), "malformed-safetensors")
        self.assertEqual(self.error("hash", "bad", "--objects", "files"), "malformed-safetensors")
        self.assertEqual(self.error("hash", "bad", "--whole", "y.safetensors"), "invalid-parameter")
        whole = self.hash("bad", "--whole", "x.safetensors")
        self.assertEqual([sorted(entry) for entry in whole["objects"]], [["kind", "path", "root", "size"]])
        os.mkfifo(self.dir / "bad" / "pipe")
        self.assertEqual(self.error("hash", "bad", "--objects", "files"), "unsupported-file-type")

    def test_text_output_is_the_id_alone(self):
        model = self.model()
        result = self.assay("hash", model)
        self.assertRegex(result.out, r"\Aassay-tree-v1-sha256:[0-9a-f]{64}\n\Z")
        self.assertRegex(result.err, r"8 files, 3 tensors, .*/s\) on ")
        self.assertEqual(self.assay("hash", model, "--quiet").err, "")
        listed = self.assay("hash", model, "--list").out
        self.assertIn("model.safetensors#layer.0.bias", listed)
        self.assertIn("data/line\\x0abreak", listed)

    def test_bench(self):
        got = self.assay("device", "bench", "--hash", "sha256", "--size", "1", "-o", "json").json()
        self.assertEqual([device["id"] for device in got["devices"]],
                         [device["id"] for device in
                          self.assay("device", "list", "-o", "json").json()["devices"]])  # fmt: skip
        for device in got["devices"]:
            own_memory = device["id"] != "cpu"
            self.assertEqual([result["hash"] for result in device["results"]], ["sha256"])
            for result in device["results"]:
                self.assertEqual(sorted(result["figures"]),
                                 ["resident", "streamed", *(["tagged", "tags"] if own_memory else [])])  # fmt: skip
                for name, figure in result["figures"].items():
                    with self.subTest(device=device["id"], figure=name):
                        self.assertGreater(figure["rate"], 0)
                        self.assertGreater(figure["limit"], 0)
                        self.assertAlmostEqual(figure["fraction"], figure["rate"] / figure["limit"])
                        self.assertTrue(figure["limit_is"])
                self.assertIn("integer_operations_per_second" if own_memory
                              else "cached_hash_bytes_per_second", result["limits"])  # fmt: skip

    def test_bench_of_one_device(self):
        options = ("device", "bench", "--device", "cpu", "--hash", "sha256", "--size", "1")
        [device] = self.assay(*options, "-o", "json").json()["devices"]
        self.assertEqual((device["id"], len(device["results"])), ("cpu", 1))
        both = self.assay("device", "bench", "--device", "cpu", "--size", "1", "-o", "json").json()
        self.assertEqual([result["hash"] for result in both["devices"][0]["results"]],
                         ["sha256", "sha384"])  # fmt: skip
        table = self.assay(*options).out.splitlines()
        self.assertEqual(table[0].split()[:3], ["DEVICE", "HASH", "FIGURE"])
        self.assertEqual([row.split()[:3] for row in table[1:]],
                         [["cpu", "sha256", "resident"], ["cpu", "sha256", "streamed"]])  # fmt: skip
        for wrong in (("--size", "0"), ("--threads", "1025"), ("--device", "abacus"),
                      ("--device", "opencl:99")):  # fmt: skip
            self.assertEqual(self.assay("device", "bench", *wrong, code=TROUBLE).out, "")

    def test_vectors(self):
        vectors = json.loads((harness.SOURCE / "tests/vectors/artifact.json").read_text())
        model = bytes.fromhex(vectors["model_hex"]) if "model_hex" in vectors else b""
        for number, case in enumerate(vectors["trees"]):
            root = self.dir / f"tree{number}"
            for file in case["files"]:
                content = model if file.get("model") else bytes.fromhex(file.get("hex", ""))
                self.write(f"tree{number}/{file['path']}", content)
            options = [word for pattern in case.get("ignore", []) for word in ("--ignore", pattern)]
            if case.get("objects"):
                options += ["--objects", case["objects"]]
            options += [word for path in case["whole"] for word in ("--whole", path)]
            want = case["result"]
            options += ["--hash", want["parameters"]["hash"],
                        "--chunk-size", str(want["parameters"]["chunk_size"])]  # fmt: skip
            with self.subTest(case=number):
                got = self.hash(root, *options)
                if got["parameters"] == want["parameters"]:
                    self.assertEqual(got["root"], want["root"])
                    self.assertEqual(got["objects"], want["objects"])
                else:  # the vector's patterns do not name what is left out here
                    self.assertEqual(case["name"], "single files and folders")
                    self.assertEqual(got["parameters"]["ignore"], ["/.git"])


if __name__ == "__main__":
    harness.main()
