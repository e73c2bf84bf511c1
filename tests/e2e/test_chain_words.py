# SPDX-License-Identifier: Apache-2.0
"""Attacks on what people rely on: a receipt of one's own, and words for what one signs."""
import json
import unittest

from chain import Said, Service, rows_of, said_by

# Case, attack, code, neighbour.
TABLE = (
    (16, "receipt_of_another_record", "own record", "receipt_of_the_first"),
    (17, "weaker_policy", "warn", "same_policy"),
    (17, "role_for_every_model", "every model", "role_for_one_name"),
)


@rows_of(TABLE)
class Words(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        cls.artifact = cls.service.publish()

    # 16: each signature has its record

    def push(self, name):
        done = self.service.run("assay", "push", name, "-o", "json", token="ci")
        return json.loads(done.stdout)["items"][0]

    def receipt_of_another_record(self):
        """The second signer's receipt leads to his own record, and the log holds to it."""
        first = self.push("a.signed.json")
        self.service.run("assay", "sign", "a.signed.json", "--key", "keys/publisher-2.pem",
                         "--out", "a.both.json")
        second = self.push("a.both.json")
        same = first["log"]["index"] == second["log"]["index"]
        return Said(same, f"own record: {second['log']['index']}")

    def receipt_of_the_first(self):
        self.service.run("assay", "push", "a.both.json", "-o", "json", "--quiet", token="ci")
        (self.service.dir / "receipt.json").write_text(
            self.service.run("assay", "push", "a.both.json", "-o", "json", token="ci").stdout)
        self.service.run("assay", "log", "mirror", "mirror", "--verifier-key-file", "log.vkey",
                         token="ci")
        return said_by(self.service.run("assay", "log", "verify", "mirror", "--verifier-key-file",
                                        "log.vkey", "--receipt", "receipt.json", check=False))

    # 17: what an operator, author or approver sees before signing

    def reviewed(self, name, against):
        """Goes through when the review warns of nothing."""
        done = self.service.run("assay", "review", name, "--against", against, "-o", "json")
        shown = json.loads(done.stdout)
        warned = bool(shown["flags"]) or any("flag" in change for change in shown["changes"])
        return Said(not warned, done.stdout)

    def policy(self, name, version, mode):
        document = {"name": "seen", "version": version, "mode": mode,
                    "match": {"accelerators": "any"},
                    "require": [{"id": "published", "manifest": {}}]}
        (self.service.dir / name).write_text(json.dumps(document))

    def weaker_policy(self):
        self.policy("strong.json", 1, "enforce")
        self.policy("weak.json", 2, "warn")
        return self.reviewed("weak.json", "strong.json")

    def same_policy(self):
        self.policy("same.json", 2, "enforce")
        return self.reviewed("same.json", "strong.json")

    def role_for(self, namespace, name):
        """A change that trusts a new publisher with the names of `namespace`."""
        self.service.run("assay", "key", "new", "--out", f"{name}.pem")
        self.service.run("assay", "key", "describe", f"{name}.pem.pub", "--purpose", "publisher",
                         "--identity", name, "--not-after", "2030-01-01T00:00:00Z", "--namespace",
                         namespace, "--out", f"{name}.json")
        self.service.run("assay", "trust", "change", "--add-key", f"{name}.json", "--sequence",
                         "auto", "--out", f"{name}.change.json", token="admin")
        (self.service.dir / "trust.json").write_text(
            self.service.run("assay", "trust", "show", "-o", "json", token="admin").stdout)
        # Any new role is marked; what counts here is whether it is said to be for all models.
        shown = self.reviewed(f"{name}.change.json", "trust.json").text
        warned = any("every model" in flag for flag in json.loads(shown)["flags"])
        return Said(not warned, shown)

    def role_for_every_model(self):
        return self.role_for("*", "wide")

    def role_for_one_name(self):
        return self.role_for("acme", "narrow")


if __name__ == "__main__":
    unittest.main()
