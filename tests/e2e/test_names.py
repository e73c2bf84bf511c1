# SPDX-License-Identifier: Apache-2.0
"""Names in the place of ids: questions of people, each one command, against a service with 200
decisions."""
import json
import unittest

import harness


class Names(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        class Service(harness.Service):
            def _extend(self):
                self.key("evaluator-2", "signer", "eva", "--role", f"approve:{harness.LIFECYCLE}:acme")
                self.key("author", "author", "ada")
                self.key("approver", "approver", "abe")
                self.principal("all", "admin", "auditor", "reader", "decider", "submitter",
                               "policy-author", "policy-approver")

        cls.service = Service().__enter__()
        cls.addClassCleanup(cls.service.__exit__)
        folder = cls.service.dir
        for name in ("demo", "twice", "twice2"):
            (folder / name).mkdir()
            (folder / name / "a").write_text(name)
            cls.assay("manifest", "create", name, "--name", "acme/" + name.rstrip("2"), "--key",
                      "keys/publisher.pem", "--out", f"{name}.json")
            cls.assay("push", f"{name}.json")
        for key, stage, value in (("evaluator", "evaluate", "--metric=accuracy=0.93"),
                                  ("evaluator-2", "approve", "--parameter=risk=low")):
            cls.assay("attest", "create", "--stage", stage, "--subject", "demo.json", value, "--key",
                      f"keys/{key}.pem", "--out", f"{stage}.json")
            cls.assay("push", f"{stage}.json")
        (folder / "policy.json").write_text(json.dumps({
            "name": "prod", "version": 1, "mode": "enforce", "match": {"accelerators": "any"},
            "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}}]}))
        cls.assay("sign", "policy.json", "--yes", "--key", "keys/author.pem", "--out", "p.json")
        cls.assay("policy", "push", "p.json")
        connection = cls.service.connect()
        body = json.dumps({"point": "create", "model": "acme/demo", "workload": {
            "namespace": "prod", "labels": {}, "resources": ["nvidia.com/gpu"]}})
        cls.assay("policy", "activate", "prod", "--without-tests", "--yes", "--key", "keys/approver.pem")
        for _ in range(200):
            status, answer = cls.service.request("POST", "/v1/decisions", body, "all", connection)
            assert status in (200, 201), answer
        connection.close()

    @classmethod
    def assay(cls, *arguments, code=0):
        done = cls.service.run("assay", *arguments, token="all", check=False)
        assert done.returncode == code, (arguments, done.stdout, done.stderr)
        cls.err = done.stderr
        return done.stdout

    def test_models(self):
        model = json.loads(self.assay("get", "acme/demo"))
        self.assertEqual(model["names"], ["acme/demo"])
        self.assertEqual(self.assay("search", "--subject", "acme/demo", "-q").count("attestation"), 2)
        self.assay("audit", "affected", "--artifact", "acme/demo", "--key", "release")
        self.assay("audit", "affected", "--artifact", "acme/twice", code=2)
        self.assertIn("model-reference-ambiguous", self.err)
        self.assay("audit", "affected", "--key", "eva", code=2)
        self.assertIn("Several keys have this identity", self.err)
        self.assertEqual(self.assay("job", "list", "--artifact", "acme/demo", "-o", "json").count("[]"), 1)
        self.assay("job", "list", "--artifact", "acme/dmo", code=2)
        self.assertIn("did you mean 'acme/demo'?", self.err)
        found = json.loads(self.assay("decision", "list", "--subject", "acme/demo", "-o", "json"))
        self.assertEqual((len(found["items"]), found["total"]), (100, 200))

    def test_a_name_with_several_candidates_is_refused_and_lists_them(self):
        self.assay("get", "acme/twice", code=2)
        self.assertIn("model-reference-ambiguous", self.err)
        self.assertEqual(self.err.count("assay-tree-v1-sha256:"), 2)
        self.assay("impact", "--revoke-key", "eva", code=2)
        self.assertIn("Several keys have this identity", self.err)
        self.assertEqual(self.err.count("sha256:"), 2)

    def test_a_mistyped_name_is_answered_with_those_that_are_near(self):
        for arguments, meant in ((("get", "acme/dmo"), "acme/demo"),
                                 (("search", "--signer", "evva"), "eva"),
                                 (("impact", "--without-signer", "relaese"), "release"),
                                 (("policy", "deactivate", "prdo", "--key", "keys/approver.pem"), "prod")):
            with self.subTest(arguments=arguments):
                self.assay(*arguments, code=2)
                self.assertIn(f"did you mean '{meant}'?", self.err)

    def test_tests_of_a_ready_policy_about_ones_own_model(self):
        ready = (harness.ROOT / "docs/policies/signed-model.json").read_text()
        folder = self.service.dir
        (folder / "signed-model.json").write_text(
            ready.replace("release@acme.example", "release").replace("prod-*", "prod"))
        suite = harness.ROOT / "docs/policies/signed-model.tests.json"
        cases = json.loads(self.assay("policy", "test", "signed-model.json", "--facts", str(suite),
                                      "--from", "acme/demo", "--save", "own.json", "-o", "json"))["cases"]
        self.assertIn("left out: another directory is mounted: its change does not fit", self.err)
        self.assertIn("published by somebody else", [case["name"] for case in cases])
        self.assertEqual([case["name"] for case in cases if not case["as_expected"]], [])
        saved = json.loads((folder / "own.json").read_text())
        self.assertEqual((saved["facts"]["name"], len(saved["cases"])), ("acme/demo", len(cases)))
        # What was saved needs no service; without a suite the decision itself is the case.
        self.assay("policy", "test", "signed-model.json", "--facts", "own.json")
        self.assertIn("1 case, 0 not as expected",
                      (self.assay("policy", "test", "signed-model.json", "--from", "acme/demo"), self.err)[1])
        self.assay("policy", "test", "signed-model.json", "--from", "acme/demo", "--expect", "deny", code=1)
        self.assay("policy", "test", "signed-model.json", "--from", "acme/nobody", code=2)
        self.assertIn("Nobody asked about this model yet", self.err)
        self.assay("policy", "test", "signed-model.json", "--save", "own.json", code=2)

    def test_who_approved_a_model_with_which_value(self):
        text = self.assay("attest", "list", "acme/demo", "--stage", "approve")
        self.assertRegex(text.splitlines()[1], r"^approve +eva +risk low +20")
        text = self.assay("attest", "list", "acme/demo")
        self.assertRegex(text, r"(?m)^evaluate +eva +accuracy 0.93 ")
        shown = json.loads(self.assay("attest", "list", "acme/demo", "--stage", "evaluate", "-o", "json"))
        self.assertEqual(shown["items"][0]["predicate"]["metrics"]["accuracy"]["value"], 0.93)
        text = self.assay("attest", "show", shown["items"][0]["id"])
        self.assertRegex(text, r"(?m)^value +accuracy 0.93$")

    def test_a_person_signed_and_holds_up(self):
        text = self.assay("search", "--signer", "eva", "-q")
        self.assertEqual(len(text.splitlines()) - 1, 2, text)
        self.assertEqual(len(self.assay("search", "--signer", "release", "-q").splitlines()) - 1, 3)
        held = json.loads(self.assay("impact", "--without-signer", "release", "--since", "1d", "-o",
                                     "json", code=1))
        self.assertEqual(held["denied"], 200)
        self.assay("impact", "--without-signer", "eva", "--since", "1d")
        self.assertIn("eva: 2 keys", self.err)

    def test_policies(self):
        self.assay("policy", "deactivate", "prod", "--out", "off.json", "--sequence", "9")
        off = json.loads((self.service.dir / "off.json").read_text())
        stored = json.loads(self.assay("policy", "list", "-o", "json"))["items"][0]["id"]
        self.assertEqual((off["action"], off["policy"]), ("deactivate", stored))

    def test_a_policy_is_fetched_by_its_name(self):
        stored = json.loads(self.assay("policy", "list", "--name", "prod", "-o", "json"))["items"][0]["id"]
        self.assertEqual(self.assay("get", "prod"), self.assay("get", stored))
        self.assay("get", "prod", "--envelope", "--out", "got.json")
        self.assertIn(stored, self.assay("review", "got.json", "-o", "json"))
        self.assay("get", "prdo", code=2)
        self.assertIn("did you mean 'prod'?", self.err)
        for version in (1, 2):
            (self.service.dir / "twin.json").write_text(json.dumps({
                "name": "twin", "version": version, "mode": "shadow", "match": {"accelerators": "any"},
                "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}}]}))
            self.assay("sign", "twin.json", "--yes", "--key", "keys/author.pem", "--out", "twin.signed.json")
            self.assay("policy", "push", "twin.signed.json")
        self.assay("get", "twin", code=2)
        for part in ("several versions", "version 1 sha256:", "version 2 sha256:"):
            self.assertIn(part, self.err)

    def test_a_decision_is_words(self):
        self.assay("decide", "--model", "acme/none", "--namespace", "prod", "--resource",
                   "nvidia.com/gpu", code=1)
        done = self.service.run("assay", "decide", "--model", "acme/none", "--namespace", "prod",
                                "--resource", "nvidia.com/gpu", token="all", check=False)
        self.assertIn("No manifest by a trusted publisher names this model", done.stdout)
        self.assertNotRegex(done.stdout, r'[{}"]')


if __name__ == "__main__":
    unittest.main(verbosity=2)
