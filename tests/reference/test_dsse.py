# SPDX-License-Identifier: Apache-2.0
import base64
import glob
import hashlib
import json
import unittest

import support
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from reference import dsse


class PreAuthenticationEncoding(unittest.TestCase):
    def test_example_of_the_specification(self):
        self.assertEqual(dsse.pae("http://example.com/HelloWorld", b"hello world"),
                         b"DSSEv1 29 http://example.com/HelloWorld 11 hello world")  # fmt: skip

    def test_public_example_verifies(self):
        with open(support.shared_vectors("in-toto-dsse", "dsse-spec", "protocol-md-example.json"), "rb") as stream:
            example = json.load(stream)
        key = ec.EllipticCurvePublicNumbers(int(example["public_x_decimal"]), int(example["public_y_decimal"]),
                                            ec.SECP256R1()).public_key()  # fmt: skip
        kind, payload, signatures = dsse.parse(json.dumps(example["envelope"]).encode())
        message = dsse.pae(kind, payload)
        self.assertEqual(message.decode(), example["pae_utf8"])
        self.assertTrue(dsse.check_signature(key, dsse.raw_to_der(signatures[0][1]), message))
        self.assertFalse(dsse.check_signature(key, dsse.raw_to_der(signatures[0][1]), message + b"x"))

    def test_public_model_signatures_verify(self):
        from cryptography.hazmat.primitives import serialization

        top = support.shared_vectors("oms-model-signing")
        keys = glob.glob(top + "/**/signing-key-pub.pem", recursive=True)
        bundles = glob.glob(top + "/**/v1.*elliptic-key/model.sig", recursive=True)
        if not keys or not bundles:
            self.skipTest(f"no model signatures below {top}")
        with open(keys[0], "rb") as stream:
            key = serialization.load_pem_public_key(stream.read())
        for name in bundles:
            with open(name, "rb") as stream:
                envelope = json.load(stream)["dsseEnvelope"]
            self.assertEqual(dsse.accepted_keys(json.dumps(envelope).encode(), [key]), [0], name)

    def test_vectors(self):
        data = support.vectors("dsse")
        for case in data["pae"]:
            message = dsse.pae(case["payload_type"], base64.b64decode(case["payload"]))
            self.assertEqual(message, base64.b64decode(case["pae"]), case["name"])
            self.assertEqual("sha256:" + hashlib.sha256(message).hexdigest(), case["id"])
        keys = [ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(k["public"])) for k in data["keys"]]
        for case in data["envelopes"]:
            if case["want"] == "accept":
                got = dsse.accepted_keys(case["envelope"].encode(), keys)
                self.assertEqual(got, case["signed_by"], case["name"])
                continue
            with self.assertRaises(dsse.DsseError, msg=case["name"]) as caught:
                dsse.parse(case["envelope"].encode())
            self.assertEqual(caught.exception.reason, case["reason"], case["name"])


if __name__ == "__main__":
    unittest.main()
