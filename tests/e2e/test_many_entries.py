# SPDX-License-Identifier: Apache-2.0
"""A mixture of experts with as many entries as a manifest may have: from its files to a decision."""
import json
import sys
import unittest

import harness
import nodes
from test_nodes import NODE, policy

sys.path.insert(0, str(harness.ROOT / "deploy/demo"))
sys.path.insert(0, str(harness.ROOT / "tests/support"))
import many_tensors  # noqa: E402
import pod  # noqa: E402

SHARDS = 163


class AtTheLimit(unittest.TestCase):
    def run_assay(self, *command, **options):
        return self.service.run("assay", *command, **options).stdout

    def bind(self):
        return self.service.ask(pod.binding("llm", NODE))

    def publish(self):
        """The artifact; everybody who reads a manifest reads this one."""
        directory = self.service.dir / "model-a"
        many_tensors.write(directory, many_tensors.LIMIT - SHARDS, SHARDS)
        self.run_assay("manifest", "create", "model-a", "--name", "acme/demo", "--location",
                       nodes.LOCATION, "--out", "a.json")
        self.run_assay("manifest", "sign", "a.json", "--key", "keys/publisher.pem", "--out",
                       "a.signed.json")
        shown = json.loads(self.run_assay("manifest", "show", "a.signed.json", "-o", "json"))
        self.assertEqual(len(shown["objects"]), many_tensors.LIMIT)
        self.run_assay("manifest", "verify", "a.signed.json", "model-a", "--key",
                       "keys/publisher.pem.pub")
        self.run_assay("push", "a.signed.json", token="ci")
        got = self.service.run("assay", "get", shown["id"], "--out", "got.json", token="ci")
        self.assertEqual(got.returncode, 0)
        return shown["artifact"]

    def job(self):
        done = self.service.run("assay", "job", "new", "acme/demo", "--node", NODE, "--wait",
                                "-o", "json", check=False, token="ci")
        return json.loads(done.stdout)

    def test_from_files_to_a_decision(self):
        with nodes.NodeService() as self.service:
            artifact = self.publish()
            copy = self.service.place(NODE)
            self.service.activate(policy(1, self.service.anchor))
            self.service.ask(pod.claim("models", nodes.VOLUME))
            allowed, said = self.service.ask(pod.pod("llm", "models", "acme/demo"))
            self.assertTrue(allowed, said)
            with self.service.worker() as worker:
                worker.wait("enrolled")
                job = self.job()
                self.assertEqual((job["result"], job["artifact"]), ("verified", artifact))
                hashed = worker.wait("hashed", job=job["id"])
                self.assertEqual(hashed["entries"], many_tensors.LIMIT)
                allowed, said = self.bind()
                self.assertTrue(allowed, said)
                self.another_checkpoint(copy)
                self.long_shapes(copy)

    def another_checkpoint(self, copy):
        """Each entry differs, which makes the longest report; the tensors account for their files."""
        for path in copy.glob("*.safetensors"):
            content = path.read_bytes()
            length = 8 + int.from_bytes(content[:8], "little")
            path.write_bytes(content[:length] + bytes(255 - byte for byte in content[length:]))
        job = self.job()
        self.assertEqual(job["result"], "mismatch")
        self.assertEqual(job["detail"]["differences_total"], many_tensors.LIMIT - SHARDS)
        allowed, said = self.bind()
        self.assertFalse(allowed)
        self.assertIn("model-mismatch", said)

    def long_shapes(self, copy):
        """Whoever owns the files cannot keep the node agent from reporting."""
        many_tensors.write(copy, many_tensors.LIMIT - SHARDS, SHARDS, dimensions=64)
        job = self.job()
        self.assertEqual(job["result"], "incomplete")
        self.assertIn("limit-exceeded", json.dumps(job["detail"]["not_covered"]))
        self.assertFalse(self.bind()[0])


if __name__ == "__main__":
    unittest.main()
