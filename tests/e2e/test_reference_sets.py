# SPDX-License-Identifier: Apache-2.0
"""Lists that policies share: signed, approved, changed and taken back like policies."""
import json
import unittest

import pods
from chain import Service
from pods import pod


def people(version, *values, kind="identities"):
    return {"name": "publishers", "version": version, "kind": kind, "values": list(values)}


class ReferenceSets(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(Service())
        self.service.publish()
        self.publisher = "release"
        self.policy = pods.manifest_policy("plain", signers={"identities": ["set:publishers"]})

    def ask(self, *command, code=0, token="desk"):
        done = self.service.run("assay", *command, "-o", "json", check=False, token=token)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def write(self, name, document):
        (self.service.dir / name).write_text(json.dumps(document))
        return name

    def admits(self, name):
        return self.service.review(pods.stored(pod(name)))

    def test_set_is_shared_changed_and_taken_back(self):
        self.service.activate(people(1, self.publisher, "somebody@acme.example"))
        self.service.activate(self.policy)
        self.assertTrue(self.admits("llm-0").allowed)
        names = [item["name"] for item in self.ask("policy", "list", "--active")["items"]]
        self.assertEqual(sorted(names), ["plain", "set:publishers"])

        newer = self.write("newer.json", people(2, "somebody@acme.example"))
        before = self.ask("policy", "diff", newer, "--since", "1d", code=1)
        self.assertEqual(before["undecided"], {})
        self.assertIn("published", [cause["condition"] for cause in before["why"]])
        self.assertEqual(self.ask("impact", "--activate", newer, code=1)["denied"], 1)
        self.service.activate(people(2, "somebody@acme.example"))
        self.assertFalse(self.admits("llm-1").allowed)

        # What was decided before is replayed with the values of then.
        for decision in self.ask("decision", "list", token="ci")["items"]:
            self.assertTrue(self.ask("decision", "replay", decision["id"], token="ci")["reproduced"])

        done = self.service.run("assay", "policy", "rollback", "set:publishers", "--yes", "--key",
                                "keys/approver.pem", token="desk")
        self.assertIn("set:publishers version 1 is in force", done.stdout)
        self.assertTrue(self.admits("llm-2").allowed)

    def test_set_in_use_stays(self):
        self.service.activate(people(1, self.publisher))
        self.service.activate(self.policy)
        item = self.ask("policy", "list", "--name", "set:publishers", "--active")["items"][0]
        refused = self.service.run("assay", "policy", "deactivate", item["id"], "--key",
                                   "keys/approver.pem", token="desk", check=False)
        self.assertEqual(refused.returncode, 2, refused.stdout + refused.stderr)
        self.assertIn("set:publishers", refused.stdout + refused.stderr)
        with self.assertRaises(Exception):
            self.service.activate(people(2, "MIT", kind="licences"))
        self.assertTrue(self.admits("llm-0").allowed)

    def test_before_anybody_signs(self):
        policy = self.write("policy.json", self.policy)
        found = self.ask("policy", "lint", policy)["findings"]
        self.assertIn(("reference-set-missing", "/require/0/manifest/signers/identities/0"),
                      [(one["code"], one["where"]) for one in found])
        wrong = self.write("wrong.json", people(1, "MIT", kind="licences"))
        self.ask("policy", "lint", policy, "--set", wrong, code=1)
        good = self.write("good.json", people(1, self.publisher))
        found = self.ask("policy", "lint", policy, "--set", good)["findings"]
        self.assertFalse([one for one in found if one["code"].startswith("reference-set")])
        self.assertEqual(self.ask("policy", "lint", good)["name"], "set:publishers")
        self.ask("policy", "lint", self.write("bad.json", people(1, "set:others")), code=1)
        shown = self.service.run("assay", "review", good, token="desk").stdout
        self.assertIn('reference set "publishers" version 1', shown)
        self.assertIn(self.publisher, shown)


if __name__ == "__main__":
    unittest.main()
