# SPDX-License-Identifier: Apache-2.0
"""assay release create --supersedes auto: which release a new one follows."""
import json

import harness
import served
from harness import TROUBLE
from reference import dsse
from tls_server import Answer

ARTIFACT = "assay-tree-v1-sha256:" + "11" * 32
ENVELOPE = "application/vnd.dsse.envelope.v1+json"


def ident(number):
    return f"sha256:{number:064x}"


def released(number, before, *identities, revoked=(), **members):
    """A release in the list of the service."""
    release = {"name": "acme/demo", "version": f"{number}.0.0"}
    if before:
        release["supersedes"] = ident(before)
    signers = [{"key_id": ident(900 + at), "identity": who, "log_index": number}
               | ({"revoked_at": "2026-03-01T00:00:00Z"} if who in revoked else {})
               for at, who in enumerate(identities)]  # fmt: skip
    return {"id": ident(number), "artifact": ARTIFACT, "release": release, "signers": signers, **members}


class Releases(served.TestCase):
    def setUp(self):
        super().setUp()
        self.key("author")
        self.key("publisher")

    def policy(self, name, *identities, resolve="release"):
        """A policy in force that believes these people; its item in the list of the service."""
        self.write_json(f"{name}.json", {
            "name": name, "version": 1, "mode": "enforce", "match": {"namespaces": ["prod"]},
            "names": {"resolve": resolve},
            "require": [{"id": "published", "manifest": {"signers": {
                "at_least": 1, "identities": list(identities)}}}]})  # fmt: skip
        made = self.assay("sign", f"{name}.json", "--key", "author.pem", "--out", f"{name}.signed.json",
                          "-o", "json").json()  # fmt: skip
        self.answer("GET", f"/v1/policies/{made['id']}",
                    Answer(200, (self.dir / f"{name}.signed.json").read_bytes(), ENVELOPE))  # fmt: skip
        return {"id": made["id"], "name": name}

    def create(self, releases, policies, code=0):
        self.answer("GET", "/v1/attestations", Answer(200, {"items": releases}))
        self.answer("GET", "/v1/policies", Answer(200, {"items": policies}))
        return self.assay("release", "create", ARTIFACT, "9.0.0", "--name", "acme/demo", "--supersedes",
                          "auto", "--key", "publisher.pem", "--out", "release.json", *self.to,
                          code=code)  # fmt: skip

    def follows(self, releases, policies):
        self.create(releases, policies)
        _, payload, _ = dsse.parse((self.dir / "release.json").read_bytes())
        return json.loads(payload)["predicate"].get("supersedes")

    CHAIN = [released(1, None, "alice"), released(2, 1, "alice")]
    FORK = [*CHAIN, released(3, 1, "mallory")]

    def test_only_believed_releases_count(self):
        believed = self.policy("prod", "alice")
        self.assertEqual(self.follows(self.CHAIN, [believed]), ident(2))
        self.assertEqual(self.follows(self.FORK, [believed]), ident(2))
        # A release by somebody else after the newest one is not the newest.
        self.assertEqual(self.follows([*self.CHAIN, released(3, 2, "mallory")], [believed]), ident(2))
        # Of one that is believed and follows it, it is the one before.
        later = [*self.CHAIN, released(3, 2, "mallory"), released(4, 3, "alice")]
        self.assertEqual(self.follows(later, [believed]), ident(4))
        self.assertIsNone(self.follows([released(1, None, "mallory")], [believed]))

    def test_a_fork_among_believed_ones_is_refused(self):
        fork = [*self.CHAIN, released(3, 1, "alice")]
        refused = self.create(fork, [self.policy("prod", "alice")], code=TROUBLE)
        self.assertIn("conflict", refused.err)
        withdrawn = [*self.CHAIN, released(3, 1, "alice", withdrawn={"reason": "incorrect"})]
        self.assertEqual(self.follows(withdrawn, [self.policy("prod", "alice")]), ident(2))

    def test_a_revoked_key_makes_no_release_newest(self):
        revoked = [*self.CHAIN, released(3, 2, "alice", revoked=("alice",))]
        self.assertEqual(self.follows(revoked, [self.policy("prod", "alice")]), ident(2))

    def test_a_withdrawal_is_of_one_signer_or_of_all(self):
        def third(**withdrawn):
            withdrawn = {"reason": "incorrect", "by_operators": False} | withdrawn
            return [*self.CHAIN, released(3, 2, "alice", "bob", withdrawn=withdrawn)]
        alice = self.policy("prod", "alice")
        self.assertEqual(self.follows(third(by=["bob"]), [alice]), ident(3))
        self.assertEqual(self.follows(third(by=["alice"]), [alice]), ident(2))
        self.assertEqual(self.follows(third(by=["olga"], by_operators=True), [alice]), ident(2))
        # Where no policy says whom to believe, one who stands behind it is enough.
        self.assertEqual(self.follows(third(by=["alice"]), []), ident(3))
        self.assertEqual(self.follows(third(by=["alice", "bob"]), []), ident(2))

    def test_policies_that_disagree_are_named(self):
        policies = [self.policy("prod", "alice"), self.policy("lab", "mallory")]
        refused = self.create(self.FORK, policies, code=TROUBLE)
        self.assertIn("prod", refused.err)
        self.assertIn("lab", refused.err)
        # One that believes none of them has no say, nor has one that does not go by releases.
        others = [self.policy("prod", "alice"), self.policy("far", "zoe"),
                  self.policy("plain", "mallory", resolve="only-artifact")]  # fmt: skip
        self.assertEqual(self.follows(self.FORK, others), ident(2))

    def test_without_such_a_policy_all_releases_count(self):
        self.assertEqual(self.follows(self.CHAIN, []), ident(2))
        self.create(self.FORK, [], code=TROUBLE)


if __name__ == "__main__":
    harness.main()
