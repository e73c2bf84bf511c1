# SPDX-License-Identifier: Apache-2.0
"""Reference values of a vendor: signed, imported by two operators, matched, replaced and removed."""
import base64
import json
import unittest

import nodes

NODE = "node-1"
TAG = "acme.example/os-image"
ROLE = "*:https://assay.dev/reference-values/v1:acme.example"


class ReferenceValues(unittest.TestCase):
    def setUp(self):
        self.service = nodes.NodeService()
        self.service.__enter__()
        self.addCleanup(self.service.__exit__, None, None, None)
        made = self.service.run("assay", "evidence", "simulate", "--seed", "seed", "--out-root",
                                "root.pem", "-o", "json")
        self.values = json.loads(made.stdout)["reference_values"]
        bare = json.loads((self.service.dir / "appraisal.json").read_text())
        bare["policy"] = {}
        (self.service.dir / "bare.json").write_text(json.dumps(bare))
        self.service.key("vendor", "signer", "vendor", "--role", ROLE)
        self.service.change_trust("--appraisal", "bare.json", "--add-key", "keys/vendor.json")

    def document(self, version, name="image.json", **changed):
        values = {measurement: [value] if isinstance(value, str) else value
                  for measurement, value in {**self.values, **changed}.items() if value}
        (self.service.dir / name).write_text(json.dumps({
            "evidence_type": "tdx", "tag_id": TAG, "tag_version": version,
            "sets": [{"label": "kernel", "values": values}]}))
        return name

    def signed(self, version, **changed):
        self.service.run("assay", "refvalues", "sign", self.document(version, **changed), "--key",
                         "keys/vendor.pem", "--out", "image.cose")
        return "image.cose"

    def submit(self, *verb):
        """The answer to a change that a verb writes."""
        self.service.run("assay", "refvalues", *verb, "--sequence", "auto", "--out", "change.json",
                         token="admin")
        self.service.run("assay", "sign", "change.json", "--key", "keys/operator-1.pem", "--key",
                         "keys/operator-2.pem", "--out", "change.signed.json")
        return self.post((self.service.dir / "change.signed.json").read_bytes())

    def refused(self, code, *verb):
        status, answer = self.submit(*verb)
        self.assertTrue(400 <= status < 500, answer)
        self.assertEqual(answer["code"], code)

    def accepted(self, *verb):
        status, answer = self.submit(*verb)
        self.assertEqual(status, 200, answer)

    def shown(self):
        done = self.service.run("assay", "refvalues", "show", "-o", "json", token="admin")
        return json.loads(done.stdout)

    def node(self):
        return self.service.request("GET", f"/v1/nodes/{NODE}")[1]

    def test_from_import_to_removal(self):
        service = self.service
        with service.worker() as worker:
            self.assertEqual(worker.end(), 2)
            self.assertIn("REFERENCE_VALUES_MISSING", worker.errors)
        done = service.run("assay", "refvalues", "diff", self.signed(1), token="admin", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"! {TAG} mrtd is not constrained until now", done.stdout)
        review = service.run("assay", "refvalues", "import", "image.cose", "--sequence", "auto",
                             "--out", "change.json", token="admin")
        self.assertIn(TAG, review.stderr)
        said = service.run("assay", "review", "change.json", token="admin").stdout
        self.assertIn("machines with this measurement are accepted", said)
        self.accepted("import", "image.cose")
        done = service.run("assay", "refvalues", "diff", "image.cose", token="admin", check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        with service.worker() as worker:
            self.assertTrue(worker.wait("enrolled")["worker_measured"])
            name = f"{TAG}@1:kernel#1"
            self.assertEqual(self.node()["measured"]["reference_values"]["mrtd"], [name])
            self.refused("reference-rollback", "import", "image.cose")
            self.accepted("remove", TAG, "--reason", "a hole")
            nodes.wait_until("the node is refused", lambda: self.node()["measured"]["error"])
            self.assertEqual(self.node()["measured"]["error"], "TD_MRTD_MISMATCH")
        self.assertEqual(self.shown()[0]["removed"], "a hole")
        table = service.run("assay", "refvalues", "show", token="admin").stdout
        self.assertIn("removed: a hole", table)
        self.refused("conflict", "remove", TAG, "--reason", "again")
        self.refused("not-found", "remove", "acme.example/none", "--reason", "a hole")

    def test_versions(self):
        self.accepted("import", self.signed(2))
        self.refused("reference-rollback", "import", self.signed(1))
        self.accepted("import", self.signed(3, mrtd="7" * 96))
        tag = self.shown()[0]
        self.assertEqual((tag["version"], tag["identity"]), (3, "vendor"))

    def test_unsigned_needs_the_word_of_the_operators(self):
        file = self.document(1)
        done = self.service.run("assay", "refvalues", "import", file, "--sequence", "1",
                                check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("reference-unsigned", done.stderr)
        self.accepted("import", file, "--unsigned")
        self.assertNotIn("key", self.shown()[0])

    def test_bad_documents(self):
        """Past the program's own check: the service refuses by name, and nothing is stored."""
        other_type = json.dumps({"evidence_type": "sev-snp", "tag_id": "a", "tag_version": 1,
                                 "sets": [{"values": {"measurement": ["0" * 96]}}]}).encode()
        cases = [("malformed-cbor", b"\x80" * 3),
                 ("malformed-corim", bytes.fromhex("d901f4a0")),
                 ("malformed-cbor", bytes.fromhex("d901f5a2006100006100")),  # a key twice
                 ("malformed-cbor", bytes.fromhex("d901f5bfff00")),  # an indefinite length
                 ("malformed-cbor", b"\x81" * 9_999),  # nested deeply
                 ("reference-class-mismatch", other_type)]
        size = self.service.tree_size()
        for code, document in cases:
            with self.subTest(code):
                change = {"sequence": 2, "operations": [{"put_reference_values": {
                    "evidence_type": "tdx", "unsigned": True,
                    "document": base64.b64encode(document).decode()}}]}
                (self.service.dir / "bad.json").write_text(json.dumps(change))
                self.service.run("assay", "sign", "bad.json", "--key", "keys/operator-1.pem",
                                 "--key", "keys/operator-2.pem", "--out", "bad.signed")
                status, answer = self.post((self.service.dir / "bad.signed").read_bytes())
                self.assertTrue(400 <= status < 500, answer)
                self.assertEqual(answer["code"], code)
        with self.subTest("10 MiB"):
            envelope = {"payloadType": "application/vnd.assay.trust-change+json",
                        "payload": base64.b64encode(b"\x80" * (10 << 20)).decode(),
                        "signatures": [{"sig": "AAAA"}]}
            self.assertEqual(self.post(json.dumps(envelope).encode())[0], 413)
        self.assertEqual(self.shown(), [])
        self.assertEqual(self.service.tree_size(), size)

    def post(self, body):
        return self.service.request("POST", "/v1/trust/changes", body, token="admin")


if __name__ == "__main__":
    unittest.main()
