# SPDX-License-Identifier: Apache-2.0
"""assay fill asks a real service: what its principal may see is enough, and a model that is decided
otherwise does not come in."""
import json
import re
import shlex
import shutil
import unittest

import chain
import pods
import yaml
from harness import ROOT

NAMESPACE = "fills"


class Service(chain.Service):
    def _extend(self):
        super()._extend()
        self.principal("filler", "decider")


class Fill(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        for name in ("demo", "other"):
            directory = cls.service.dir / f"store/acme/{name}"
            (directory / "data").mkdir(parents=True)
            (directory / "config.json").write_text(name)
            (directory / "data/weights.bin").write_bytes(bytes(range(256)) * 5000)
        cls.service.sign_manifest("demo", model="acme/demo", directory="store/acme/demo")
        cls.artifact = cls.service.artifact_of("demo")
        cls.policy(1)

    @classmethod
    def policy(cls, signers):
        cls.versions = getattr(cls, "versions", 0) + 1
        cls.service.activate({**pods.manifest_policy("fills", [NAMESPACE], signers={"at_least": signers}),
                              "version": cls.versions})

    def fill(self, uri="assay://acme/demo", *options, namespace=NAMESPACE, code=0):
        shutil.rmtree(self.service.dir / "volume", ignore_errors=True)
        (self.service.dir / "volume").mkdir()
        done = self.service.run("assay", "fill", "--sources", "store", "--namespace", namespace,
                                "--resource", "nvidia.com/gpu", uri, "volume",
                                "-o", "json", *options, token="filler", check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        there = sorted(path.name for path in (self.service.dir / "volume").rglob("*") if path.is_file())
        self.assertEqual(there, ["config.json", "weights.bin"] if code == 0 else [])
        return json.loads(done.stdout) if code != 2 else done.stderr

    def test_1_decision_manifest_and_bytes(self):
        got = self.fill()
        self.assertEqual((got["filled"], got["artifact"]), (True, self.artifact))
        shown = self.service.run("assay", "decision", "show", got["decision"], "-o", "json", token="filler")
        self.assertEqual(json.loads(shown.stdout)["models"], [{"artifact": self.artifact, "name": "acme/demo"}])
        self.assertEqual(self.fill(f"assay://acme/demo@{self.artifact}", "--decision", got["decision"])["decision"],
                         got["decision"])  # fmt: skip

    def test_2_what_nobody_signed_or_selects(self):
        got = self.fill("assay://acme/other", code=1)
        self.assertIn("condition-undecided", got["error"]["code"])
        self.assertIn("model-reference-missing", got["error"]["detail"])
        self.fill(namespace="elsewhere", code=1)

    def test_3_other_bytes_under_the_name(self):
        path = self.service.dir / "store/acme/demo/data/weights.bin"
        signed = path.read_bytes()
        path.write_bytes(signed[:-1] + b"!")
        self.addCleanup(path.write_bytes, signed)
        got = self.fill(code=1)
        self.assertEqual([one["file"] for one in got["differences"]], ["data/weights.bin"])

    def test_4_a_policy_that_changed(self):
        got = self.fill()
        self.policy(2)
        self.addCleanup(self.policy, 1)
        self.assertIn("signers-insufficient", self.fill(code=1)["error"]["detail"])
        # A stored decision is not judged again: its own end is all that ends it.
        self.fill("assay://acme/demo", "--decision", got["decision"])


class Page(unittest.TestCase):
    """The examples of docs/kserve.md, as the service judges them; tests/kubernetes sends them to an API
    server as well."""

    FENCE = re.compile(r"^```(\w+)((?: [\w-]+)+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

    def test_examples_in_order(self):
        service = self.enterContext(Service())
        seen = []
        for language, words, body in self.FENCE.findall((ROOT / "docs/kserve.md").read_text()):
            seen.append(" ".join([language, words.split()[0]]))
            if language == "console":
                command = shlex.split(body)
                directory, name = service.dir / command[3], command[command.index("--out") + 1]
                directory.mkdir(parents=True)
                (directory / "config.json").write_text("{}")
                service.sign_manifest(name.removesuffix(".json"), *command[6:-2], model=command[5],
                                      directory=command[3])
            elif language == "json":
                service.activate(json.loads(body))
            else:
                said = service.review(pods.stored(yaml.safe_load(body)))
                self.assertEqual(said.allowed, words.split()[0] == "allow", said.text)
                for word in words.split()[1:]:
                    self.assertIn(word, said.text)
        self.assertEqual(seen, ["console publish", "json policy", "yaml allow", "yaml deny"])


if __name__ == "__main__":
    unittest.main()
