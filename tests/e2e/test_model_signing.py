# SPDX-License-Identifier: Apache-2.0
"""A model that somebody else signed with OpenSSF Model Signing: imported, pushed, decided."""
import json
import unittest

import nodes

OMS = "https://model_signing/signature/v1.0"


class Service(nodes.NodeService):
    """Trusts a vendor for bytes under every name, and another one under one name alone."""

    def _extend(self):
        super()._extend()
        self.key("vendor", "signer", "vendor", "--role", f"*:{OMS}:*", algorithm="ecdsa-p384")
        self.key("named", "signer", "named", "--role", f"*:{OMS}:acme", algorithm="ecdsa-p384")
        self.key("other", "publisher", "other", "--namespace", "strangers")
        self.run("assay", "key", "new", "--algorithm", "ecdsa-p384", "--out", "unknown.pem")

    def model(self, name, content):
        """A folder with a model."""
        folder = self.dir / name
        folder.mkdir()
        (folder / "config.json").write_text('{"layers": 2}')
        (folder / "weights.bin").write_bytes(content * 100_000)
        return folder

    def sign_model(self, model, key):
        self.run("assay", "sign", "--format", "oms", model, "--key", f"{key}.pem", "--out",
                 f"{model}/model.sig")

    def import_model(self, model, key, publisher="publisher", name="acme/chat", check=True):
        """Imports a model; the answer of the verb."""
        done = self.run("assay", "manifest", "import", model, f"{model}/model.sig", "--key",
                        f"{key}.pem.pub", "--name", name, "--sign-key", f"keys/{publisher}.pem",
                        "--out", f"{model}.manifest.json", "--out-evidence", f"{model}.oms.json",
                        "-o", "json", check=check)
        return json.loads(done.stdout)

    def push(self, *files, check=True):
        return self.run("assay", "push", *files, token="ci", check=check)

    def decide(self, artifact):
        done = self.run("assay", "decide", "--model", artifact, "--namespace", "prod", "-o", "json",
                        check=False, token="ci")
        return json.loads(done.stdout)


class ModelSigning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        cls.service.activate({
            "name": "signed-by-vendor", "version": 1, "mode": "enforce",
            "match": {"namespaces": ["prod"]},
            "require": [
                {"id": "published",
                 "manifest": {"signers": {"at_least": 1, "identities": ["release"]}}},
                {"id": "left-out", "parameters": {"ignore": ["/model.sig"]}},
                {"id": "vendor-signed",
                 "statement": {"predicate_type": OMS,
                               "signers": {"at_least": 1, "identities": ["vendor", "named"]}}}],
        })

    def outcome(self, artifact):
        answer = self.service.decide(artifact)
        return answer["decision"]["verdict"]["allowed"], json.dumps(answer)

    def expect_denied(self, artifact, code):
        allowed, text = self.outcome(artifact)
        self.assertFalse(allowed, text)
        self.assertIn(code, text)

    def test_1_bytes_of_the_vendor_are_allowed_once_both_are_there(self):
        self.service.model("good", b"good")
        self.service.sign_model("good", "keys/vendor")
        made = self.service.import_model("good", "keys/vendor")
        self.assertTrue(made["imported"])
        self.service.push("good.manifest.json")
        self.expect_denied(made["artifact"], "statement-missing")
        self.service.push("good.oms.json")
        allowed, text = self.outcome(made["artifact"])
        self.assertTrue(allowed, text)

    def test_2_a_signature_by_another_key_denies(self):
        self.service.model("unknown", b"unknown")
        self.service.sign_model("unknown", "unknown")
        made = self.service.import_model("unknown", "unknown")
        refused = self.service.push("unknown.manifest.json", "unknown.oms.json", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("untrusted-signer", refused.stderr)
        self.expect_denied(made["artifact"], "statement-missing")

    def test_3_a_signer_for_one_name_counts_for_no_bytes(self):
        """The subject of the signature is named by whoever named the folder."""
        self.service.model("acme", b"acme")
        self.service.sign_model("acme", "keys/named")
        made = self.service.import_model("acme", "keys/named")
        self.service.push("acme.manifest.json")
        refused = self.service.push("acme.oms.json", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("role-not-granted", refused.stderr)
        self.expect_denied(made["artifact"], "statement-missing")

    def test_4_a_manifest_of_a_stranger_joins_nothing(self):
        """Somebody who may publish another name says that bad bytes are the good ones."""
        self.service.model("bad", b"bad")
        good = json.loads((self.service.dir / "good.oms.json").read_text())
        self.assertTrue(good["payload"])
        root = self.root_of("good")
        for name, key in (("acme/chat", "publisher"), ("strangers/chat", "other")):
            out = f"bad-{key}.json"
            options = ["--digest", f"sha256:{root}"] if key == "other" else []
            self.service.run("assay", "manifest", "create", "bad", "--name", name, *options, "--key",
                             f"keys/{key}.pem", "--out", out)
            self.service.push(out)
        shown = self.service.run("assay", "manifest", "show", "bad-other.json", "-o", "json")
        self.expect_denied(json.loads(shown.stdout)["artifact"], "manifest-missing")

    def root_of(self, model):
        done = self.service.run("assay", "verify", model, f"{model}/model.sig", "--key",
                                "keys/vendor.pem.pub", "-o", "json")
        return json.loads(done.stdout)["root"].removeprefix("sha256:")

    def test_5_a_statement_whose_root_does_not_follow_is_refused(self):
        statement = {
            "_type": "https://in-toto.io/Statement/v1", "predicateType": OMS,
            "subject": [{"name": "x", "digest": {"sha256": self.root_of("good")}}],
            "predicate": {
                "serialization": {"method": "files", "hash_type": "sha256", "allow_symlinks": False},
                "resources": [{"name": "a", "algorithm": "sha256", "digest": "00" * 32}]}}
        (self.service.dir / "made-up.json").write_text(json.dumps(statement))
        self.service.run("assay", "sign", "made-up.json", "--key", "keys/vendor.pem", "--out",
                         "made-up.signed.json")
        refused = self.service.push("made-up.signed.json", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("root-mismatch", refused.stderr)

    def test_6_bytes_that_were_changed_are_not_imported(self):
        folder = self.service.model("changed", b"changed")
        self.service.sign_model("changed", "keys/vendor")
        (folder / "weights.bin").write_bytes(b"x" * 700_000)
        made = self.service.import_model("changed", "keys/vendor", check=False)
        self.assertEqual(made["error"]["code"], "content-mismatch")
        self.assertEqual(made["differences"],
                         [{"kind": "changed", "file": "weights.bin", "detail": ""}])
        self.assertFalse((self.service.dir / "changed.manifest.json").exists())

    def test_7_replay_gives_the_same_decision(self):
        listed = json.loads(self.service.run("assay", "decision", "list", "-o", "json",
                                             token="ci").stdout)
        for decision in listed["items"]:
            done = self.service.run("assay", "decision", "replay", decision["id"], token="ci",
                                    check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
