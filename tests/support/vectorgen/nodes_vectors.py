# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/nodes.json: report data of enrolments, reports and statements, answers to spot checks."""
import base64
import hashlib
import hmac

from reference import jcs
from . import painted

SPKI = bytes.fromhex("302a300506032b6570032100") + bytes(range(32))
NONCES = (bytes(32), bytes(range(32)), bytes([255]) * 32)
REQUESTS = (
    {"audience": "assay.example.com/log", "node": "gpu-1", "platform": "", "purpose": "enrol"},
    {"audience": "assay.example.com/log", "node": "gpu-1.rack-2.example",
     "platform": "00112233445566778899aabbccddeeff", "purpose": "enrol"},
    {"audience": "quote\"back\\slash/\u00e9\U0001f600", "node": "n", "platform": "ff", "purpose": "enrol"},
    {"audience": "assay.example.com/log", "identity_token": "9f" * 32, "node": "pool-1",
     "platform": "ff", "purpose": "enrol"},
)  # fmt: skip
PAYLOADS = (b"", b"{}", painted(1000))


def report_data(domain, nonce, spki, third):
    message = domain + b"\x00" + nonce + hashlib.sha256(spki).digest() + third
    return hashlib.sha512(message).hexdigest()


def enrolments():
    for nonce in NONCES:
        for request in REQUESTS:
            canonical = jcs.dumps(request)
            digest = hashlib.sha256(canonical).digest()
            yield {"nonce": nonce.hex(), "request": request, "canonical": canonical.decode("utf-8"),
                   "report_data": report_data(b"assay/enrol/v1", nonce, SPKI, digest)}  # fmt: skip


def reports():
    for nonce in NONCES:
        for payload in PAYLOADS:
            digest = hashlib.sha256(payload).digest()
            yield {"nonce": nonce.hex(), "payload": base64.b64encode(payload).decode(),
                   "report_data": report_data(b"assay/report/v1", nonce, SPKI, digest)}  # fmt: skip


def statements():
    for number in range(3):
        statement = hashlib.sha256(b"statement %d" % number).digest()
        yield {"statement": "sha256:" + statement.hex(),
               "report_data": report_data(b"assay/statement/v1", statement, SPKI, b"")}  # fmt: skip


def spots():
    roots = (("sha256", hashlib.sha256(b"root").digest()), ("sha384", hashlib.sha384(b"root").digest()))
    places = ((0, 0, 0), (0, 1, 1), (1, 0, 4096), (258, 2**32 + 3, 5000), (2**20 - 1, 2**53 - 1, 64))
    for nonce in NONCES:
        for name, root in roots:
            for entry, index, size in places:
                message = (b"assay/spot/v1" + root + entry.to_bytes(8, "big")
                           + index.to_bytes(8, "big") + painted(size))  # fmt: skip
                yield {"nonce": nonce.hex(), "artifact": f"assay-tree-v1-{name}:{root.hex()}",
                       "entry": entry, "index": index, "size": size,
                       "answer": hmac.new(nonce, message, hashlib.sha256).hexdigest()}  # fmt: skip


def build():
    return {
        "what": "REPORTDATA of enrolments, reports and statements under one key, and answers to spot checks",
        "source": "schemas/evidence.h, schemas/verification_report.h; hashlib and hmac of Python",
        "spki": base64.b64encode(SPKI).decode(),
        "enrolments": list(enrolments()),
        "reports": list(reports()),
        "statements": list(statements()),
        "spots": list(spots()),
    }
