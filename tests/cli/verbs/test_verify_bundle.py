# SPDX-License-Identifier: Apache-2.0
"""assay verify-bundle: bundles that the project carries, what is refused, and how it is said."""
import hashlib
import json
import unittest

import harness
from harness import NO, TROUBLE, YES

CARRIED = harness.SOURCE / "tests/vectors/sigstore"
BEACON = ("https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/"
          ".github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main")  # fmt: skip
ISSUER = "https://token.actions.githubusercontent.com"
ARTIFACT = CARRIED / "a.txt"
DIGEST = "sha256:" + hashlib.sha256(ARTIFACT.read_bytes()).hexdigest()
WHO = ("--certificate-identity", BEACON, "--certificate-oidc-issuer", ISSUER)


def bundle(name, root):
    """Arguments for a carried bundle under a carried root."""
    return ("--bundle", CARRIED / f"{name}.bundle.json",
            "--trusted-root", CARRIED / f"{root}.trusted-root.json")  # fmt: skip


MESSAGE = bundle("message-v0.3", "public-good")


class VerifyBundle(harness.TestCase):
    def verify(self, *arguments, code=YES):
        return self.assay("verify-bundle", "-o", "json", *arguments, code=code)

    def test_an_identity(self):
        for artifact in (ARTIFACT, DIGEST):
            result = self.verify(artifact, *MESSAGE, *WHO).json()
            self.assertTrue(result["verified"])
            self.assertEqual(result["identity"],
                             {"subject": BEACON, "kind": "uri", "issuer": ISSUER})  # fmt: skip
            self.assertEqual(result["artifact"], DIGEST)
            self.assertEqual([entry["index"] for entry in result["log_entries"]],
                             [self.index("message-v0.3")])  # fmt: skip
            self.assertEqual(result["times"], [
                {"time": "2024-03-19T17:26:26.000Z", "source": "log",
                 "name": "https://rekor.sigstore.dev"}])  # fmt: skip
            self.assertIsNone(result["payload_type"])

    def index(self, name):
        text = (CARRIED / f"{name}.bundle.json").read_bytes()
        return int(json.loads(text)["verificationMaterial"]["tlogEntries"][0]["logIndex"])

    def test_each_kind_of_bundle(self):
        for name, root in (("message-v0.1", "public-good"), ("rekor2-message", "staging"),
                           ("rekor2-dsse", "staging")):  # fmt: skip
            with self.subTest(bundle=name):
                result = self.assay("verify-bundle", ARTIFACT, *bundle(name, root), *WHO)
                self.assertIn(BEACON, result.out)
        envelope = self.verify(*bundle("rekor2-dsse", "staging"), *WHO).json()
        self.assertEqual(envelope["payload_type"], "application/vnd.in-toto+json")
        self.assertIsNone(envelope["artifact"])

    def test_a_key(self):
        alone = ("--bundle", CARRIED / "managed-key.bundle.json",
                 "--key", CARRIED / "managed-key.pub")  # fmt: skip
        self.assertEqual(self.verify(ARTIFACT, *alone).json()["log_entries"], [])
        with_root = self.verify(ARTIFACT, *alone, "--trusted-root",
                                CARRIED / "staging.trusted-root.json").json()  # fmt: skip
        self.assertIsNone(with_root["identity"])
        self.assertEqual(len(with_root["log_entries"]), 1)
        self.key("other", "ecdsa-p256")
        refused = self.verify(ARTIFACT, *alone[:2], "--key", "other.pem.pub", code=NO).json()
        self.assertEqual(refused["error"]["code"], "signature-invalid")

    def test_a_pattern(self):
        def with_pattern(pattern):
            return ("--certificate-identity-pattern", pattern,
                    "--certificate-oidc-issuer", ISSUER)  # fmt: skip

        good = "uri:https://github[.]com/sigstore-conformance/.*@refs/heads/main"
        self.verify(ARTIFACT, *MESSAGE, *with_pattern(good))
        for pattern in ("uri:https://github[.]com/sigstore-conformance/", "email:.*",
                        "uri:.*@refs/heads/mai"):  # fmt: skip
            refused = self.verify(ARTIFACT, *MESSAGE, *with_pattern(pattern), code=NO).json()
            self.assertEqual(refused["error"]["code"], "identity-mismatch", pattern)
        for pattern, code in (("https://x", "usage"), ("uri:(", "invalid-parameter")):
            self.assertEqual(self.error("verify-bundle", ARTIFACT, *MESSAGE,
                                        *with_pattern(pattern)), code)  # fmt: skip

    def test_what_is_refused(self):
        other = self.write("other.txt", "other")
        text = (CARRIED / "message-v0.3.bundle.json").read_text()
        broken = self.write("broken.json", text[:-2])
        cases = {
            "artifact-mismatch": (other, *MESSAGE, *WHO),
            "identity-mismatch": (ARTIFACT, *MESSAGE, *WHO[:2], "--certificate-oidc-issuer",
                                  ISSUER + "/"),
            "log-untrusted": (ARTIFACT, *bundle("message-v0.3", "staging"), *WHO),
            "malformed-json": (ARTIFACT, "--bundle", broken, *MESSAGE[2:], *WHO),
            "timestamp-invalid": (ARTIFACT, *MESSAGE, *WHO, "--at", "2024-03-19T17:00:00Z"),
            "untrusted-signer": (ARTIFACT, *bundle("managed-key", "staging"), *WHO),
        }  # fmt: skip
        for code, arguments in cases.items():
            with self.subTest(code=code):
                result = self.verify(*arguments, code=NO).json()
                self.assertFalse(result["verified"])
                self.assertEqual(result["error"]["code"], code)
        told = self.assay("verify-bundle", other, *MESSAGE, *WHO, code=NO)
        self.assertIn("artifact-mismatch", told.err)

    def test_what_has_no_answer(self):
        root = self.write("root.json", "{}")
        key = ("--key", CARRIED / "managed-key.pub")
        only_bundle = MESSAGE[:2]
        cases = [
            ("usage", (ARTIFACT, *MESSAGE)),
            ("usage", (ARTIFACT, *MESSAGE, *WHO, *key)),
            ("usage", (ARTIFACT, *MESSAGE, *WHO[:2])),
            ("usage", (ARTIFACT, *MESSAGE, *WHO[2:])),
            ("usage", (ARTIFACT, *only_bundle, *WHO)),
            ("file-unreadable", ("nothing", *MESSAGE, *WHO)),
            ("file-unreadable", (self.dir, *MESSAGE, *WHO)),
            ("invalid-digest", ("sha256:00", *MESSAGE, *WHO)),
            ("invalid-time", (ARTIFACT, *MESSAGE, *WHO, "--at", "yesterday")),
            ("malformed-trusted-root", (ARTIFACT, *only_bundle, "--trusted-root", root, *WHO)),
            ("invalid-encoding", (ARTIFACT, *MESSAGE, "--key", root)),
        ]
        for code, arguments in cases:
            with self.subTest(code=code, arguments=arguments):
                self.assertEqual(self.error("verify-bundle", *arguments, code=TROUBLE), code)


if __name__ == "__main__":
    unittest.main()
