# SPDX-License-Identifier: Apache-2.0
"""Signers by certificate, as operators and publishers see them: docs/identities.md."""
import base64
import json
import pathlib
import subprocess
import unittest

import nodes

VECTORS = pathlib.Path(__file__).resolve().parent.parent / "vectors" / "sigstore"
ISSUER = "https://token.actions.githubusercontent.com"
WORKFLOW = ("https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/"
            ".github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main")
SLSA = "https://slsa.dev/provenance/v1"


class Service(nodes.NodeService):
    """With a CA of its own, and a person to whom it gave a certificate."""

    def _extend(self):
        super()._extend()
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", "30", "-subj", "/CN=acme CA", "-keyout", "ca.key", "-out",
                     "ca.pem", "-addext", "keyUsage=critical,keyCertSign")
        self.openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-subj", "/CN=anna", "-keyout", "anna.key", "-out", "anna.csr")
        (self.dir / "anna.ext").write_text("keyUsage=critical,digitalSignature\n"
                                           "subjectAltName=email:anna@eval.acme.example\n")
        self.openssl("x509", "-req", "-in", "anna.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                     "-CAcreateserial", "-days", "30", "-extfile", "anna.ext", "-out", "anna.pem")

    def openssl(self, *arguments):
        self.run("openssl", *arguments)

    def describe(self, out, *options):
        self.run("assay", "key", "describe", "--not-after", "365d", "--out", out, *options)

    def change(self, *options):
        self.run("assay", "trust", "change", *options, "--sequence", "auto", "--out", "change.json",
                 token="admin")
        return self.push_change()

    def bundle(self, statement, out):
        """A sigstore bundle over `statement`, signed by anna."""
        payload = (self.dir / statement).read_bytes().strip()
        kind = "application/vnd.in-toto+json"
        message = f"DSSEv1 {len(kind)} {kind} {len(payload)} ".encode() + payload
        (self.dir / "message").write_bytes(message)
        self.openssl("dgst", "-sha256", "-sign", "anna.key", "-out", "signature", "message")
        der = subprocess.run(["openssl", "x509", "-in", self.dir / "anna.pem", "-outform", "DER"],
                             capture_output=True, check=True).stdout

        def text(data):
            return base64.b64encode(data).decode()

        (self.dir / out).write_text(json.dumps({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "x509CertificateChain": {"certificates": [{"rawBytes": text(der)}]}},
            "dsseEnvelope": {
                "payload": text(payload), "payloadType": kind,
                "signatures": [{"sig": text((self.dir / "signature").read_bytes())}]}}))


class Identities(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())

    def shown(self, ident):
        return json.loads(self.service.run("assay", "get", ident, "-o", "json", token="ci").stdout)

    def test_1_a_certificate_of_the_ca_signs_an_evaluation(self):
        service = self.service
        (service.dir / "model").mkdir()
        (service.dir / "model/weights.bin").write_bytes(b"weights")
        service.run("assay", "manifest", "create", "model", "--name", "acme/chat", "--key",
                    "keys/publisher.pem", "--out", "chat.json")
        service.run("assay", "push", "chat.json", token="ci")
        service.run("assay", "attest", "create", "--stage", "evaluate", "--subject", "chat.json",
                    "--metric", "accuracy=0.97", "--out", "evaluation.json")
        service.bundle("evaluation.json", "evaluation.bundle.json")
        refused = service.run("assay", "push", "evaluation.bundle.json", token="ci", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("untrusted-signer", refused.stderr)

        service.describe("eval.json", "--purpose", "signer", "--identity", "eval-team", "--role",
                         "evaluate:lifecycle:acme", "--certificate-root", "ca.pem",
                         "--certificate-identity", "*@eval.acme.example")
        service.change("--add-key", "eval.json")
        pushed = service.run("assay", "push", "evaluation.bundle.json", "-o", "json", token="ci")
        ident = json.loads(pushed.stdout)["items"][0]["id"]
        signer = self.shown(ident)["signers"][0]
        self.assertEqual(signer["identity"], "eval-team")
        self.assertEqual(signer["certificate"]["subject"], "anna@eval.acme.example")
        self.assertEqual(signer["certificate"]["issuer"], "CN=acme CA")
        answer = service.request("GET", f"/v1/attestations/{ident}", token="ci")
        self.assertEqual(answer[0], 200)
        key = json.loads((service.dir / "eval.json").read_text())["id"]
        shown = service.run("assay", "trust", "show", token="admin").stdout
        self.assertIn("*@eval.acme.example", shown)
        self.assertIn(key, shown)

    def test_2_a_keyless_workflow_signs_provenance(self):
        service = self.service
        service.describe("workflow.json", "--purpose", "signer", "--identity", "release-workflow",
                         "--role", f"*:{SLSA}:*", "--certificate-oidc-issuer", ISSUER,
                         "--certificate-identity", WORKFLOW, "--trusted-root", "sigstore")
        service.change("--put-trusted-root", f"sigstore={VECTORS}/staging.trusted-root.json",
                       "--add-key", "workflow.json")
        pushed = service.run("assay", "push", VECTORS / "rekor2-dsse.bundle.json", "-o", "json",
                             token="ci")
        ident = json.loads(pushed.stdout)["items"][0]["id"]
        signer = self.shown(ident)["signers"][0]
        self.assertEqual(signer["certificate"]["issuer"], ISSUER)
        self.assertEqual(signer["certificate"]["subject"], WORKFLOW)
        self.assertIn("sigstore", service.run("assay", "trust", "show", token="admin").stdout)

    def test_3_a_review_says_whose_certificates_are_trusted(self):
        service = self.service
        service.describe("wide.json", "--purpose", "publisher", "--identity", "wide", "--namespace",
                         "acme", "--certificate-root", "ca.pem", "--certificate-identity",
                         "*@acme.example")
        service.run("assay", "trust", "change", "--add-key", "wide.json", "--put-trusted-root",
                    f"other={VECTORS}/custom.trusted-root.json", "--sequence", "9", "--out",
                    "wide.change.json")
        said = service.run("assay", "review", "wide.change.json", token="admin").stdout
        self.assertIn("*@acme.example", said)
        self.assertIn("counts as one identity", said)
        self.assertIn("trusted root", said)

    def verified(self, file, trust, *options):
        """What `attest verify` says, offline."""
        done = self.service.run("assay", "attest", "verify", file, "--trust", trust, "-o", "json", *options,
                                check=False)
        return done.returncode, json.loads(done.stdout)

    def test_4_a_trust_file_verifies_them_offline(self):
        service = self.service
        shown = service.run("assay", "trust", "show", "-o", "json", token="admin").stdout
        (service.dir / "trust.json").write_text(shown)
        for file, identity, subject in (
                ("evaluation.bundle.json", "eval-team", "anna@eval.acme.example"),
                (VECTORS / "rekor2-dsse.bundle.json", "release-workflow", WORKFLOW)):
            status, said = self.verified(file, "trust.json")
            self.assertEqual(status, 0, said)
            self.assertEqual([one["identity"] for one in said["signers"]], [identity])
            self.assertEqual(said["signers"][0]["certificate"]["subject"], subject)
        self.assertEqual(self.verified("evaluation.bundle.json", "eval.json")[0], 0)
        # Before and after the certificate of the private CA.
        for at in ("2020-01-01", "2035-01-01"):
            status, said = self.verified("evaluation.bundle.json", "trust.json", "--at", f"{at}T00:00:00Z")
            self.assertEqual((status, said["verified"]), (1, False))
        trust = json.loads(shown)
        for change, code in ((lambda t: t["trusted_roots"].clear(), "not-found"),
                             (lambda t: t.pop("trusted_roots"), "not-found"),
                             (lambda t: t["keys"].__delitem__(slice(None, -1)), "untrusted-signer")):
            changed = json.loads(json.dumps(trust))
            change(changed)
            changed["keys"] = [one for one in changed["keys"] if code == "not-found" or "public_key" in one]
            (service.dir / "changed.json").write_text(json.dumps(changed))
            status, said = self.verified(VECTORS / "rekor2-dsse.bundle.json", "changed.json")
            self.assertEqual((status, said["error"]["code"]), (1, code))

        trust["trusted_roots"] *= 2
        (service.dir / "changed.json").write_text(json.dumps(trust))
        done = service.run("assay", "attest", "verify", "evaluation.bundle.json", "--trust", "changed.json", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("two trusted roots of one name", done.stderr)

    def test_5_an_identity_says_what_is_missing(self):
        for options in (("--certificate-identity", "a@b.example"),
                        ("--certificate-identity", "a@b.example", "--certificate-oidc-issuer",
                         ISSUER),
                        ("--certificate-identity", "*", "--certificate-root", "ca.pem"),
                        ("keys/publisher.pem.pub", "--certificate-identity", "a@b.example")):
            done = self.service.run("assay", "key", "describe", "--purpose", "signer", "--identity",
                                    "x", "--role", "approve:lifecycle:acme", "--not-after", "1d",
                                    *options, check=False)
            self.assertEqual(done.returncode, 2, options)


if __name__ == "__main__":
    unittest.main()
