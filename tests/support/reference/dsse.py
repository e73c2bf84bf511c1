# SPDX-License-Identifier: Apache-2.0
"""DSSE envelopes: pre-authentication encoding, statement id, verification (DSSE 1.0.0).

    python3 dsse.py id ENVELOPE                 the statement id of an envelope
    python3 dsse.py pae ENVELOPE                the signed bytes, to stdout
    python3 dsse.py verify ENVELOPE KEY.pem...  count the keys that signed; 1 if none did
"""
import base64
import binascii
import hashlib
import sys

if __package__ in (None, ""):
    import os

    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "reference"
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils

from . import jcs


class DsseError(ValueError):
    """An envelope that is refused; `reason` is one short stable word."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


def pae(payload_type, payload):
    """DSSE protocol.md, Signature Definition: PAE(UTF8(payload_type), payload)."""
    kind = payload_type.encode("utf-8", "strict")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def statement_id(payload_type, payload):
    """Id of a signed statement: SHA-256 of its PAE; signatures are no part of it."""
    return "sha256:" + hashlib.sha256(pae(payload_type, payload)).hexdigest()


def decode_base64(text):
    """DSSE envelope.md: standard or URL-safe alphabet, here with padding and nothing else."""
    if not isinstance(text, str):
        raise DsseError("base64")
    try:
        raw = text.encode("ascii")
        standard = raw.translate(bytes.maketrans(b"-_", b"+/"))
        if standard != raw and (b"+" in raw or b"/" in raw):
            raise DsseError("base64", "two alphabets")
        data = base64.b64decode(standard, validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise DsseError("base64") from None
    if base64.b64encode(data) != standard:  # RFC 4648 section 3.5: bits beyond the data are zero
        raise DsseError("base64", "not canonical")
    return data


def parse(data):
    """DSSE envelope.md: (payload type, payload, [(keyid or None, signature)])."""
    try:
        envelope = jcs.loads(data)
    except jcs.JsonError as error:
        raise DsseError("json", str(error)) from None
    if not isinstance(envelope, dict):
        raise DsseError("envelope")
    kind = envelope.get("payloadType")
    if not isinstance(kind, str) or kind == "":
        raise DsseError("payload-type")
    payload = decode_base64(envelope.get("payload"))
    listed = envelope.get("signatures")
    if not isinstance(listed, list) or not listed:
        raise DsseError("signatures")
    signatures = []
    for item in listed:
        # keyid is only a hint; envelopes in use carry null where they have none
        if not isinstance(item, dict) or not isinstance(item.get("keyid"), (str, type(None))):
            raise DsseError("signatures")
        signature = decode_base64(item.get("sig"))
        if signature == b"":
            raise DsseError("signatures")
        signatures.append((item.get("keyid"), signature))
    return kind, payload, signatures


def check_signature(public_key, signature, message):
    """One signature: Ed25519 (RFC 8032), or ECDSA in DER with the hash of the curve's size."""
    try:
        if isinstance(public_key, ed25519.Ed25519PublicKey):
            public_key.verify(signature, message)
        elif isinstance(public_key, ec.EllipticCurvePublicKey):
            known = {"secp256r1": hashes.SHA256(), "secp384r1": hashes.SHA384()}
            algorithm = known.get(public_key.curve.name)
            if algorithm is None:
                return False
            public_key.verify(signature, message, ec.ECDSA(algorithm))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def raw_to_der(signature):
    """r || s, as in the example of protocol.md, to the DER form that check_signature takes."""
    half = len(signature) // 2
    return utils.encode_dss_signature(
        int.from_bytes(signature[:half], "big"), int.from_bytes(signature[half:], "big")
    )


def accepted_keys(data, public_keys):
    """DSSE protocol.md, Multi-signature Verification: indices of the keys that signed.

    keyid is a hint and is not looked at: every key is tried on every signature.
    """
    kind, payload, signatures = parse(data)
    message = pae(kind, payload)
    return [
        index
        for index, key in enumerate(public_keys)
        if any(check_signature(key, signature, message) for _, signature in signatures)
    ]


def main(argv):
    if len(argv) < 3 or argv[1] not in ("id", "pae", "verify"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        with open(argv[2], "rb") as stream:
            data = stream.read()
        kind, payload, _ = parse(data)
        if argv[1] == "id":
            print(statement_id(kind, payload))
        elif argv[1] == "pae":
            sys.stdout.buffer.write(pae(kind, payload))
        else:
            keys = []
            for name in argv[3:]:
                with open(name, "rb") as stream:
                    keys.append(serialization.load_pem_public_key(stream.read()))
            count = len(accepted_keys(data, keys))
            print(f"{count} of {len(keys)} keys signed")
            return 0 if count else 1
    except DsseError as error:
        print(f"dsse: refused: {error}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"dsse: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
