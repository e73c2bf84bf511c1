# SPDX-License-Identifier: Apache-2.0
"""Nodes whose evidence a verifier plug-in verifies, and plug-ins that are gone or misbehave."""
import base64
import hashlib
import json
import shutil
import sys
import unittest

import harness
import nodes

sys.path.insert(0, str(harness.ROOT / "deploy/demo"))
import pod  # noqa: E402

PLUGINS = harness.BIN.parent / "plugins"
EXAMPLE = harness.ROOT / "deploy/examples/verifier-plugin"
IMAGE = hashlib.sha256(b"an image").hexdigest()
TYPE = "example-hmac"
NODE = "node-1"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def plugin(name="example_hmac", kind=TYPE, media_type="application/vnd.example.hmac", **members):
    path = PLUGINS / f"{name}.so"
    return {"type": kind, "media_type": media_type, "path": str(path),
            "sha256": "sha256:" + digest(path), **members}


class PluginService(nodes.NodeService):
    """With the example's evidence, and an appraisal for it."""

    def __init__(self, *plugins):
        super().__init__(attestation={"plugins": list(plugins or [plugin()])})

    def _extend(self):
        super()._extend()
        for kind, values in ((TYPE, {"image": [IMAGE]}), ("wicked", {"calls": ["1"]})):
            if any(one["type"] == kind for one in self.config["attestation"]["plugins"]):
                path = self.dir / f"appraisal-{kind}.json"
                path.write_text(json.dumps({"evidence_type": kind,
                                            "policy": {"reference_values": values}}))
                self.appraisals.append(path)

    def program(self, text):
        """A program that prints `text`; its path."""
        path = self.dir / "evidence.sh"
        path.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        path.chmod(0o700)
        return path

    def plugin_worker(self, command=EXAMPLE / "evidence.py", kind=TYPE, **options):
        return self.worker(evidence="command", options=(
            "--evidence-command", str(command), "--evidence-type", kind), **options)

    def restart_with(self, *plugins):
        self.stop()
        self.config["attestation"] = {"plugins": list(plugins)}
        (self.dir / "service/assayd.json").write_text(json.dumps(self.config))
        self.start()

    def node(self):
        status, view = self.request("GET", f"/v1/nodes/{NODE}")
        return view if status == 200 else None


def policy(version, *anchors):
    node = {"max_evidence_age_seconds": 3600}
    if anchors:
        node["anchors"] = list(anchors)
    return {"name": "gpu-nodes", "version": version, "mode": "enforce",
            "match": {"accelerators": "any"},
            "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                        {"id": "node", "node": node}]}


class Story(unittest.TestCase):
    def bind(self):
        return self.service.ask(pod.binding("llm", NODE))

    def refused(self, code):
        allowed, said = self.bind()
        self.assertFalse(allowed, said)
        self.assertIn(code, said)

    def test_story(self):
        anchor = "plugin:" + digest(PLUGINS / "example_hmac.so")
        with PluginService() as self.service:
            self.service.publish()
            self.service.activate(policy(1))
            self.service.ask(pod.claim("models", nodes.VOLUME))
            allowed, said = self.service.ask(pod.pod("llm", "models", "acme/demo"))
            self.assertTrue(allowed, said)
            with self.service.plugin_worker() as worker:
                self.assertTrue(worker.wait("enrolled")["worker_measured"])
                view = self.service.node()
                self.assertEqual(view["measured"]["anchor"], anchor)
                self.assertFalse(view["measured"]["anchor_is_vendor"])
                self.assertEqual(view["measured"]["evidence_type"], TYPE)
                self.assertEqual(len(view["platform"]), 64)
                worker.stop()
            # Nobody named the plug-in; then one names a root with its digest; then the plug-in.
            self.refused("anchor-not-accepted")
            self.service.activate(policy(2, anchor.replace("plugin:", "sha256:")))
            self.refused("anchor-not-accepted")
            self.service.activate(policy(3, anchor))
            self.assertTrue(*self.bind())
            self.gone(anchor)

    def gone(self, anchor):
        """Without its plug-in evidence does not count; with it, it does again, and is no younger."""
        before = self.service.node()["measured"]
        self.service.restart_with()
        gone = nodes.wait_until("refusal", lambda: (lambda m: m if m["error"] else None)(
            self.service.node()["measured"]))
        self.assertEqual(gone["error"], "evidence-type-unknown")
        self.refused("evidence-rejected")
        self.service.restart_with(plugin())
        again = nodes.wait_until("acceptance", lambda: (lambda m: m if not m["error"] else None)(
            self.service.node()["measured"]))
        self.assertEqual((again["anchor"], again["appraised_at"]),
                         (anchor, before["appraised_at"]))
        self.assertTrue(*self.bind())


class Misbehaviour(unittest.TestCase):
    def test_file_that_cannot_be_used(self):
        with PluginService() as service:
            good = plugin()
            folder = service.dir / "folder.so"
            folder.mkdir()
            link = service.dir / "link.so"
            link.symlink_to(good["path"])
            other = service.dir / "other.so"
            shutil.copy(good["path"], other)
            other.write_bytes(other.read_bytes() + b"\0")
            service.stop()
            for path in (folder, link, other, service.dir / "missing.so", "/dev/null"):
                with self.subTest(path=path):
                    service.config["attestation"] = {"plugins": [{**good, "path": str(path)}]}
                    (service.dir / "service/assayd.json").write_text(json.dumps(service.config))
                    done = service.run("assayd", "run", "--config", "service/assayd.json",
                                       check=False)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn("plugin-unusable", done.stderr)
            service.config["attestation"] = {"plugins": [{**good, "type": "tdx"}]}
            (service.dir / "service/assayd.json").write_text(json.dumps(service.config))
            done = service.run("assayd", "run", "--config", "service/assayd.json", check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("invalid-config", done.stderr)

    def test_plugin_that_crashes_or_hangs(self):
        """The enrolment fails, and the service answers others all the while."""
        media_type = "application/vnd.example.wicked"
        with PluginService(plugin("wicked", "wicked", media_type, deadline_ms=3000),
                           plugin()) as service:
            for way in ("crash", "garbage", "other-nonce", "sleep"):
                with self.subTest(way=way):
                    text = json.dumps({"platform": "00112233",
                                       "evidence": base64.b64encode(way.encode()).decode()})
                    with service.plugin_worker(service.program(text), "wicked") as worker:
                        while worker.process.poll() is None and not worker.errors:
                            self.assertEqual(service.request("GET", "/v1/nodes")[0], 200)
                        if not worker.errors:
                            worker.end()  # what it said last may come after it ended
                        self.assertIn("verifier-failed", worker.errors or str(worker.events))
                    self.assertIsNone(service.node())
            with service.plugin_worker() as worker:
                self.assertTrue(worker.wait("enrolled")["worker_measured"])


class Conformance(unittest.TestCase):
    def test_example(self):
        with PluginService() as service:
            done = service.run("assay", "evidence", "plugin", "check", plugin()["path"],
                               str(EXAMPLE / "vectors.json"), "-o", "json")
            said = json.loads(done.stdout)
            self.assertEqual(said["failed"], 0)
            self.assertEqual(said["plugin"], "plugin:" + digest(PLUGINS / "example_hmac.so"))
            wrong = service.run("assay", "evidence", "plugin", "check",
                                str(PLUGINS / "wicked.so"), str(EXAMPLE / "vectors.json"),
                                check=False)
            self.assertEqual(wrong.returncode, 1, wrong.stderr)
            folder = service.run("assay", "evidence", "plugin", "check", str(PLUGINS),
                                 str(EXAMPLE / "vectors.json"), check=False)
            self.assertNotEqual(folder.returncode, 0)
            self.assertIn("plugin-unusable", folder.stderr)


if __name__ == "__main__":
    unittest.main()
