# SPDX-License-Identifier: Apache-2.0
"""What would be stopped, before anybody signs; and what is, afterwards: pods, decisions, policies."""
import json
import unittest

import nodes
import pods
from chain import Service
from pods import pod


class Impact(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(Service())
        self.service.publish()
        self.service.activate(pods.manifest_policy("plain"))
        self.made = self.service.admit(pod("llm-0"))
        shown = self.service.run("assay", "key", "show", "keys/publisher.pem.pub", "-o", "json").stdout
        self.key = json.loads(shown)["key_id"]

    def ask(self, *command, code=0, token="ci"):
        done = self.service.run("assay", *command, "-o", "json", check=False, token=token)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def test_revocation_before_and_after(self):
        size = self.service.tree_size()
        before = self.ask("impact", "--revoke-key", self.key, code=1)
        self.assertEqual((before["examined"], before["denied"]), (1, 1))
        item = before["items"][0]
        self.assertEqual((item["name"], item["state"]), ("llm-0", "admitted"))
        self.assertEqual(item["after"]["verdict"], "deny")
        self.assertIn("key-revoked", [cause["code"] for cause in before["why"]])
        self.assertEqual(len(before["models"]), 1)
        decisions = self.ask("impact", "--revoke-key", self.key, "--since", "1h", code=1)
        self.assertEqual(decisions["denied"], decisions["examined"])
        self.assertEqual(self.ask("audit", "affected")["items"], [])
        self.assertEqual(self.service.tree_size(), size)
        # The key of somebody else stops nothing.
        shown = self.service.run("assay", "key", "show", "keys/stranger.pem.pub", "-o", "json").stdout
        self.ask("impact", "--revoke-key", json.loads(shown)["key_id"])

        self.service.revoke_key("publisher")
        affected = self.ask("audit", "affected", "--key", self.key, code=1)["items"]
        self.assertEqual([item["uid"] for item in affected], [pods.uid_of(self.made)])
        record = nodes.wait_until("the record of affected pods",
                                  lambda: self.service.records(type="pods.affected"))[0]
        self.assertEqual(record["detail"]["count"], 1)
        self.assertEqual(record["detail"]["pods"][0]["name"], "llm-0")
        # A pod that was deleted is known no more.
        self.service.review(self.made, operation="DELETE")
        self.ask("audit", "affected")

    def test_withdrawal_before_and_after(self):
        status, page = self.service.request("GET", "/v1/manifests")
        self.assertEqual(status, 200, page)
        manifest = page["items"][0]["id"]
        before = self.ask("impact", "--withdraw-statement", manifest, code=1)
        self.assertEqual(before["denied"], 1)
        self.assertIn("statement-withdrawn", [cause["code"] for cause in before["why"]])
        self.service.run("assay", "withdraw", manifest, "--reason", "vulnerable", "--text", "it leaks",
                         "--key", "keys/publisher.pem", "--out", "withdrawal.json")
        self.service.run("assay", "push", "withdrawal.json", token="ci")
        affected = self.ask("audit", "affected", "--statement", manifest, code=1)["items"]
        self.assertEqual([item["uid"] for item in affected], [pods.uid_of(self.made)])
        record = nodes.wait_until("the record of affected pods",
                                  lambda: self.service.records(type="pods.affected"))[0]
        self.assertEqual(record["detail"]["pods"][0]["name"], "llm-0")

    def test_policy_is_compared_activated_and_taken_back(self):
        newer = pods.manifest_policy("plain", version=2, signers={"at_least": 2})
        (self.service.dir / "newer.json").write_text(json.dumps(newer))
        found = self.ask("policy", "diff", "newer.json", "--since", "1d", code=1)
        self.assertEqual(found["undecided"], {})
        self.assertGreater(found["denied"], 0)
        self.assertIn("published", [cause["condition"] for cause in found["why"]])
        self.ask("impact", "--activate", "newer.json", code=1)
        same = pods.manifest_policy("plain", version=2)
        (self.service.dir / "same.json").write_text(json.dumps(same))
        self.assertEqual(self.ask("policy", "diff", "same.json", "--since", "1d")["denied"], 0)

        self.service.activate(newer)
        self.assertFalse(self.service.review(pods.stored(pod("llm-1"))).allowed)
        alone = ("assay", "policy", "rollback", "plain", "--key", "keys/approver.pem")
        self.assertEqual(self.service.run(*alone, token="desk", check=False).returncode, 2)  # no --yes
        done = self.service.run(*alone, "--yes", token="desk")
        self.assertIn("plain version 1 is in force", done.stdout)
        self.assertIn("require[published]", done.stderr)
        self.assertTrue(self.service.review(pods.stored(pod("llm-2"))).allowed)
        # One person alone takes nothing back.
        self.service.activate({**newer, "version": 3})
        refused = self.service.run("assay", "policy", "rollback", "plain", "--key", "keys/author.pem",
                                   "--yes", token="desk", check=False)
        self.assertEqual(refused.returncode, 1, refused.stderr)

    def test_rollback_takes_what_was_in_force(self):
        self.service.activate({**pods.manifest_policy("plain", version=3), "description": "newer"})
        # Stored, signed by its author, and approved by nobody.
        (self.service.dir / "never.json").write_text(json.dumps(
            {**pods.manifest_policy("plain", version=2), "mode": "warn"}))  # fmt: skip
        for command in (("sign", "never.json", "--yes", "--key", "keys/author.pem", "--out",
                         "never.signed.json"), ("push", "never.signed.json")):  # fmt: skip
            self.service.run("assay", *command, token="desk")
        rollback = ("assay", "policy", "rollback", "plain", "--key", "keys/approver.pem", "--yes")
        refused = self.service.run(*rollback, "--to", "2", token="desk", check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("never in force", refused.stderr)
        done = self.service.run(*rollback, token="desk")
        self.assertIn("plain version 1 is in force", done.stdout)


if __name__ == "__main__":
    unittest.main()
