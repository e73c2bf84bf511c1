#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The result of another verifier, as `assay worker run --evidence ear --evidence-command` takes it.

Arguments: the report data for this machine's own evidence, and the nonce for the verifier, both in
hex. A real program takes evidence of the machine with that report data, sends it to the verifier
with the nonce, and prints the token that comes back. Here the verifier is in the same file, its key
is VERIFIER_KEY (PEM, P-256), and it believes everything: this shows the form and is worth nothing
else. ASSAY_* variables do not get here, so MACHINE names the machine: up to 64 bytes in hex.
"""
import base64
import json
import os
import sys
import time

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils

ISSUER = "https://verifier.example"
PROFILE = "tag:ietf.org,2026:rats/ear#04"


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def coordinates(number):
    return base64url(number.to_bytes(32, "big"))


def jwks(key):
    """The verifier's public key, for the appraisal."""
    numbers = key.public_key().public_numbers()
    return {"keys": [{"kty": "EC", "crv": "P-256", "kid": "example",
                      "x": coordinates(numbers.x), "y": coordinates(numbers.y)}]}


def token(key, report_data, nonce, machine):
    """What the verifier says: RFC 7515, draft-ietf-rats-ear."""
    claims = {"eat_profile": PROFILE, "iss": ISSUER, "iat": int(time.time()), "eat_nonce": nonce,
              "ear_status": "affirming",
              "submods": {"cpu0": {
                  "ear_status": "affirming",
                  "ear_trustworthiness_vector": {"hardware": 2, "executables": 3},
                  "ear_attester_claims": {"report_data": report_data, "machine": machine}}}}
    text = ".".join(base64url(json.dumps(part).encode())
                    for part in ({"alg": "ES256", "kid": "example"}, claims))
    signature = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return text + "." + base64url(b"".join(part.to_bytes(32, "big") for part in signature))


def main():
    report_data, nonce = sys.argv[1:]
    with open(os.environ["VERIFIER_KEY"], "rb") as file:
        key = serialization.load_pem_private_key(file.read(), None)
    machine = os.environ.get("MACHINE", "00" * 16)
    print(json.dumps({"platform": machine, "ear": token(key, report_data, nonce, machine)}))


if __name__ == "__main__":
    main()
