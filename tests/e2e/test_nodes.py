# SPDX-License-Identifier: Apache-2.0
"""Nodes that enrol, verify models and are asked about; and everything that is refused."""
import json
import os
import signal
import sys
import unittest

import harness
import nodes

sys.path.insert(0, str(harness.ROOT / "deploy/demo"))
import pod  # noqa: E402

NODE = "node-1"


def flip(path, offset):
    """Changes one bit of the byte at `offset`."""
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


def policy(version, anchor, age=3600):
    return {
        "name": "gpu-nodes", "version": version, "mode": "enforce",
        "match": {"resources": ["nvidia.com/gpu"]},
        "require": [
            {"id": "published", "manifest": {"signers": {"at_least": 1}}},
            {"id": "node", "node": {"max_evidence_age_seconds": age, "anchors": [anchor]}},
            {"id": "verified", "report": {"max_age_seconds": 3600}},
        ],
    }


class Story(unittest.TestCase):
    """One node from its enrolment to its end."""

    def bind(self, name="llm"):
        return self.service.ask(pod.binding(name, NODE))

    def assert_refused(self, *codes):
        allowed, said = self.bind()
        self.assertFalse(allowed, said)
        for code in codes:
            self.assertIn(code, said)

    def test_story(self):
        with nodes.NodeService() as self.service:
            artifact = self.service.publish()
            copy = self.service.place(NODE)
            self.service.activate(policy(1, self.service.anchor))
            allowed, said = self.service.ask(pod.pod("llm", "models", "acme/demo"))
            self.assertTrue(allowed, said)
            self.assert_refused("node-not-enrolled")
            with self.service.worker(device="opencl", options=("--metrics-port", "0")) as worker:
                enrolled = worker.wait("enrolled")
                self.assertTrue(enrolled["worker_measured"])
                self.enrolled()
                self.assert_refused("report-missing")
                self.verified(worker, artifact)
                self.assertEqual(self.bind()[0], True)
                self.flipped(copy, artifact)
                self.revoked(worker)

    def enrolled(self):
        shown = self.service.run("assay", "node", "show", NODE, "-o", "json", token="ci")
        node = json.loads(shown.stdout)
        self.assertEqual(node["state"], "enrolled")
        self.assertEqual(node["measured"]["anchor"], self.service.anchor)
        self.assertFalse(node["measured"]["anchor_is_vendor"])
        text = self.service.run("assay", "node", "list", token="ci").stdout
        self.assertRegex(text, r"node-1 +enrolled +tdx UpToDate, anchor is not the vendor's")

    def verified(self, worker, artifact):
        done = self.service.run("assay", "job", "new", "acme/demo", "--node", NODE, "--wait",
                                "-o", "json", token="ci")
        job = json.loads(done.stdout)
        self.assertEqual((job["result"], job["artifact"]), ("verified", artifact))
        self.assertTrue(job["worker_measured"])
        self.assertFalse(job["device_attested"])
        hashed = worker.wait("hashed", job=job["id"])
        self.assertTrue(hashed["device"].startswith("opencl"), hashed)
        self.assertEqual(hashed["not_covered"], 0)
        worker.wait("finished", job=job["id"], result="verified")
        metrics = worker.metrics()
        self.assertEqual(metrics['worker_jobs_total{result="verified"}'], 1)
        self.assertEqual(metrics["worker_hashed_bytes_total"], hashed["bytes"])
        self.assertGreater(metrics["worker_enrolment_expires_timestamp_seconds"],
                           metrics["worker_last_contact_timestamp_seconds"])

        # Stale evidence: the same, but nothing as old as this.
        self.service.activate(policy(2, self.service.anchor, age=1))
        nodes.wait_until("stale evidence", lambda: not self.bind()[0])
        self.assert_refused("evidence-stale")
        self.service.activate(policy(3, self.service.anchor))

    def flipped(self, copy, artifact):
        size = os.path.getsize(copy / "model.safetensors")
        flip(copy / "model.safetensors", size - 5)
        done = self.service.run("assay", "job", "new", artifact, "--node", NODE, "--wait",
                                check=False, token="ci")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        begin = (size - 5) >> 20 << 20
        self.assertIn(f"changed model.safetensors [{begin}, {size})", done.stdout)
        self.assertIn("changed model.safetensors#layer.0.weight [", done.stdout)
        self.assertNotIn("config.json", done.stdout)
        self.assert_refused("model-mismatch")

    def revoked(self, worker):
        self.service.change_trust("--revoke-node", NODE, "--reason", "stolen")
        self.assertEqual(worker.end(), 2)
        self.assertIn("node-revoked", worker.errors)
        self.assert_refused("node-revoked")
        # For good: not even with a new key.
        with self.service.worker() as again:
            self.assertEqual(again.end(), 2)
            self.assertIn("node-revoked", again.errors)
        text = self.service.run("assay", "node", "show", NODE, token="ci").stdout
        self.assertIn("stolen", text)


class Enrolment(unittest.TestCase):
    def refused(self, worker, code):
        with worker:
            self.assertEqual(worker.end(), 2, worker)
            self.assertIn(code, worker.errors)
        self.assertEqual(self.service.request("GET", f"/v1/nodes/{NODE}")[0], 404)

    def test_what_is_refused(self):
        with nodes.NodeService() as self.service:
            with self.subTest("no evidence"):
                self.refused(self.service.worker(evidence="none"), "evidence-missing")
            with self.subTest("another simulator"):
                self.refused(self.service.worker(seed="stranger-seed"), "evidence-rejected")
            with self.subTest("without the role"):
                self.refused(self.service.worker(principal="ci"), "forbidden")
            with self.subTest("another's node"):
                with self.service.worker() as first:
                    first.wait("enrolled")
                    with self.service.worker(principal="worker-2") as second:
                        self.assertEqual(second.end(), 2)
                        self.assertIn("node-taken", second.errors)
                    self.assertEqual(first.stop(), 0)
            with self.subTest("another's key"):
                self.service.run("assay", "key", "new", "--algorithm", "ecdsa-p256", "--out",
                                 "keys/shared.pem")
                key = ("--key", "keys/shared.pem")
                with self.service.worker(options=key) as first:
                    first.wait("enrolled")
                    with self.service.worker("node-2", "worker-2", options=key) as second:
                        self.assertEqual(second.end(), 2)
                        self.assertIn("key-not-unique", second.errors)

    def test_simulated_evidence_without_the_dangerous_anchor(self):
        with nodes.NodeService(trusted=False) as self.service:
            self.refused(self.service.worker(), "evidence-rejected")

    def test_reference_values_are_needed(self):
        with nodes.NodeService() as self.service:
            document = json.loads(self.service.appraisal("empty.json").read_text())
            document["policy"] = {}
            (self.service.dir / "empty.json").write_text(json.dumps(document))
            self.service.change_trust("--appraisal", "empty.json")
            self.refused(self.service.worker(), "REFERENCE_VALUES_MISSING")

    def test_an_unmeasured_worker_where_that_is_allowed(self):
        with nodes.NodeService(nodes={"dangerous_allow_unmeasured": True}) as self.service:
            artifact = self.service.publish()
            self.service.place(NODE)
            job = None
            with self.service.worker(evidence="none", options=("--once",)) as worker:
                self.assertFalse(worker.wait("enrolled")["worker_measured"])
                job = self.service.new_job(artifact)
                self.assertEqual(worker.end(), 0, worker)
            view = self.service.job(job)
            self.assertEqual((view["result"], view["worker_measured"]), ("verified", False))
            self.service.activate(policy(1, self.service.anchor))
            self.service.ask(pod.pod("llm", "models", "acme/demo"))
            allowed, said = self.service.ask(pod.binding("llm", NODE))
            self.assertFalse(allowed)
            self.assertIn("worker-not-measured", said)


class Jobs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Fewer spans than the model has.
        checks = {"mirror": "mirror", "spot_checks": 2}
        cls.service = nodes.NodeService(nodes=checks).__enter__()
        cls.addClassCleanup(cls.service.__exit__)
        cls.artifact = cls.service.publish()
        (cls.service.dir / "service/mirror/acme").mkdir(parents=True)
        cls.service.run("cp", "-r", "model-a", "service/mirror/acme/demo")

    def setUp(self):
        self.copy = self.service.place(NODE)
        self.worker = self.enterContext(self.service.worker())
        self.worker.wait("enrolled")

    def result(self, **members):
        return self.service.finished(self.service.new_job(self.artifact, **members))

    def differences(self, view):
        self.assertEqual(view["result"], "mismatch", view)
        return {(item["kind"], item["path"]) for item in view["detail"]["differences"]}

    def test_spot_checks(self):
        view = self.result()
        self.assertEqual(view["result"], "verified", view)
        self.assertEqual(view["detail"]["spot_checks"], 2, view)
        self.worker.wait("reported", job=view["id"], answer="spot")

    def test_missing_and_extra_files(self):
        (self.copy / "config.json").unlink()
        (self.copy / "extra").write_bytes(b"more")
        self.assertEqual(self.differences(self.result()),
                         {("missing", "config.json"), ("extra", "extra")})

    def test_no_model_at_all(self):
        found = self.differences(self.result(path="acme/elsewhere"))
        self.assertEqual(found, {("missing", "config.json"), ("missing", "model.safetensors")})

    def test_another_size(self):
        (self.copy / "config.json").write_bytes(b"{}")
        self.assertEqual(self.differences(self.result()), {("size", "config.json")})

    def test_paths_out_of_the_models(self):
        os.symlink("/etc", self.copy.parent / "out")
        self.addCleanup(os.unlink, self.copy.parent / "out")
        view = self.result(path="acme/out")
        self.assertEqual(view["result"], "incomplete", view)
        self.worker.wait("not-covered", job=view["id"])
        status, problem = self.service.request(
            "POST", "/v1/jobs", json.dumps({"artifact": self.artifact, "node": NODE,
                                            "path": "../secret"}))
        self.assertEqual((status, problem["code"]), (400, "invalid-path"))

    def test_links_inside_are_not_covered(self):
        os.symlink("config.json", self.copy / "link")
        self.assertEqual(self.result()["result"], "incomplete")

    def test_device_memory_is_not_covered(self):
        view = self.result(scope="device-memory")
        self.assertEqual(view["result"], "incomplete", view)

    def test_a_subset(self):
        flip(self.copy / "model.safetensors", 1_000_000)
        view = self.result(subset=[0])
        self.assertEqual(view["result"], "verified", view)
        view = self.result(subset=[1, 2])
        self.assertEqual(self.differences(view), {("changed", "model.safetensors")})

    def test_once_says_no(self):
        self.assertEqual(self.worker.stop(), 0)
        flip(self.copy / "config.json", 3)
        with self.service.worker(options=("--once",)) as worker:
            worker.wait("enrolled")
            job = self.service.new_job(self.artifact)
            self.assertEqual(worker.end(), 1, worker)
        self.assertEqual(self.service.job(job)["result"], "mismatch")

    def test_signals_end_an_idle_worker(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.service.worker() as worker:
                worker.wait("enrolled")
                worker.signal(number)
                self.assertEqual(worker.end(), 0)
                self.assertEqual(worker.events[-1]["event"], "stopped")

    def test_an_outage_of_the_service(self):
        self.service.kill()
        self.worker.wait("retry", what="lease")
        port = self.service.port
        config = self.service.dir / "service/assayd.json"
        before = config.read_text()
        document = json.loads(before)
        document["api"]["port"] = port  # where the worker looks for it
        config.write_text(json.dumps(document))
        self.service.start()
        self.assertEqual(self.result()["result"], "verified")


if __name__ == "__main__":
    unittest.main()
