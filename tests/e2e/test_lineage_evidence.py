# SPDX-License-Identifier: Apache-2.0
"""Each step of a lineage on measured hardware: from the command line alone; how old a statement can
be; what a file of evidence shows; and lineages that nobody can judge."""
import base64
import json
import unittest

import harness
import test_stage_evidence


class Pipeline(test_stage_evidence.TrainingService):
    def _extend(self):
        super()._extend()
        self.key("curator", "signer", "cora", "--role", f"collect:{harness.LIFECYCLE}:acme")
        self.key("preparer", "signer", "pat", "--role", f"preprocess:{harness.LIFECYCLE}:acme")
        self.principal("other", "submitter", "reader")


def policy(version, evidence):
    rule = {"stage": "train", "signers": {"at_least": 1}, "evidence": evidence}
    return {
        "name": "origins", "version": version, "mode": "enforce",
        "match": {"namespaces": ["ml"]},
        "require": [{"id": "published", "manifest": {}},
                    {"id": "origins", "lineage": {"edges": [rule]}}],
    }


class LineageEvidence(unittest.TestCase):
    # A service for each test: they all speak about the same model.
    def setUp(self):
        self.service = self.enterContext(Pipeline())
        self.version = 0

    def run_assay(self, *arguments, token=None, code=0):
        done = self.service.run("assay", *arguments, token=token, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def demand(self, **evidence):
        self.version += 1
        self.service.activate(policy(self.version, {"anchors": [self.service.anchor], **evidence}))

    def collected(self, name):
        """A dataset that somebody collected; its digest."""
        (self.service.dir / name).write_text(name)
        digest = self.run_assay("hash", name, "-o", "json").stdout
        artifact = json.loads(digest)["artifact"]
        self.state(f"collect-{name}", "collect", artifact, "curator", "--name", "acme/corpus")
        return artifact

    def state(self, name, stage, subject, key, *options, token="ci", code=0):
        self.run_assay("attest", "create", "--stage", stage, "--subject", subject, "--comment", name,
                       "--key", f"keys/{key}.pem", "--out", f"{name}.json", *options)
        return self.run_assay("push", f"{name}.json", token=token, code=code)

    def train(self, name, subject, dataset, *options, seed="seed", **how):
        return self.state(name, "train", subject, "trainer", "--name", "acme/demo", "--input",
                          f"dataset:acme/corpus={dataset}", "--evidence", "simulate",
                          "--simulator-seed", seed, "--evidence-out", f"{name}.evidence.json",
                          *options, **how)

    def decided(self, artifact, code=None):
        done = self.service.run("assay", "decide", "--model", artifact, "--namespace", "ml",
                                "-o", "json", token="ci", check=False)
        self.assertEqual(done.returncode, 0 if code is None else 1, done.stdout + done.stderr)
        decision = json.loads(done.stdout)
        if code is not None:
            self.assertIn(code, json.dumps(decision))
        found = decision.get("decision", decision)
        replayed = self.service.request("POST", f"/v1/decisions/{found['id']}:replay")
        self.assertEqual((replayed[0], replayed[1]["reproduced"]), (200, True), replayed)

    def test_each_step_is_attested(self):
        model = self.service.publish("steps")
        self.train("steps", model, self.collected("corpus-steps"))
        self.demand(type="tdx")
        self.decided(model, "stage-evidence-missing")
        self.run_assay("push", "steps.evidence.json", token="ci")
        self.decided(model)
        self.demand(anchors=["sha256:" + "0" * 64])
        self.decided(model, "stage-anchor-not-accepted")

    def test_a_challenge_bounds_the_age(self):
        model = self.service.publish("fresh")
        dataset = self.collected("corpus-fresh")
        self.run_assay("attest", "challenge", "--out", "challenge.json", token="ci")
        refused = self.train("foreign", model, dataset, "--challenge", "challenge.json",
                             token="other", code=1)
        self.assertIn("challenge-mismatch", refused.stderr)
        self.train("fresh", model, dataset, "--challenge", "challenge.json")
        self.run_assay("push", "fresh.json", token="ci")  # once more, as after a lost answer
        replayed = self.train("replayed", model, dataset, "--challenge", "challenge.json", code=2)
        self.assertIn("challenge-used", replayed.stderr)
        unknown = json.loads((self.service.dir / "challenge.json").read_text())
        unknown["nonce"] = "0" * 64
        (self.service.dir / "unknown.json").write_text(json.dumps(unknown))
        self.assertIn("challenge-unknown", self.train(
            "invented", model, dataset, "--challenge", "unknown.json", code=1).stderr)
        unknown["purpose"] = "spot"
        (self.service.dir / "spot.json").write_text(json.dumps(unknown))
        done = self.service.run("assay", "attest", "create", "--stage", "train", "--subject", model,
                                "--name", "acme/demo", "--challenge", "spot.json", check=False)
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("challenge-mismatch", done.stderr)
        self.run_assay("push", "fresh.evidence.json", token="ci")
        self.demand(made_within_seconds=3600)
        self.decided(model)
        self.train("bare", model, dataset)
        self.run_assay("push", "bare.evidence.json", token="ci")
        self.decided(model, "stage-evidence-not-fresh")

    def test_a_file_of_evidence_is_verified_offline(self):
        model = self.service.publish("offline")
        dataset = self.collected("corpus-offline")
        self.train("offline", model, dataset)
        self.train("another", model, dataset)
        key = ("--key", "keys/trainer.pem.pub")
        full = (*key, "--appraisal", "train.json")
        shown = self.run_assay("attest", "verify", "offline.evidence.json", *full, "--statement",
                               "offline.json").stdout
        self.assertIn("signed by the same key", shown)
        self.assertIn("not the vendor's", shown)
        answer = json.loads(self.run_assay("attest", "verify", "offline.evidence.json", *full,
                                           "-o", "json").stdout)
        self.assertTrue(answer["verified"])
        self.assertFalse(answer["statement_checked"])
        self.assertEqual(answer["anchor"], self.service.anchor)
        self.assertTrue(answer["checks"])
        refused = {
            "stage-evidence-mismatch": (*full, "--statement", "another.json"),
            "untrusted-signer": ("--key", "keys/helper.pem.pub", "--appraisal", "train.json"),
            "PCK_CHAIN_INVALID|ROOT|ANCHOR|COLLATERAL": key,
        }
        for code, options in refused.items():
            done = self.run_assay("attest", "verify", "offline.evidence.json", *options, code=1)
            self.assertRegex(done.stdout + done.stderr, code)
        done = self.run_assay("attest", "verify", "offline.json", *key, "--appraisal", "train.json",
                              code=2)
        self.assertIn("usage", done.stderr)
        envelope = json.loads((self.service.dir / "offline.evidence.json").read_text())
        envelope["signatures"][0]["sig"] = json.loads(
            (self.service.dir / "another.evidence.json").read_text())["signatures"][0]["sig"]
        (self.service.dir / "moved.evidence.json").write_text(json.dumps(envelope))
        self.run_assay("attest", "verify", "moved.evidence.json", *full, code=1)

    def test_evidence_belongs_to_its_statement(self):
        """Of a statement that is not there yet, of another key, and of another statement."""
        model = self.service.publish("own")
        dataset = self.collected("corpus-own")
        self.run_assay("attest", "create", "--stage", "train", "--subject", model, "--name",
                       "acme/demo", "--comment", "unsent", "--key", "keys/trainer.pem", "--out",
                       "unsent.json", "--evidence", "simulate", "--simulator-seed", "seed",
                       "--evidence-out", "unsent.evidence.json")
        self.assertIn("not-found", self.run_assay("push", "unsent.evidence.json", token="ci",
                                                  code=2).stderr)
        self.run_assay("push", "unsent.json", token="ci")
        self.run_assay("push", "unsent.evidence.json", token="ci")
        self.state("helped", "train", model, "helper", "--name", "acme/demo", "--input",
                   f"dataset:acme/corpus={dataset}", "--evidence", "simulate", "--simulator-seed",
                   "seed", "--evidence-out", "helped.evidence.json")
        self.train("stolen", model, dataset)
        helped = json.loads((self.service.dir / "helped.evidence.json").read_text())
        payload = json.loads(base64.b64decode(helped["payload"]))
        stolen = json.loads((self.service.dir / "stolen.evidence.json").read_text())
        other = json.loads(base64.b64decode(stolen["payload"]))
        payload["statement"] = other["statement"]
        (self.service.dir / "payload.json").write_text(json.dumps(payload))
        self.run_assay("sign", "payload.json", "--type",
                       "application/vnd.assay.stage-evidence+json", "--key", "keys/helper.pem",
                       "--out", "foreign.evidence.json", "--yes")
        done = self.run_assay("push", "foreign.evidence.json", token="ci", code=1)
        self.assertIn("stage-evidence-mismatch", done.stderr)

    def test_lineages_that_nobody_can_judge(self):
        """A model that was made from itself, and one whose history is longer than a lineage."""
        model = self.service.publish("circle")
        self.demand(type="tdx")
        self.train("circle", model, model)
        self.run_assay("push", "circle.evidence.json", token="ci")
        self.decided(model, "lineage-cycle")
        deep = self.service.publish("deep")
        steps = [deep, *("assay-tree-v1-sha256:" + f"{number:064x}" for number in range(1, 67))]
        for number, (made, source) in enumerate(zip(steps, steps[1:])):
            self.state(f"deep-{number}", "preprocess" if number else "train", made,
                       "preparer" if number else "trainer", "--name", "acme/demo", "--input",
                       f"dataset:acme/demo={source}")
        self.decided(deep, '"reached": ["depth"]')

    def test_a_statement_of_too_many_inputs(self):
        """Refused before anything is signed, with the place of what is wrong."""
        model = self.service.publish("wide")
        self.run_assay("attest", "create", "--stage", "train", "--subject", model, "--name",
                       "acme/demo", "--input", f"dataset:acme/demo={model}", "--out", "wide.json")
        wide = json.loads((self.service.dir / "wide.json").read_text())
        inputs = wide["predicate"]["inputs"]
        wide["predicate"]["inputs"] = inputs * 20_000
        (self.service.dir / "wide.json").write_text(json.dumps(wide))
        done = self.service.run("assay", "sign", "wide.json", "--yes", "--key", "keys/trainer.pem",
                                "--out", "wide.signed.json", check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "schema-violation.*/predicate/inputs")
        wide["predicate"]["inputs"] = [{**inputs[0], "role": "parent"}]
        (self.service.dir / "wide.json").write_text(json.dumps(wide))
        done = self.service.run("assay", "sign", "wide.json", "--yes", "--key", "keys/trainer.pem",
                                "--out", "wide.signed.json", check=False)
        self.assertRegex(done.stderr, "schema-violation.*/predicate/inputs/0/role")


if __name__ == "__main__":
    unittest.main()
