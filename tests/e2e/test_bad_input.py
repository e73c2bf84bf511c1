# SPDX-License-Identifier: Apache-2.0
"""Bad input over HTTPS: a clear 4xx with a stable code, nothing stored, the service goes on."""
import base64
import json
import unittest

import harness


def repack(envelope, change):
    """The envelope with its payload changed (and so its signature broken)."""
    document = json.loads(envelope)
    payload = json.loads(base64.b64decode(document["payload"]))
    change(payload)
    document["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
    return json.dumps(document).encode()


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = harness.Service()
        cls.service.__enter__()
        cls.good = cls.service.manifest()

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def refused(self, status, code, method, path, body=None, **options):
        size = self.service.tree_size()
        got, answer = self.service.request(method, path, body, **options)
        self.assertEqual((got, answer and answer.get("code")), (status, code), answer)
        self.assertEqual(answer["status"], status)
        self.assertTrue(answer["title"])
        self.assertEqual(self.service.tree_size(), size, "something was stored")
        self.assertEqual(self.service.request("GET", "/livez", token=None)[0], 200)

    def test_malformed_json(self):
        self.refused(400, "malformed-json", "POST", "/v1/manifests", b"{")

    def test_trailing_bytes(self):
        self.refused(400, "malformed-json", "POST", "/v1/manifests", self.good + b"\0x")

    def test_duplicate_key(self):
        body = self.good.rstrip()[:-1] + b',"payload":""}'
        self.refused(400, "duplicate-key", "POST", "/v1/manifests", body)

    def test_unknown_member_of_the_envelope(self):
        document = json.loads(self.good)
        document["extra"] = 1
        self.refused(400, "unknown-member", "POST", "/v1/manifests", json.dumps(document).encode())

    def test_bad_signature(self):
        def change(statement):
            statement["predicate"].update(name="acme/other")
        self.refused(422, "untrusted-signer", "POST", "/v1/manifests", repack(self.good, change))
        # A signature that names its key is known to be wrong; without a name it may be anybody's.
        self.service.run("assay", "sign", "a.json", "--yes", "--key", "keys/publisher.pem", "--keyid",
                         "sha256", "--out", "named.json")
        named = (self.service.dir / "named.json").read_bytes()
        self.refused(422, "signature-invalid", "POST", "/v1/manifests", repack(named, change))

    def test_no_signature(self):
        document = json.loads(self.good)
        document["signatures"] = []
        self.refused(422, "signature-missing", "POST", "/v1/manifests",
                     json.dumps(document).encode())

    def test_other_payload_type(self):
        document = json.loads(self.good)
        document["payloadType"] = "text/plain"
        self.refused(422, "payload-type-unknown", "POST", "/v1/manifests",
                     json.dumps(document).encode())

    def test_body_over_the_limit(self):
        self.refused(413, "payload-too-large", "POST", "/v1/attestations", b" " * ((1 << 20) + 1))

    def test_wrong_media_type(self):
        self.refused(415, "unsupported-media-type", "POST", "/v1/manifests", self.good,
                     content_type="text/html")

    def test_no_credential(self):
        self.refused(401, "unauthenticated", "POST", "/v1/manifests", self.good, token=None)

    def test_role_that_does_not_cover_the_call(self):
        self.refused(403, "forbidden", "POST", "/v1/manifests", self.good, token="nobody")

    def test_unknown_route_method_and_parameter(self):
        self.refused(404, "not-found", "GET", "/v1/nothing")
        self.refused(405, "method-not-allowed", "DELETE", "/v1/manifests")
        self.refused(400, "unknown-parameter", "GET", "/v1/manifests?singer=x")

    def test_bad_ids_and_cursors(self):
        self.refused(400, "invalid-digest", "GET", "/v1/manifests/sha256:xyz")
        self.refused(404, "not-found", "GET", "/v1/manifests/sha256:" + "0" * 64)
        self.refused(400, "invalid-cursor", "GET", "/v1/manifests?cursor=AAAA")

    def test_decision_with_unknown_member(self):
        body = json.dumps({"point": "create", "model": "acme/demo", "force": True,
                           "workload": {"namespace": "x"}}).encode()
        self.refused(400, "unknown-member", "POST", "/v1/decisions", body)

    def test_trust_change_by_one_operator(self):
        self.service.run("assay", "key", "new", "--out", "keys/new.pem")
        self.service.run("assay", "key", "describe", "keys/new.pem.pub", "--purpose", "author",
                         "--identity", "new", "--not-after", "2099-01-01T00:00:00Z",
                         "--out", "new.json")
        self.service.run("assay", "trust", "change", "--add-key", "new.json", "--sequence", "1",
                         "--out", "change.json")
        self.service.run("assay", "sign", "change.json", "--key", "keys/operator-1.pem",
                         "--out", "change.signed.json")
        self.refused(422, "threshold-not-met", "POST", "/v1/trust/changes",
                     (self.service.dir / "change.signed.json").read_bytes(), token="admin")


if __name__ == "__main__":
    unittest.main()
