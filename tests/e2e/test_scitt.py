# SPDX-License-Identifier: Apache-2.0
"""Receipts of the log in COSE, verified as others do it; docs/scitt.md."""
import base64
import hashlib
import json
import os
import subprocess
import unittest

import harness
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# For another Python, which has pycose and cbor2 (ASSAY_COSE_PYTHON): receipt, root, key.
WITH_PYCOSE = """
import sys
import cbor2
from pycose.messages import Sign1Message
from pycose.keys import OKPKey
from pycose.keys.curves import Ed25519
message = list(cbor2.loads(open(sys.argv[1], "rb").read()).value)
message[1] = dict(message[1])  # cbor2 6 gives a mapping of its own, which pycose 1.1 does not take
message = Sign1Message.from_cose_obj(message, True)
message.payload = bytes.fromhex(sys.argv[2])
message.key = OKPKey(crv=Ed25519, x=bytes.fromhex(sys.argv[3]))
sys.exit(0 if message.verify_signature() else 1)
"""


def decode(data, at=0):
    """One item of CBOR (RFC 8949) and where it ends: what receipts have, and nothing else."""
    major, small = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        return None, at
    number = small
    if small >= 24:
        size = 1 << (small - 24)
        number, at = int.from_bytes(data[at:at + size], "big"), at + size
    if major == 0:
        return number, at
    if major == 1:
        return -1 - number, at
    if major in (2, 3):
        text = data[at:at + number]
        return (text if major == 2 else text.decode()), at + number
    items = []
    for _ in range({4: number, 5: 2 * number, 6: 1}[major]):
        item, at = decode(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2])) if major == 5 else items[0] if major == 6 else items), at


def text_of(payload):
    """The head of a byte string and the string."""
    size = len(payload)
    head = bytes([0x40 + size]) if size < 24 else bytes([0x58, size])
    return head + payload


def node(left, right):
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_of(leaf, size, index, path):
    """RFC 9162 section 2.1.3.2."""
    last, root = size - 1, leaf
    for sibling in path:
        if index & 1 or index == last:
            root = node(sibling, root)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            root = node(root, sibling)
        index, last = index >> 1, last >> 1
    return root


class Scitt(unittest.TestCase):
    def setUp(self):
        self.service = harness.Service()
        self.addCleanup(self.service.__exit__)
        self.service.__enter__()

    def fetch(self, path, accept):
        connection = self.service.connect()
        self.addCleanup(connection.close)
        connection.request("GET", path, headers={"Accept": accept, "Authorization":
                                                 f"Bearer {self.service.token('ci')}"})  # fmt: skip
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()

    def test_receipts_are_verified_by_others(self):
        log = self.service.request("GET", "/v1/log/checkpoint")[1]
        raw = base64.b64decode(log["verifier_key"].split("+", 2)[2])[1:]
        for index in {0, log["tree_size"] - 1}:
            status, media_type, receipt = self.fetch(f"/v1/log/entries/{index}/proof",
                                                     "application/scitt-receipt+cose")
            self.assertEqual((status, media_type), (200, "application/scitt-receipt+cose"))
            record = self.fetch(f"/v1/log/entries/{index}", "application/json")[2]
            (protected, unprotected, payload, signature), end = decode(receipt)
            self.assertEqual((end, payload), (len(receipt), None))
            header = decode(protected)[0]
            self.assertEqual(header, {1: -8, 15: {1: log["origin"]}, 395: 1})
            size, leaf_index, path = decode(unprotected[396][-1][0])[0]
            self.assertEqual((size, leaf_index), (log["tree_size"], index))
            root = root_of(hashlib.sha256(b"\x00" + record).digest(), size, index, path)
            self.assertEqual(root.hex(), log["root"])
            signed = b"\x84\x6aSignature1" + text_of(protected) + b"\x40" + text_of(root)
            Ed25519PublicKey.from_public_bytes(raw).verify(signature, signed)
            with self.assertRaises(InvalidSignature):
                Ed25519PublicKey.from_public_bytes(raw).verify(signature, signed[:-1] + b"\x00")
            self.with_pycose(receipt, root, raw)

    def with_pycose(self, receipt, root, key):
        python = os.environ.get("ASSAY_COSE_PYTHON")
        if python is None:
            return
        file = self.service.dir / "receipt.cose"
        file.write_bytes(receipt)
        for value, code in ((root, 0), (bytes(32), 1)):
            done = subprocess.run([python, "-c", WITH_PYCOSE, file, value.hex(), key.hex()], check=False,
                                  timeout=60, capture_output=True)  # fmt: skip
            self.assertEqual(done.returncode, code, done.stderr)

    def test_prove_writes_a_receipt(self):
        log = self.service.request("GET", "/v1/log/checkpoint")[1]
        (self.service.dir / "log.vkey").write_text(log["verifier_key"] + "\n")
        prove = ("assay", "log", "prove", "0", "--format", "cose", "--verifier-key-file", "log.vkey")
        done = self.service.run(*prove, "--out", "r.cose", "-o", "json", token="ci")
        self.assertEqual(json.loads(done.stdout)["root"], log["root"])
        self.assertEqual((self.service.dir / "r.cose").read_bytes()[:2], b"\xd2\x84")
        self.assertEqual(self.service.run(*prove, token="ci", check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main()
