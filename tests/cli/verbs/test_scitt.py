# SPDX-License-Identifier: Apache-2.0
"""Signed statements of SCITT: by a key, by a chain, and what is refused; docs/scitt.md."""
import base64
import pathlib
import unittest

import harness
from harness import NO

ROOT = pathlib.Path(__file__).parents[3]
VECTORS = ROOT / "tests/vectors/scitt"
OWN = ROOT / "tests/fuzz/corpus/scitt/statement"  # of the key in tests/fuzz/scitt_fuzz.cc
WHEN = ("--at", "2025-12-22T21:15:00Z", "--purpose", "any")


def certificates(statement):
    """The chain of a statement: DER begins with a SEQUENCE whose length has two bytes."""
    found, at = [], statement.index(b"\x18\x21") + 3  # the label 33 and a list
    while statement[at] == 0x59:
        size = int.from_bytes(statement[at + 1:at + 3], "big")
        found.append(statement[at + 3:at + 3 + size])
        at += 3 + size
    return found


class Scitt(harness.TestCase):
    def verify(self, file, *arguments):
        return self.assay("scitt", "verify", file, *arguments, "-o", "json").json()

    def refused(self, file, *arguments):
        return self.error("scitt", "verify", file, *arguments, code=NO)

    def test_by_a_key(self):
        source = (ROOT / "tests/fuzz/scitt_fuzz.cc").read_text()
        digits = "".join(source.split("kKey =", 1)[1].split(";", 1)[0].split('"')[1::2])
        self.write("issuer.pub", "-----BEGIN PUBLIC KEY-----\n"
                   + base64.b64encode(bytes.fromhex(digits)).decode() + "\n-----END PUBLIC KEY-----\n")  # fmt: skip
        answer = self.verify(OWN, "--key", "issuer.pub", "--payload", "payload")
        self.assertEqual((answer["verified"], answer["issuer"], answer["subject"], answer["issued_at"]),
                         (True, "https://issuer.example", "acme/llama", 1700000000))  # fmt: skip
        self.assertEqual((self.dir / "payload").read_bytes(), b"payload")
        self.assertIn("acme/llama", self.assay("scitt", "verify", OWN, "--key", "issuer.pub").out)
        self.key("other")
        self.assertEqual(self.refused(OWN, "--key", "other.pem.pub", "--payload", "none"),
                         "signature-invalid")  # fmt: skip
        self.assertFalse((self.dir / "none").exists())
        self.assertEqual(self.refused(VECTORS / "README.md", "--key", "other.pem.pub"), "malformed-cbor")
        changed = OWN.read_bytes().replace(b"acme/llama", b"acme/other")
        self.assertEqual(self.refused(self.write("changed", changed), "--key", "issuer.pub"),
                         "signature-invalid")  # fmt: skip
        self.assertEqual(self.error("scitt", "verify", OWN), "usage")

    def test_by_a_chain(self):
        """Under the last certificate that it brings, as somebody does who chose to trust that one."""
        file = VECTORS / "transparent.cose"
        chain = certificates(file.read_bytes())
        self.assertEqual(len(chain), 3)
        self.write("root.der", chain[-1])
        self.write("leaf.der", chain[0])
        answer = self.verify(file, "--anchors", "root.der", *WHEN)
        self.assertEqual((answer["subject"], answer["receipts"], answer["payload_is_hash"]["cose_algorithm"]),
                         ("ContainerPlat-AMD-UVM", 1, -43))  # fmt: skip
        self.assertIn("certificate_subject", answer["signed_by"])
        for arguments, code in ((("leaf.der", *WHEN), "certificate-untrusted"),
                                (("root.der", "--at", "2001-01-01T00:00:00Z", "--purpose", "any"),
                                 "certificate-not-yet-valid"),
                                (("root.der", *WHEN[:2]), "certificate-refused")):  # fmt: skip
            self.assertEqual(self.refused(file, "--anchors", *arguments), code)
        self.assertEqual(self.refused(OWN, "--anchors", "root.der", *WHEN), "signature-missing")


if __name__ == "__main__":
    harness.main()
