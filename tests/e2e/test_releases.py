# SPDX-License-Identifier: Apache-2.0
"""What a bare model name means as releases come and go, and what follows from a withdrawal: with the
command line, and in the reviews of pods."""
import json
import unittest

import pods
from chain import Service
from pods import pod

MODEL = "acme/versioned"
NAMESPACE = "releases"
LIFECYCLE = "https://assay.dev/lifecycle/v1"


class Releases(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        for version in ("v1", "v2"):
            directory = cls.service.dir / f"model-{version}"
            directory.mkdir()
            (directory / "config.json").write_text(version)
            cls.service.sign_manifest(version, "--location", f"pvc://{NAMESPACE}/{version}",
                                      model=MODEL, directory=f"model-{version}")
        cls.service.activate(pods.manifest_policy(
            "released", [NAMESPACE], signers={"at_least": 1, "identities": ["release"]},
            names={"resolve": "release"}))

    def release(self, model, version, supersedes, key="publisher"):
        """Creates, signs and pushes a release; its id."""
        self.service.run("assay", "release", "create", f"{model}.signed.json", version,
                         "--supersedes", supersedes, "--key", f"keys/{key}.pem", "--out",
                         f"{key}-{version}.json", token="ci")
        pushed = self.service.run("assay", "push", f"{key}-{version}.json", token="ci")
        return pushed.stdout.strip()

    def withdraw(self, statement, key="publisher", check=True):
        self.service.run("assay", "withdraw", statement, "--reason", "vulnerable", "--text",
                         "it leaks", "--key", f"keys/{key}.pem", "--out", "withdrawal.json")
        return self.service.run("assay", "push", "withdrawal.json", token="ci", check=check)

    def said(self, claim):
        """What creation says of a pod that names the model and mounts one of its versions."""
        return self.service.review(pods.stored(pod("llm", MODEL, NAMESPACE, claim=claim)))

    def expect_newest(self, claim):
        said = self.said(claim)
        self.assertTrue(said.allowed, said.text)
        other = self.said("v1" if claim == "v2" else "v2")
        self.assertFalse(other.allowed)
        self.assertRegex(other.text, "volume-unaccounted|reference-unbound")

    def admitted(self, claim):
        """A pod that was admitted by the bare name, and mounts what it stood for."""
        return self.service.admit(pods.stored(pod("early", MODEL, NAMESPACE, claim=claim)))

    def expect_bound(self, made):
        """A name stands for a model at the creation alone: later releases move no pod."""
        bound = self.service.bind(made)
        self.assertTrue(bound.allowed, bound.text)

    def expect_refused(self, code):
        for claim in ("v1", "v2"):
            said = self.said(claim)
            self.assertFalse(said.allowed)
            self.assertIn(code, said.text)

    def releases(self):
        listed = self.service.run("assay", "release", "list", MODEL, "-o", "json", token="ci")
        return json.loads(listed.stdout)

    def test_names_follow_the_releases(self):
        self.expect_refused("release-missing")
        first = self.release("v1", "1.0.0", "none")
        self.expect_newest("v1")
        admitted = self.admitted("v1")
        second = self.release("v2", "2.0.0", "auto")
        self.expect_newest("v2")
        self.expect_bound(admitted)
        self.assertEqual(self.releases()["newest"], second)
        shown = self.service.run("assay", "release", "show", second, token="ci").stdout
        self.assertIn("2.0.0", shown)
        self.assertIn(first, shown)

        self.release("v1", "9.9.9", second, key="publisher-2")  # whom the policy does not list
        self.expect_newest("v2")

        admitted = self.admitted("v2")
        fork = self.release("v1", "1.0.1", first)
        self.expect_refused("release-forked")
        self.expect_bound(admitted)
        self.assertEqual(sorted(self.releases()["fork"]), sorted([second, fork]))
        refused = self.withdraw(fork, key="publisher-2", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("role-not-granted", refused.stdout + refused.stderr)
        self.withdraw(fork)
        self.expect_newest("v2")

        admitted = self.admitted("v2")
        self.withdraw(second)
        self.expect_newest("v1")
        self.expect_bound(admitted)
        self.assertIn("withdrawn: vulnerable", self.service.run(
            "assay", "release", "list", MODEL, token="ci").stdout)

        # Older versions stay what they are, by their artifact.
        by_id = f"{MODEL}@{self.service.artifact_of('v2')}"
        said = self.service.review(pods.stored(pod("llm", by_id, NAMESPACE, claim="v2")))
        self.assertTrue(said.allowed, said.text)

    def test_a_believed_release_is_no_way_around_a_condition(self):
        """Whoever releases decides what the name stands for, and nothing else."""
        for version in ("v1", "v2"):
            directory = self.service.dir / f"gated-{version}"
            directory.mkdir()
            (directory / "config.json").write_text(f"gated {version}")
            self.service.sign_manifest(f"gated-{version}", "--location", f"pvc://gated/{version}",
                                       model="acme/gated", directory=f"gated-{version}")
        self.service.run("assay", "attest", "create", "--stage", "evaluate", "--subject",
                         "gated-v1.json", "--metric", "accuracy=0.9", "--key",
                         "keys/evaluator.pem", "--out", "gated.json")
        self.service.run("assay", "push", "gated.json", token="ci")
        policy = pods.manifest_policy("gated", ["gated"], names={"resolve": "release"},
                                      signers={"at_least": 1, "identities": ["release"]})
        policy["require"].append({"id": "evaluated", "statement": {
            "predicate_type": LIFECYCLE, "stage": "evaluate"}})
        self.service.activate(policy)
        made = {version: pods.stored(pod("llm", "acme/gated", "gated", claim=version))
                for version in ("v1", "v2")}
        self.release("gated-v1", "1.0.0", "none")
        said = self.service.review(made["v1"])
        self.assertTrue(said.allowed, said.text)
        self.release("gated-v2", "2.0.0", "auto")
        for version in ("v1", "v2"):  # nor does the name fall back to what would pass
            said = self.service.review(made[version])
            self.assertFalse(said.allowed)
            self.assertIn("statement-missing", said.text)

    def test_withdrawn_statement_denies_the_next_review(self):
        self.service.sign_manifest("judged", "--location", "pvc://judged/models",
                                   model="acme/judged", directory="model-v1")
        self.service.run("assay", "attest", "create", "--stage", "evaluate", "--subject",
                         "judged.json", "--metric", "accuracy=0.9", "--key", "keys/evaluator.pem",
                         "--out", "evaluation.json")
        evaluation = self.service.run("assay", "push", "evaluation.json", token="ci").stdout.strip()
        policy = pods.manifest_policy("judged", ["judged"])
        policy["require"].append({"id": "evaluated", "statement": {
            "predicate_type": LIFECYCLE, "stage": "evaluate"}})
        self.service.activate(policy)
        made = pods.stored(pod("judged", "acme/judged", "judged"))
        admitted = self.service.admit(made)
        self.withdraw(evaluation, key="evaluator")
        bound = self.service.bind(admitted)
        self.assertFalse(bound.allowed)
        self.assertIn("statement-withdrawn", bound.text)
        status, page = self.service.request("GET", "/v1/withdrawals")
        self.assertEqual(status, 200)
        self.assertIn(evaluation, [one["statement"] for one in page["items"]])
        status, view = self.service.request("GET", f"/v1/attestations/{evaluation}")
        self.assertEqual((status, view["withdrawn"]["by"]), (200, ["eva"]))

    def test_two_operators_withdraw_what_others_signed(self):
        pushed = self.service.sign_manifest("taken", "--location", "pvc://taken/models",
                                            model="acme/taken", directory="model-v2")
        manifest = json.loads(pushed.stdout)["items"][0]["id"]
        self.service.activate(pods.manifest_policy("taken", ["taken"]))
        made = pod("taken", f"acme/taken@{self.service.artifact_of('taken')}", "taken")
        admitted = self.service.admit(made)
        self.service.change_trust("--withdraw", manifest, "--withdraw-reason", "licence",
                                  "--reason", "no licence")
        bound = self.service.bind(admitted)
        self.assertFalse(bound.allowed)
        self.assertRegex(bound.text, "statement-withdrawn|reference-unbound")
        again = self.service.review(pods.stored(made))
        self.assertFalse(again.allowed)


if __name__ == "__main__":
    unittest.main()
