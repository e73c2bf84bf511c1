# SPDX-License-Identifier: Apache-2.0
"""Nodes that enrol, verify models and are asked about; and everything that is refused."""
import base64
import json
import os
import re
import signal
import sys
import time
import unittest

import harness
import nodes
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

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


class Cluster:
    """An API server that signs ServiceAccount tokens."""

    ISSUER = "https://kubernetes.default.svc"
    SUBJECT = "system:serviceaccount:assay-system:assay-worker"

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def account(self):
        numbers = self.key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "kube-1", "alg": "RS256", "use": "sig",
               "n": base64url(numbers.n.to_bytes(256, "big")), "e": "AQAB"}
        return {"issuer": self.ISSUER, "subject": self.SUBJECT, "jwks": {"keys": [key]}}

    def token(self, node, audience):
        now = int(time.time())
        claims = {"iss": self.ISSUER, "sub": self.SUBJECT, "aud": [audience], "iat": now,
                  "nbf": now, "exp": now + 3600,
                  "kubernetes.io": {"namespace": "assay-system", "node": {"name": node}}}
        text = ".".join(base64url(json.dumps(part).encode())
                        for part in ({"alg": "RS256", "kid": "kube-1"}, claims))
        signature = self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{text}.{base64url(signature)}"


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def policy(version, anchor, age=3600, **node):
    return {
        "name": "gpu-nodes", "version": version, "mode": "enforce",
        "match": {"accelerators": "any"},
        "require": [
            {"id": "published", "manifest": {"signers": {"at_least": 1}}},
            {"id": "node", "node": {"max_evidence_age_seconds": age, "anchors": [anchor],
                                    **node}},
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
            self.service.ask(pod.claim("models", nodes.VOLUME))
            allowed, said = self.service.ask(pod.pod("llm", "models", "acme/demo"))
            self.assertTrue(allowed, said)
            self.assert_refused("node-not-enrolled")
            with self.service.worker(device="opencl", options=("--metrics-port", "0")) as worker:
                enrolled = worker.wait("enrolled")
                self.assertTrue(enrolled["worker_measured"])
                self.enrolled()
                self.ordered(worker)
                self.verified(worker, artifact)
                self.assertEqual(self.bind()[0], True)
                self.started()
                self.another_volume()
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

    def ordered(self, worker):
        """The refusal orders the job that was missing."""
        allowed, said = self.bind()
        self.assertFalse(allowed, said)
        self.assertIn("report-missing", said)
        job = re.search(r"job ([0-9a-f-]{36}) was ordered on " + nodes.LOCATION, said)
        self.assertTrue(job, said)
        view = self.service.finished(job[1])
        self.assertEqual((view["result"], view["created_by"]), ("verified", "system"))
        self.assertEqual((view["location"], view["volume"]), (nodes.LOCATION, nodes.VOLUME))
        worker.wait("finished", job=job[1], result="verified")
        self.assertEqual(self.bind()[0], True)

    def started(self):
        """What the machine's event log says of its start decides."""
        line = "/boot/vmlinuz root=/dev/vda1 ro console=hvc0"
        for version, demand, allowed in ((2, line + " init=/bin/sh", False), (3, line, True)):
            self.service.activate(policy(version, self.service.anchor, boot={
                "secure_boot": True, "command_lines": [demand], "dangerous_allow_others": True}))
            answer, said = self.bind()
            self.assertEqual(answer, allowed, said)
            self.assertTrue(allowed or "boot-mismatch" in said, said)

    def another_volume(self):
        """A claim that is deleted and made again has other bytes, whatever was verified."""
        self.service.ask(pod.claim("models", "pv-other"))
        self.assert_refused("volume-changed")
        self.service.ask(pod.claim("models", nodes.VOLUME))
        self.assertEqual(self.bind()[0], True)

    def verified(self, worker, artifact):
        done = self.service.run("assay", "job", "new", "acme/demo", "--node", NODE, "--wait",
                                "-o", "json", token="ci")
        job = json.loads(done.stdout)
        self.assertEqual((job["result"], job["artifact"]), ("verified", artifact))
        self.assertTrue(job["worker_measured"])
        hashed = worker.wait("hashed", job=job["id"])
        self.assertTrue(hashed["device"].startswith("opencl"), hashed)
        self.assertEqual(hashed["not_covered"], 0)
        worker.wait("finished", job=job["id"], result="verified")
        metrics = worker.metrics()
        self.assertEqual(metrics['worker_jobs_total{result="verified"}'], 2)
        self.assertEqual(metrics["worker_hashed_bytes_total"], 2 * hashed["bytes"])
        self.assertGreater(metrics["worker_enrolment_expires_timestamp_seconds"],
                           metrics["worker_last_contact_timestamp_seconds"])

        # Stale evidence: the same, but nothing as old as this.
        self.service.activate(policy(4, self.service.anchor, age=1))
        nodes.wait_until("stale evidence", lambda: not self.bind()[0])
        self.assert_refused("evidence-stale")
        self.service.activate(policy(5, self.service.anchor))

    def flipped(self, copy, artifact):
        size = os.path.getsize(copy / "model.safetensors")
        flip(copy / "model.safetensors", size - 5)
        done = self.service.run("assay", "job", "new", artifact, "--node", NODE, "--wait",
                                check=False, token="ci")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        begin = (3_000_000 - 5) >> 20 << 20  # in the one tensor
        self.assertIn(f"changed model.safetensors#layer.0.weight [{begin}, 3000000)", done.stdout)
        self.assertNotIn("changed model.safetensors [", done.stdout)
        self.assertNotIn("config.json", done.stdout)
        self.assert_refused("model-mismatch")

    def revoked(self, worker):
        self.service.change_trust("--revoke-node", NODE, "--reason", "stolen")
        self.assertEqual(worker.end(), 2)
        self.assertIn("node-revoked", worker.errors)
        self.assertIn("new name", worker.wait("ended")["advice"])
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
                        self.assertIn("node-not-registered", second.errors)
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

    def test_one_machine_has_one_name(self):
        with nodes.NodeService() as self.service:
            with self.service.worker() as first:
                first.wait("enrolled")
                with self.subTest("a second name for the platform"):
                    with self.service.worker("node-2", "worker-2") as second:
                        self.assertEqual(second.end(), 2)
                        self.assertIn("platform-taken", second.errors)
                with self.subTest("another machine"):
                    machine = ("--simulator-platform", "22" * 16)
                    with self.service.worker("node-2", "worker-2", options=machine) as second:
                        second.wait("enrolled")
                with self.subTest("a free name, the same token, another machine"):
                    machine = ("--simulator-platform", "33" * 16)
                    with self.service.worker("node-3", "worker-1", options=machine) as second:
                        self.assertEqual(second.end(), 2)
                        self.assertIn("node-not-registered", second.errors)
                self.assertEqual(first.stop(), 0)

    def test_two_workers_under_one_name_are_told(self):
        with nodes.NodeService() as self.service:
            with self.service.worker() as first, self.service.worker() as second:
                key = first.wait("enrolled")["key_id"]
                other = second.wait("enrolled")["key_id"]
                told = nodes.wait_until("one is told", lambda: [
                    event for worker in (first, second) for event in worker.events
                    if event["event"] == "superseded"])
                self.assertIn(told[0]["key_id"], (key, other))
                self.assertIn("leave one running", told[0]["advice"])
                view = self.service.request("GET", "/v1/nodes/node-1")[1]
                self.assertGreaterEqual(view["superseded"]["count"], 1)
                lost = self.service.records(type="node.superseded")[0]["detail"]
                self.assertEqual({lost["key_id"], lost["by"]}, {key, other})
                show = self.service.run("assay", "node", "show", "node-1", token="ci").stdout
                self.assertIn("superseded", show)

    def test_a_pool_needs_tokens_of_its_nodes(self):
        with nodes.NodeService() as self.service:
            cluster = Cluster()
            path = self.service.registration("pool-*", "worker-1", id="pool",
                                             service_account=cluster.account())
            self.service.change_trust("--register", str(path))
            options = ("--service-account-token", "token")
            (self.service.dir / "token").write_text(cluster.token("pool-b", self.service.config["log"]["origin"]))
            with self.service.worker("pool-a", options=options) as worker:
                self.assertEqual(worker.end(), 2)
                self.assertIn("identity-token-rejected", worker.errors)
            with self.service.worker("pool-a") as worker:
                self.assertEqual(worker.end(), 2)
                self.assertIn("identity-token-missing", worker.errors)
            (self.service.dir / "token").write_text(cluster.token("pool-a", self.service.config["log"]["origin"]))
            with self.service.worker("pool-a", options=options) as worker:
                worker.wait("enrolled")

    def test_a_replaced_image_counts_at_once(self):
        with nodes.NodeService() as self.service, self.service.worker() as worker:
            worker.wait("enrolled")
            path = self.service.appraisal("next.json")
            document = json.loads(path.read_text())
            document["policy"]["reference_values"]["mrtd"] = ["77" * 48]
            path.write_text(json.dumps(document))
            self.service.change_trust("--appraisal", str(path))

            def refused():
                view = self.service.request("GET", f"/v1/nodes/{NODE}")[1]
                return view if view["measured"]["error"] else None
            view = nodes.wait_until("the evidence is appraised again", refused)
            self.assertEqual(view["measured"]["error"], "TD_MRTD_MISMATCH")
            self.assertFalse(view["worker_measured"])
            text = self.service.run("assay", "node", "show", NODE, token="ci").stdout
            self.assertIn("refused by now: TD_MRTD_MISMATCH", text)

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
            self.service.ask(pod.claim("models", nodes.VOLUME))
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
        cls.artifact = cls.service.publish(locations=(
            nodes.LOCATION, nodes.LOCATION + "/none", nodes.LOCATION + "/out", "hostpath:///data"))
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
        found = self.differences(self.result(location=nodes.LOCATION + "/none"))
        self.assertEqual(found, {("missing", "config.json"), ("missing", "model.safetensors")})

    def test_another_size(self):
        (self.copy / "config.json").write_bytes(b"{}")
        self.assertEqual(self.differences(self.result()), {("size", "config.json")})

    def test_what_the_worker_does_not_map(self):
        view = self.result(location="hostpath:///data")
        self.assertEqual((view["result"], view["detail"]["code"]), ("failed", "location-unmapped"))
        self.worker.wait("finished", job=view["id"], result="unmapped")
        self.assertEqual(self.result()["result"], "verified")

    def test_paths_out_of_the_models(self):
        os.symlink("/etc", self.copy / "out")
        view = self.result(location=nodes.LOCATION + "/out")
        self.assertEqual(view["result"], "incomplete", view)
        self.worker.wait("not-covered", job=view["id"])
        status, problem = self.service.request(
            "POST", "/v1/jobs", json.dumps({"artifact": self.artifact, "node": NODE,
                                            "location": "pvc://inference/secret"}))
        self.assertEqual((status, problem["code"]), (403, "reference-unbound"))

    def test_links_inside_are_not_covered(self):
        os.symlink("config.json", self.copy / "link")
        self.assertEqual(self.result()["result"], "incomplete")

    def test_device_memory_needs_an_instance(self):
        status, problem = self.service.request(
            "POST", "/v1/jobs", json.dumps({"artifact": self.artifact, "node": NODE,
                                            "scope": "device-memory"}))
        self.assertEqual((status, problem["code"]), (400, "schema-violation"))

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
