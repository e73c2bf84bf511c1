# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/dsse.json: pre-authentication encoding, statement ids, envelopes."""
import base64
import json

from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from reference import dsse, log

SEEDS = [bytes(range(32)), bytes(range(100, 132))]  # test keys, published here on purpose
IN_TOTO = "application/vnd.in-toto+json"
STATEMENT = json.dumps({
    "_type": "https://in-toto.io/Statement/v1",
    "subject": [{"name": "model", "digest": {"assay-tree-v1-sha256": "00" * 32}}],
    "predicateType": "https://example.com/predicate/v1",
    "predicate": {"note": "caf\u00e9"},
}, ensure_ascii=False).encode()  # fmt: skip


def b64(data):
    return base64.b64encode(data).decode()


def pae_cases():
    cases = [
        ("example of the DSSE specification", "http://example.com/HelloWorld", b"hello world"),
        ("empty payload", IN_TOTO, b""),
        ("empty type, empty payload", "", b""),
        ("length counts bytes of UTF-8", "application/\u00e9\U0001f600", "caf\u00e9".encode()),
        ("payload with spaces and digits", "a", b"11 hello 5 world"),
        ("payload that is itself an encoding", "b", b"DSSEv1 1 b 0 "),
        ("binary payload", "application/octet-stream", bytes(range(256))),
        ("payload with newline", IN_TOTO, b'{"a":1}\n'),
        ("in-toto statement", IN_TOTO, STATEMENT),
        ("type with spaces", "a b  c", b"x"),
        ("ten bytes", "t", b"0123456789"),
    ]
    return [{"name": name, "payload_type": kind, "payload": b64(payload), "pae": b64(dsse.pae(kind, payload)),
             "id": dsse.statement_id(kind, payload)} for name, kind, payload in cases]  # fmt: skip


def sign(seed, message):
    return ed25519.Ed25519PrivateKey.from_private_bytes(seed).sign(message)


def envelope(payload, kind, signatures):
    listed = [{"sig": b64(sig)} if keyid is None else {"keyid": keyid, "sig": b64(sig)}
              for keyid, sig in signatures]  # fmt: skip
    return {"payload": b64(payload), "payloadType": kind, "signatures": listed}


def url_safe(text):
    return text.replace("+", "-").replace("/", "_")


def envelopes():
    """(name, envelope as text, indices of the keys that signed, or the reason of a refusal)."""
    message = dsse.pae(IN_TOTO, STATEMENT)
    one, two = sign(SEEDS[0], message), sign(SEEDS[1], message)
    good = envelope(STATEMENT, IN_TOTO, [("k", one)])
    binary = bytes([0xFB, 0xEF, 0xBE, 0xFF, 0xFE, 0xFD])
    signed_binary = envelope(binary, "x/y", [(None, sign(SEEDS[0], dsse.pae("x/y", binary)))])
    flipped = one[:-1] + bytes([one[-1] ^ 1])
    yield "one signature", good, [0]
    yield "no keyid", envelope(STATEMENT, IN_TOTO, [(None, one)]), [0]
    yield "keyid null", {**good, "signatures": [{"keyid": None, "sig": b64(one)}]}, [0]
    yield "keyid names another key", envelope(STATEMENT, IN_TOTO, [("other", two)]), [1]
    yield "two keys", envelope(STATEMENT, IN_TOTO, [("a", one), ("b", two)]), [0, 1]
    yield "one key twice counts once", envelope(STATEMENT, IN_TOTO, [("a", one), ("b", one)]), [0]
    yield "bad signature beside a good one", envelope(STATEMENT, IN_TOTO, [("a", flipped), ("b", two)]), [1]
    yield "members in another order", dict(reversed(good.items())), [0]
    yield "URL-safe base64", {**signed_binary, "payload": url_safe(signed_binary["payload"])}, [0]
    yield "standard base64 of the same", signed_binary, [0]
    yield "flipped signature", envelope(STATEMENT, IN_TOTO, [("a", flipped)]), []
    yield "payload changed", envelope(STATEMENT + b" ", IN_TOTO, [("a", one)]), []
    yield "payload type changed", envelope(STATEMENT, IN_TOTO + "x", [("a", one)]), []
    yield "signature over the payload alone", envelope(STATEMENT, IN_TOTO, [("a", sign(SEEDS[0], STATEMENT))]), []
    old = b"DSSEV1" + message[6:]
    yield "signature over DSSEV1 in capitals", envelope(STATEMENT, IN_TOTO, [("a", sign(SEEDS[0], old))]), []
    yield "signature cut", envelope(STATEMENT, IN_TOTO, [("a", one[:63])]), []
    yield "signature with a byte more", envelope(STATEMENT, IN_TOTO, [("a", one + b"\0")]), []
    yield "no signatures", envelope(STATEMENT, IN_TOTO, []), "signatures"
    yield "signatures missing", {k: v for k, v in good.items() if k != "signatures"}, "signatures"
    yield "signatures an object", {**good, "signatures": {}}, "signatures"
    yield "signature without sig", {**good, "signatures": [{"keyid": "k"}]}, "base64"
    yield "empty sig", {**good, "signatures": [{"sig": ""}]}, "signatures"
    yield "keyid a number", {**good, "signatures": [{"keyid": 1, "sig": b64(one)}]}, "signatures"
    yield "payload missing", {k: v for k, v in good.items() if k != "payload"}, "base64"
    yield "payload an object", {**good, "payload": {}}, "base64"
    yield "payload type missing", {k: v for k, v in good.items() if k != "payloadType"}, "payload-type"
    yield "payload type empty", {**good, "payloadType": ""}, "payload-type"
    yield "payload type a number", {**good, "payloadType": 1}, "payload-type"
    yield "payload with a newline", {**good, "payload": good["payload"][:8] + "\n" + good["payload"][8:]}, "base64"
    yield "payload with a star", {**good, "payload": "*" + good["payload"][1:]}, "base64"
    yield "payload without padding", {**signed_binary, "payload": b64(b"abcd").rstrip("=")}, "base64"
    yield "payload with bits beyond the data", {**good, "payload": "YR=="}, "base64"
    yield "two alphabets in one payload", {**good, "payload": "++__"}, "base64"
    text = json.dumps(good)
    yield "payload twice", text[:-1] + ', "payload": "' + good["payload"] + '"}', "json"
    yield "text after the envelope", text + "x", "json"
    yield "an array", "[" + text + "]", "envelope"


def build():
    raw = [{"seed": seed.hex(), "public": log.public_bytes(seed).hex()} for seed in SEEDS]
    keys = [ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key["public"])) for key in raw]
    found = []
    for name, body, want in envelopes():
        text = body if isinstance(body, str) else json.dumps(body)
        case = {"name": name, "envelope": text}
        if isinstance(want, str):
            try:
                dsse.parse(text.encode())
            except dsse.DsseError as error:
                assert error.reason == want, (name, error)
            else:
                raise AssertionError(name)
            case |= {"want": "reject", "reason": want}
        else:
            assert dsse.accepted_keys(text.encode(), keys) == want, name
            case |= {"want": "accept", "signed_by": want}
        found.append(case)
    example = {
        "payload": "aGVsbG8gd29ybGQ=",
        "payloadType": "http://example.com/HelloWorld",
        "signatures": [{"sig": "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA=="}],
    }  # fmt: skip
    x = 46950820868899156662930047687818585632848591499744589407958293238635476079160
    y = 5640078356564379163099075877009565129882514886557779369047442380624545832820
    key = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    kind, payload, signatures = dsse.parse(json.dumps(example).encode())
    der = dsse.raw_to_der(signatures[0][1])
    assert dsse.check_signature(key, der, dsse.pae(kind, payload))
    return {
        "what": "DSSE. pae: payload and PAE in base64, id of the statement. keys: Ed25519 test keys, "
        "seeds published on purpose, never to be trusted. envelopes: JSON text; accept means it can be "
        "read, signed_by lists the keys (by index) that signed it, maybe none. "
        "specification_example: the example of DSSE protocol.md, ECDSA P-256 with SHA-256; its "
        "signature is r || s, signature_der the same in DER.",
        "source": "specification_example: secure-systems-lab/dsse protocol.md, section Test Vectors "
        "(Apache-2.0); the rest written for this project",
        "pae": pae_cases(),
        "keys": raw,
        "envelopes": found,
        "specification_example": {
            "envelope": json.dumps(example),
            "public_x": f"{x:064x}",
            "public_y": f"{y:064x}",
            "pae": b64(dsse.pae(kind, payload)),
            "signature_der": b64(der),
        },
    }
