# SPDX-License-Identifier: Apache-2.0
"""Answers of a service that stored a signed statement, with the receipt of its log."""
import base64
import hashlib
import json

from reference import dsse, log

SEED = bytes(range(32))


def stored(envelope, index, size=9, seed=SEED, **changes):
    """AcceptedStatement for the bytes of an envelope; `changes` are members of the record, and
    `signers` of its detail."""
    parsed = json.loads(envelope)
    payload = base64.b64decode(parsed["payload"])
    identifier = dsse.statement_id(parsed["payloadType"], payload)
    keys = ["sha256:" + signature["keyid"] for signature in parsed["signatures"]]
    record = {
        "v": 1, "type": "attestation.accepted", "actor": "ci", "subject": [identifier],
        "time": "2026-01-02T03:04:05.678Z", "detail": {"signers": changes.pop("signers", keys)},
        "documents": ["sha256:" + hashlib.sha256(envelope).hexdigest()], **changes}  # fmt: skip
    entries = [log.jcs.dumps({**record, "subject": [], "detail": {"n": n}}) for n in range(size)]
    entries[index] = log.jcs.dumps(record)
    return {
        "id": identifier, "record": record,
        "log": log.make_receipt(entries, index, "log.example", seed),
        "signers": [{"key_id": key, "log_index": index} for key in keys]}  # fmt: skip
