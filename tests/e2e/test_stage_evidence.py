# SPDX-License-Identifier: Apache-2.0
"""A trainer shows in which hardware its key was held; and every way in which that is refused."""
import json
import unittest

import harness
import nodes


class TrainingService(nodes.NodeService):
    """With a trainer and another signer, and an appraisal for the stage train alone."""

    def _extend(self):
        super()._extend()
        for name in ("trainer", "helper"):
            self.key(name, "signer", name, "--role", f"train:{harness.LIFECYCLE}:acme")
        self.appraisals.append(self.stage_appraisal("train.json"))

    def stage_appraisal(self, name, **policy):
        path = self.appraisal(name, **policy)
        document = json.loads(path.read_text())
        document["stage"] = "train"
        path.write_text(json.dumps(document))
        return path


def policy(version, **evidence):
    return {
        "name": "trained", "version": version, "mode": "enforce",
        "match": {"namespaces": ["ml"]},
        "require": [
            {"id": "published", "manifest": {"signers": {"at_least": 1}}},
            {"id": "trained", "statement": {
                "predicate_type": harness.LIFECYCLE, "stage": "train", "quantifier": "any",
                "evidence": {"type": "tdx", **evidence}}},
        ],
    }


class Trained(unittest.TestCase):
    def test_story(self):
        with TrainingService() as self.service:
            self.artifact = self.service.publish()
            self.service.activate(policy(1, anchors=[self.service.anchor]))
            self.train("bare")
            self.assert_decided("stage-evidence-missing")
            self.foreign()
            statement = self.train("measured", evidence=True)
            self.service.run("assay", "push", "measured.evidence.json", token="ci")
            self.assert_decided()
            self.shown(statement)
            self.service.activate(policy(2))
            self.assert_decided("stage-anchor-not-accepted")
            self.service.activate(policy(3, anchors=[self.service.anchor], appraised="both"))
            self.assert_decided()
            self.fallen(statement)

    def train(self, name, evidence=False, key="trainer"):
        """A stored training statement; its id."""
        options = ("--evidence", "simulate", "--simulator-seed", "seed",
                   "--evidence-out", f"{name}.evidence.json") if evidence else ()
        self.service.run("assay", "attest", "create", "--stage", "train", "--subject",
                         self.artifact, "--name", "acme/demo", "--comment", name,
                         "--key", f"keys/{key}.pem", "--out", f"{name}.json", *options)
        return self.service.run("assay", "push", f"{name}.json", token="ci").stdout.strip()

    def assert_decided(self, code=None):
        """Allowed, or denied with this code."""
        done = self.service.run("assay", "decide", "--model", self.artifact, "--namespace", "ml",
                                "-o", "json", token="ci",
                                check=False)
        decision = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if code is None else 1, done.stdout + done.stderr)
        if code is not None:
            self.assertIn(code, json.dumps(decision))

    def foreign(self):
        """Evidence of a statement that is not there, and of a stranger's machine."""
        self.service.run("assay", "attest", "create", "--stage", "train", "--subject",
                         self.artifact, "--name", "acme/demo", "--comment", "unsent",
                         "--key", "keys/trainer.pem", "--out", "unsent.json",
                         "--evidence", "simulate", "--simulator-seed", "seed",
                         "--evidence-out", "unsent.evidence.json")
        refused = self.service.run("assay", "push", "unsent.evidence.json", token="ci", check=False)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("not-found", refused.stderr)
        self.service.run("assay", "attest", "create", "--stage", "train", "--subject",
                         self.artifact, "--name", "acme/demo", "--comment", "stranger",
                         "--key", "keys/trainer.pem", "--out", "stranger.json",
                         "--evidence", "simulate", "--simulator-seed", "stranger-seed",
                         "--evidence-out", "stranger.evidence.json")
        self.service.run("assay", "push", "stranger.json", token="ci")
        refused = self.service.run("assay", "push", "stranger.evidence.json", token="ci",
                                   check=False)
        self.assertEqual(refused.returncode, 1, refused.stderr)
        self.assertIn("evidence-rejected", refused.stderr)
        self.assert_decided("stage-evidence-")

    def shown(self, statement):
        shown = self.service.run("assay", "attest", "show", statement, token="ci").stdout
        self.assertRegex(shown, r"evidence +tdx by sha256:[0-9a-f]{64}: accepted, UpToDate")
        view = json.loads(self.service.run("assay", "attest", "show", statement, "-o", "json",
                                           token="ci").stdout)
        self.assertEqual(len(view["evidence"]), 1)
        self.assertFalse(view["evidence"][0]["anchor_is_vendor"])

    def fallen(self, statement):
        """Other reference values: what was accepted then is refused now."""
        path = self.service.stage_appraisal("other-image.json")
        document = json.loads(path.read_text())
        document["policy"]["reference_values"]["mrtd"] = ["77" * 48]
        path.write_text(json.dumps(document))
        self.service.change_trust("--appraisal", str(path))

        def again():
            view = json.loads(self.service.run("assay", "attest", "show", statement, "-o", "json",
                                               token="ci").stdout)
            return view["evidence"][0] if view["evidence"][0]["current"] else None

        evidence = nodes.wait_until("the evidence is appraised again", again)
        self.assertEqual(evidence["error"], "TD_MRTD_MISMATCH")
        self.assertIsNone(evidence["error_then"])
        self.assert_decided("stage-evidence-rejected")
        self.service.activate(policy(4, anchors=[self.service.anchor], appraised="then"))
        self.assert_decided()

    def test_flags_fit_together(self):
        with TrainingService() as service:
            artifact = service.publish()
            for options in (("--evidence", "simulate"), ("--evidence-out", "e.json"),
                            ("--evidence", "simulate", "--evidence-out", "e.json")):
                done = service.run("assay", "attest", "create", "--stage", "train", "--subject",
                                   artifact, "--name", "acme/demo", "--out", "x.json", *options,
                                   check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertFalse((service.dir / "x.json").exists())


if __name__ == "__main__":
    unittest.main()
