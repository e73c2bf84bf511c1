# SPDX-License-Identifier: Apache-2.0
"""Questions of operators and auditors, each with one command, to a service with 200 decisions
(docs/questions.md)."""
import json
import re
import time
import unittest

import harness
import pods
from chain import Service
from pods import pod

MODEL = pods.MODEL
NAMESPACE = "prod"
DATASET = "acme/corpus"
LIFECYCLE = "https://assay.dev/lifecycle/v1"


class WithTrainer(Service):
    def _extend(self):
        super()._extend()
        self.key("trainer", "signer", "tina", "--role", f"train:{LIFECYCLE}:acme")


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = service = cls.enterClassContext(WithTrainer())
        for name in ("model", "corpus"):
            (service.dir / name).mkdir()
            (service.dir / name / "config.json").write_text(name)
        service.sign_manifest("model", "--location", "pvc://prod/models", directory="model")
        service.sign_manifest("corpus", model=DATASET, directory="corpus")
        cls.push_stage("train", "model.signed.json", "--input", f"dataset:{DATASET}=corpus.signed.json")
        service.activate(pods.manifest_policy("published", [NAMESPACE]))
        for number in range(200):
            known = number % 4 != 0
            said = service.review(pods.stored(pod(
                f"{'llm' if known else 'stray'}-{number}", MODEL if known else "acme/nobody", NAMESPACE)))
            assert said.allowed == known, said.text

    @classmethod
    def push_stage(cls, stage, subject, *options):
        cls.service.run("assay", "attest", "create", "--stage", stage, "--subject", subject, *options,
                        "--key", "keys/trainer.pem", "--out", f"{stage}.json")
        cls.service.run("assay", "push", f"{stage}.json", token="ci")

    def ask(self, *command, token="ci", code=0):
        began = time.monotonic()
        done = self.service.run("assay", *command, token=token, check=False)
        print(f"  {1000 * (time.monotonic() - began):5.0f} ms  assay {' '.join(command)}")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        # One screen of a wide terminal, the head of the table included.
        self.assertLessEqual(len(done.stdout.splitlines()), 60)
        return done.stdout, done.stderr

    def test_which_pods_were_refused_why_who_asked_from_which_cluster(self):
        out, err = self.ask("decision", "list", "--verdict", "deny", "--since", "1d")
        self.assertIn("50 decisions", err)
        line = next(line for line in out.splitlines() if " stray-196 " in line)
        for part in ("deny", NAMESPACE, "kube-apiserver", "model-reference-missing"):
            self.assertIn(part, line)

    def test_filters(self):
        items = {}
        for name, options in {
                "pod": ("--pod", "stray-8"), "pods": ("--pod", "stray-"), "user": ("--user", "nobody"),
                "cluster": ("--cluster", "kube-apiserver", "--verdict", "deny"), "other": ("--cluster", "other"),
                "model": ("--model", MODEL), "both": ("--pod", "llm-", "--verdict", "deny")}.items():
            out = self.service.run("assay", "decision", "list", *options, "--all", "-o", "json", token="ci").stdout
            items[name] = len(json.loads(out)["items"])
        self.assertEqual(items, {"pod": 1, "pods": 50, "user": 0, "cluster": 50, "other": 0, "model": 150,
                                 "both": 0})

    def test_pages_of_a_filter_are_whole(self):
        seen, cursor = [], ""
        while True:
            status, page = self.service.request("GET", f"/v1/decisions?pod=stray-&limit=7{cursor}")
            self.assertEqual(status, 200)
            seen += [item["id"] for item in page["items"]]
            if "next_cursor" not in page:
                break
            cursor = "&cursor=" + page["next_cursor"]
        self.assertEqual(len(set(seen)), 50)
        self.assertEqual(len(seen), 50)
        for query in ("pod=", "user=%00", "cluster=%20", "model=Not/A/Name"):
            self.assertEqual(self.service.request("GET", "/v1/decisions?" + query)[0], 400, query)

    def test_which_operators_made_this_change_of_trust(self):
        self.service.change_trust("--remove-principal", "orchestrator")
        out, _ = self.ask("audit", "events", "--type", "trust.changed")
        self.assertIn("olga, omar", out)

    def test_who_wrote_and_who_approved_a_policy(self):
        out, _ = self.ask("policy", "list", "--name", "published")
        self.assertRegex(out, r"published +1 +yes +paula +quentin")
        out, _ = self.ask("audit", "events", "--type", "policy.")
        self.assertRegex(out, r"policy.accepted +\S+ +paula")
        self.assertRegex(out, r"policy.activated +\S+ +quentin")

    def test_dataset_is_withdrawn(self):
        _, err = self.ask("impact", "--without-artifact", DATASET)
        self.assertIn("made from it: " + MODEL, err)
        self.assertIn("no policy in force asks", err)

    def test_co_signing_shows_the_change(self):
        path = self.service.dir / "spare.json"
        path.write_text(json.dumps({"id": "spare", "node": "spare-1", "principal": "worker-1",
                                    "nodes_per_platform": 1}))
        self.service.run("assay", "trust", "change", "--register", "spare.json", "--sequence", "auto", "--out",
                         "spare.change.json", token="admin")
        self.service.run("assay", "sign", "spare.change.json", "--key", "keys/operator-1.pem", "--out",
                         "spare.signed.json", token="admin")
        _, err = self.ask("sign", "spare.signed.json", "--key", "keys/operator-2.pem", "--out",
                          "spare.signed.json", token="admin")
        for part in ('the caller "worker-1" may enrol the node "spare-1"', "on any platform",
                     "Compared with what is trusted now, says the service", "nodes may enrol anew"):
            self.assertIn(part, err)

    def test_prove_a_decision_offline(self):
        listed = json.loads(self.service.run(
            "assay", "decision", "list", "--limit", "1", "-o", "json", token="ci").stdout)
        self.ask("decision", "export", listed["items"][0]["id"], "--out", "one.export")
        out, _ = self.ask("verify", "one.export", "--verifier-key-file", "log.vkey", token=None)
        self.assertIn("the verdict follows", out)

    def test_why_and_what_another_policy_would_have_said(self):
        listed = json.loads(self.service.run(
            "assay", "decision", "list", "--pod", "stray-8", "-o", "json", token="ci").stdout)
        out, _ = self.ask("decision", "show", listed["items"][0]["id"])
        self.assertIn("The workload names no model that is known", out)
        self.ask("decision", "export", listed["items"][0]["id"], "--out", "stray.export")
        policy = {**pods.manifest_policy("loose", [NAMESPACE]), "version": 2, "mode": "warn"}
        (self.service.dir / "loose.json").write_text(json.dumps(policy))
        out, _ = self.ask("policy", "test", "loose.json", "--facts", "stray.export", token=None)
        self.assertRegex(out, r"policy loose v2 \(warn\)")

    def test_key_goes_or_policy_comes_into_force(self):
        out, err = self.ask("impact", "--revoke-key", "release", "--since", "1d", "--limit", "40", code=1)
        self.assertIn("150", out + err)
        policy = pods.manifest_policy("published", [NAMESPACE])
        policy = {**policy, "version": 2}
        policy["require"][0]["manifest"]["signers"]["at_least"] = 2
        (self.service.dir / "two.json").write_text(json.dumps(policy))
        out, err = self.ask("impact", "--activate", "two.json", "--since", "1d", "--limit", "40", code=1)
        self.assertIn("150", out + err)

    def test_pages_name_verbs_that_there_are(self):
        for page in ("questions", "coming-from"):
            for command in re.findall(r"`assay ([^`]*)`", (harness.ROOT / f"docs/{page}.md").read_text()):
                verb = re.match(r"[a-z-]+(?: [a-z]+)*", command)[0].split()
                with self.subTest(page + ": " + command):
                    self.service.run("assay", "help", *verb)

    def test_is_it_healthy_and_what_ends_next(self):
        out, _ = self.ask("status", token="ci")
        self.assertIn("ready", out)


if __name__ == "__main__":
    unittest.main()
