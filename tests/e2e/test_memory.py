# SPDX-License-Identifier: Apache-2.0
"""Weights in the memory of a process: registered, hashed in place, watched, and asked about at serve."""
import json
import os
import re
import signal
import sys
import unittest

import harness
import nodes

sys.path.insert(0, str(harness.ROOT / "tests/support"))
from instance_owner import Owner  # noqa: E402

NODE = "node-1"
WEIGHTS = nodes.MODEL["model.safetensors"][-3_000_000:]  # of the one tensor
TENSOR = (["layer.0.weight"], "U8", [len(WEIGHTS)], WEIGHTS)
POLICY = {
    "name": "loaded", "version": 1, "mode": "enforce", "match": {"accelerators": "any"},
    "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                {"id": "loaded", "report": {"scope": "device-memory"}}]}


class Memory(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(nodes.NodeService())
        self.artifact = self.service.publish()
        self.service.place(NODE)
        self.service.activate(POLICY)
        self.socket = self.service.dir / "register.sock"
        options = ("--register-socket", str(self.socket), "--register-uid", str(os.getuid()))
        self.worker = self.enterContext(self.service.worker(options=options))
        self.worker.wait("enrolled")

    def owner(self, tensors=(TENSOR,), **options):
        owner = Owner(self.socket, options.pop("artifact", self.artifact), list(tensors), **options)
        self.addCleanup(owner.close)
        self.assertEqual(owner.register()["type"], "registered")
        return owner

    def job(self, instance="main", artifact=None):
        done = self.service.run("assay", "job", "new", artifact or self.artifact, "--node", NODE,
                                "--instance", instance, "--wait", "-o", "json", token="ci", check=False)
        return json.loads(done.stdout)

    def serve(self, artifact=None):
        """Whether the model may serve on the node, and what is said of it."""
        done = self.service.run("assay", "decide", "--model", artifact or self.artifact, "--point", "serve",
                                "--node", NODE, "--resource", "nvidia.com/gpu", token="ci", check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0, done.stdout

    def becomes(self, code):
        """Waits until serve is denied with this code: the service hears of a change by heartbeat."""
        def look():
            allowed, said = self.serve()
            return said if not allowed and code in said else None
        return nodes.wait_until(code, look)

    def verified(self):
        job = self.job()
        self.assertEqual((job["result"], job["instance"]), ("verified", {"pod": "", "instance": "main"}), job)
        nodes.wait_until("an allow", lambda: self.serve()[0])
        return job

    def test_weights_are_verified_in_place_and_a_flipped_byte_is_found(self):
        owner = self.owner()
        allowed, said = self.serve()
        self.assertFalse(allowed, said)
        self.assertIn("report-missing", said)
        self.verified()
        memory = self.worker.wait("hashed")
        self.assertEqual(memory["bytes"], len(WEIGHTS))
        _, view = self.service.request("GET", f"/v1/nodes/{NODE}")
        self.assertEqual(view["instances"][0]["watch"],
                         {"check": "tags", "period_ms": 2000, "share_percent": 100})  # fmt: skip
        owner.write(0, 1_234_567, bytes([WEIGHTS[1_234_567] ^ 1]))
        found = owner.wait(lambda m: m["type"] == "state" and m["state"] == "violated")
        self.assertEqual(found["findings"][0]["tensor"], "layer.0.weight")
        self.becomes("instance-violated")
        # The agent says where, without a job.
        located = self.worker.wait("located")["findings"][0]
        self.assertEqual(located["tensor"], "layer.0.weight")
        self.assertIn("bytes 1048576 to 2097152", located["detail"])
        # So does the service, of the node and in its log.
        def node():
            _, view = self.service.request("GET", f"/v1/nodes/{NODE}")
            return view if "bytes 1048576 to 2097152" in json.dumps(view["instances"]) else None
        self.assertEqual(nodes.wait_until("the place", node)["state"], "violated")
        self.assertIn("bytes 1048576 to 2097152", json.dumps(self.service.records(type="instance.changed")))
        # The next job says where, too. The bytes as they were make everything right again.
        job = self.job()
        self.assertEqual(job["result"], "mismatch", job)
        self.assertIn("layer.0.weight", json.dumps(job["detail"]))
        self.becomes("model-mismatch")
        owner.write(0, 1_234_567, WEIGHTS[1_234_567:1_234_568])
        self.verified()

    def test_memory_that_was_replaced_is_found(self):
        owner = self.owner()
        self.verified()
        owner.replace(0, bytes(reversed(WEIGHTS)))
        owner.wait(lambda m: m["type"] == "state" and m["state"] == "violated")
        self.becomes("instance-violated")

    def test_a_process_that_ends_is_no_longer_vouched_for(self):
        owner = self.owner()
        self.verified()
        owner.close()
        self.assertRegex(self.becomes("instance-"), r"instance-(unwatched|missing)")

    def test_the_end_of_one_server_leaves_the_other(self):
        owner = self.owner()
        self.verified()
        other = self.owner(instance="other")
        self.becomes("report-missing")
        self.assertEqual(self.job("other")["result"], "verified")
        nodes.wait_until("an allow", lambda: self.serve()[0])
        other.close()

        def ended():
            _, view = self.service.request("GET", f"/v1/nodes/{NODE}")
            return {"main": "verified", "other": "ended"} == {
                one["instance"]: one["state"] for one in view["instances"]}
        nodes.wait_until("the end", ended)
        allowed, said = self.serve()
        self.assertTrue(allowed, said)
        owner.close()
        self.becomes("instance-unwatched")

    def test_without_heartbeats_nothing_is_known(self):
        self.owner()
        self.verified()
        self.worker.kill()
        self.becomes("instance-unwatched")

    def test_a_process_that_reads_memory_and_dies_vouches_for_nothing(self):
        """Killed while the agent watches: denied, until a new job has looked at everything."""
        owner = self.owner()
        self.verified()
        os.kill(self.worker.wait("reader-started")["pid"], signal.SIGKILL)
        found = owner.wait(lambda m: m["type"] == "state" and m["state"] == "unknown")
        self.assertEqual(found["findings"][0]["kind"], "error")
        self.becomes("instance-unwatched")
        self.worker.wait("reader-failed")
        self.verified()

    def test_what_is_not_the_model_is_named(self):
        cases = {
            "missing": ([(["other"], "U8", [4], b"abcd")], "layer.0.weight"),
            "extra": ([TENSOR, (["more"], "U8", [4], b"abcd")], "more"),
            "shape": ([(["layer.0.weight"], "U8", [1500, 2000], WEIGHTS)], "layer.0.weight"),
            "bytes": ([(["layer.0.weight"], "U8", [len(WEIGHTS)], b"\0" * len(WEIGHTS))], "layer.0.weight"),
        }
        for name, (tensors, tensor) in cases.items():
            with self.subTest(name):
                owner = self.owner(tensors)
                job = self.job()
                self.assertIn(job["result"], ("mismatch", "incomplete"), job)
                self.assertIn(tensor, json.dumps(job["detail"]))
                self.assertFalse(self.serve()[0])
                owner.close()

    def test_an_instance_that_no_job_was_about(self):
        """Beside one that is verified, another process registers wrong bytes under the same model."""
        self.owner()
        self.verified()
        other = self.owner([TENSOR[:3] + (b"\xff" * len(WEIGHTS),)], instance="other")
        self.assertIn("other", self.becomes("report-missing"))
        other.close()
        nodes.wait_until("an allow", lambda: self.serve()[0])

    def test_half_of_an_instance_is_none(self):
        owner = self.owner(rank=0, world=2)
        self.assertNotEqual(self.job()["result"], "verified")
        self.assertFalse(self.serve()[0])
        owner.close()

    def test_an_instance_that_nobody_registered(self):
        job = self.job("nobody")
        self.assertEqual(job["result"], "failed", job)
        self.assertIn("instance-missing", json.dumps(job))

    def test_weights_of_another_model_are_not_this_one(self):
        """Registered under one artifact, asked about under another with the same tensor names."""
        files = dict(nodes.MODEL, **{"config.json": b'{"layers": 2}\n'})
        other = self.service.publish("b", files)
        self.owner()
        self.verified()
        self.assertNotEqual(self.job(artifact=other)["result"], "verified")
        self.assertFalse(self.serve(other)[0])

    def test_staged_memory_is_told_apart(self):
        self.service.activate(dict(POLICY, version=2, require=[
            POLICY["require"][0], {"id": "loaded", "report": {"scope": "device-memory", "in_place": True}}]))
        self.owner(staged=True)
        self.assertEqual(self.job()["result"], "verified")
        said = self.becomes("memory-")
        self.assertTrue(re.search(r"memory-[a-z-]+", said), said)


if __name__ == "__main__":
    unittest.main()
