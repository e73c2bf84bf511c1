# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/log.json: records, proofs, checkpoints, tiles, a mirror, receipts."""
import base64
import hashlib
import json
import tempfile

from reference import jcs, log, merkle

SEED = bytes(range(32))  # test key, published here on purpose
OTHER_SEED = bytes(range(1, 33))
ORIGIN = "assay.example.com/log"
PUBLIC = log.public_bytes(SEED)
KEY = log.verifier_key(ORIGIN, PUBLIC)
ARTIFACT = "assay-tree-v1-sha256:dc669cf4daaedb04ed6a6a764a47fd25c9cb5f523fb78e0ede8700bcf6eb84dd"


def b64(data):
    return base64.b64encode(data).decode()


def document(name):
    return "sha256:" + hashlib.sha256(name.encode()).hexdigest()


def record(**changes):
    base = {
        "v": 1,
        "type": "manifest.accepted",
        "time": "2026-01-02T03:04:05.678Z",
        "actor": "ci",
        "subject": [ARTIFACT, document("statement")],
        "documents": [document("envelope")],
        "detail": {"entries": 3},
    }
    return {**base, **changes}


def good_records():
    # None of the chain of trust and policy: the store gives those their place in it.
    return [
        record(type="job.created", actor="system", subject=[], documents=[document("trust")],
               detail={}, time="2026-01-01T00:00:00.000Z"),
        record(),
        record(type="policy.accepted", actor="alice", subject=["policy/production@3"],
               documents=[document("policy"), document("approval")], detail={"version": 3}),
        record(type="policy.proposed", subject=["policy/production@3"], documents=[]),
        record(type="attestation.accepted", detail={"stage": "train", "metrics": {"loss": 0.25, "steps": 1e30}}),
        record(type="decision.made", actor="n\u00f8de \U0001f600", detail={"verdict": "deny"}, time="2024-02-29T23:59:59.999Z"),
        record(type="outline.accepted", documents=[document("b"), document("a"), document("b")]),
        record(type="node.enrolled", detail={"\uff21": 1, "\U0001f600": 2, "quote": "\"\\\n\u0001"}),
        record(type="admission.not-applicable", actor="system", subject=[], documents=[]),
        record(type="x.y-2.z", subject=["\uff21", "\U0001f600"]),
    ]  # fmt: skip


def refused_records():
    good = jcs.dumps(record())

    def j(**changes):
        return jcs.dumps(record(**changes))

    yield "record-json", b""
    yield "record-json", good[:-1]
    yield "record-json", good + b"{}"
    yield "record-json", good[:-1] + b',"v":1}'
    yield "record-canonical", good + b"\n"
    yield "record-canonical", b" " + good
    yield "record-canonical", json.dumps(record(), separators=(",", ":")).encode()
    yield "record-canonical", good.replace(b'"v":1', b'"v":1.0')
    yield "record-canonical", good.replace(b"ci", b"\\u0063i")
    yield "record-members", b"[]"
    yield "record-members", jcs.dumps({k: v for k, v in record().items() if k != "detail"})
    yield "record-members", j(extra=1)
    yield "record-version", j(v=2)
    yield "record-version", j(v="1")
    yield "record-version", j(v=True)
    for kind in ("", "manifest", "Manifest.accepted", "manifest.", ".accepted", "a..b", "a.1b", "a b.c", "a." + "b" * 63, 7):
        yield "record-type", j(type=kind)
    for time in ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.67Z", "2026-01-02T03:04:05.6789Z", "2026-01-02t03:04:05.678z",
                 "2026-01-02 03:04:05.678Z", "2026-01-02T03:04:05.678+00:00", "2026-02-29T03:04:05.678Z",
                 "2026-13-01T00:00:00.000Z", "2026-01-02T24:00:00.000Z", "2026-12-31T23:59:60.000Z", 1767322800):  # fmt: skip
        yield "record-time", j(time=time)
    yield "record-actor", j(actor="")
    yield "record-actor", j(actor=None)
    yield "record-subject", j(subject=ARTIFACT)
    yield "record-subject", j(subject=["b", "a"])
    yield "record-subject", j(subject=["a", "a"])
    yield "record-subject", j(subject=[""])
    yield "record-subject", j(subject=[1])
    yield "record-subject", j(subject=["\U0001f600", "\uff21"])
    yield "record-documents", j(documents=[document("a")[7:]])
    yield "record-documents", j(documents=[document("a").upper()])
    yield "record-documents", j(documents=[document("a")[:-1]])
    yield "record-documents", j(documents=["sha384:" + "0" * 96])
    yield "record-documents", j(documents=document("a"))
    yield "record-detail", j(detail=[])
    yield "record-detail", j(detail=None)


def filled(length):
    """A record of exactly `length` bytes."""
    room = length - len(jcs.dumps(record(detail={"fill": ""})))
    return room, jcs.dumps(record(detail={"fill": "x" * room}))


def proofs():
    leaves = [log.leaf_hash(b"entry-%d" % i) for i in range(20)]
    inclusion, consistency = [], []
    for size in range(1, 21):
        part = leaves[:size]
        everything = range(size) if size <= 8 else sorted({0, size // 2, size - 2, size - 1})
        for index in everything:
            path = merkle.inclusion_path("sha256", index, part)
            inclusion.append({"index": index, "size": size, "path": [step.hex() for step in path]})
        power = 1 << ((size - 1).bit_length() - 1) if size > 1 else 1
        olds = range(1, size + 1) if size <= 8 else sorted({1, size // 3, power, size - 1, size})
        for old in olds:
            path = merkle.consistency_proof("sha256", old, part)
            consistency.append({"size1": old, "size2": size, "path": [step.hex() for step in path]})
    roots = [merkle.root("sha256", leaves[:size]).hex() for size in range(21)]
    return leaves, roots, inclusion, consistency


def checkpoints(roots):
    good = []
    for size in (0, 1, 8, 20):
        note = log.sign_checkpoint(ORIGIN, size, bytes.fromhex(roots[size]), SEED)
        good.append({"note": b64(note), "size": size, "root": roots[size]})
    note = log.sign_checkpoint(ORIGIN, 8, bytes.fromhex(roots[8]), SEED)
    text, _, line = note.decode().rpartition("\n\n")
    stranger = log.sign_checkpoint("witness.example.com/w", 8, bytes.fromhex(roots[8]), OTHER_SEED)
    stranger = stranger.decode().rpartition("\n\n")[2]
    same_name = log.sign_checkpoint(ORIGIN, 8, bytes.fromhex(roots[8]), OTHER_SEED).decode().rpartition("\n\n")[2]
    for extra in (stranger + line, line + stranger, line + same_name):
        good.append({"note": b64((text + "\n\n" + extra).encode()), "size": 8, "root": roots[8]})
    crowd = [b64(bytes([i] * 68)) for i in range(16)]  # signatures of keys that nobody knows
    others = [f"\u2014 witness.example.com/{i} {crowd[i]}\n" for i in range(16)]
    good.append({"note": b64((text + "\n\n" + "".join(others[:15]) + line).encode()), "size": 8, "root": roots[8]})
    for case in good:
        opened = log.open_checkpoint(base64.b64decode(case["note"]), KEY)
        assert opened == (ORIGIN, case["size"], bytes.fromhex(case["root"]))

    bad_signature = bytearray(base64.b64decode(line.split(" ")[2]))
    bad_signature[-1] ^= 1
    bad_line = f"\u2014 {ORIGIN} {b64(bytes(bad_signature))}\n"
    base = f"{ORIGIN}\n8\n{b64(bytes.fromhex(roots[8]))}\n"
    refused = [
        ("note-format", b""),
        ("note-format", note[:-1]),
        ("note-format", text.encode() + b"\n"),
        ("note-format", (text + "\n" + line).encode()),
        ("note-signature", (text + "\n\n").encode()),
        ("note-utf8", note.replace(b"assay", b"ass\xff\x79")),
        ("note-control", note.replace(b"\n", b"\r\n")),
        ("note-control", note.replace(b"8\n", b"8\t\n", 1)),
        ("note-signature", note.replace("\u2014".encode(), b"-")),
        ("note-signature", note.replace("\u2014".encode(), "\u2013".encode())),
        ("base64", note[:-2] + b"*\n"),
        ("note-bad-signature", note.replace(b"\n8\n", b"\n7\n")),
        ("note-bad-signature", (text + "\n\n" + bad_line).encode()),
        ("note-bad-signature", (text + "\n\n" + line + bad_line).encode()),
        ("note-unsigned", (text + "\n\n" + stranger).encode()),
        ("note-unsigned", (text + "\n\n" + same_name).encode()),
        ("checkpoint-origin", signed_text(base.replace(ORIGIN, "other.example.com/log"))),
        ("checkpoint-size", signed_text(base.replace("\n8\n", "\n08\n"))),
        ("checkpoint-size", signed_text(base.replace("\n8\n", "\n-8\n"))),
        ("checkpoint-size", signed_text(base.replace("\n8\n", "\n+8\n"))),
        ("checkpoint-size", signed_text(base.replace("\n8\n", "\n8 \n"))),
        ("checkpoint-size", signed_text(base.replace("\n8\n", "\n0x8\n"))),
        ("checkpoint-size", signed_text(base.replace("\n8\n", "\n99999999999999999999\n"))),
        ("checkpoint-lines", signed_text(base.replace("\n8\n", "\n\n"))),
        ("checkpoint-lines", signed_text(f"{ORIGIN}\n8\n")),
        ("checkpoint-lines", signed_text(base + "\nmore\n")),
        ("checkpoint-lines", signed_text(base + "extension line\n")),
        ("note-signature", (text + "\n\n" + "".join(others) + line).encode()),
        ("checkpoint-root", signed_text(f"{ORIGIN}\n8\n{b64(bytes(31))}\n")),
        ("checkpoint-root", signed_text(f"{ORIGIN}\n0\n{b64(bytes(32))}\n")),
        ("base64", signed_text(f"{ORIGIN}\n8\n{bytes.fromhex(roots[8]).hex()[:-1]}\n")),
        ("base64", signed_text(f"{ORIGIN}\n8\n{b64(bytes(32)).rstrip('=')}\n")),
        ("base64", signed_text(f"{ORIGIN}\n8\n{'_' + b64(bytes(32))[1:]}\n")),
    ]
    for reason, data in refused:
        try:
            log.open_checkpoint(data, KEY)
        except log.LogError as error:
            assert error.reason == reason, (reason, error, data)
        else:
            raise AssertionError((reason, data))
    return good, [{"note": b64(data), "reason": reason} for reason, data in refused]


def signed_text(text):
    """A note with any text, signed by the test key under its own name."""
    key = log.ed25519.Ed25519PrivateKey.from_private_bytes(SEED)
    signature = log.key_id(ORIGIN, PUBLIC) + key.sign(text.encode())
    return (text + f"\n\u2014 {ORIGIN} {b64(signature)}\n").encode()


def tile_tables():
    paths = []
    for index in (0, 1, 9, 10, 99, 100, 999, 1000, 1001, 1999, 999999, 1000000, 1234067, 10**9, 2**53 // 256):
        paths.append({"level": 0, "index": index, "width": 256, "path": log.tile_path(0, index)})
    for level, index, width in ((0, 0, 1), (0, 0, 255), (1, 273, 17), (2, 1000, 112), (6, 0, 9), ("entries", 0, 17),
                                ("entries", 1234067, 256), ("entries", 1234067, 8)):  # fmt: skip
        paths.append({"level": level, "index": index, "width": width, "path": log.tile_path(level, index, width)})
    counts = []
    for size in (0, 1, 2, 255, 256, 257, 511, 512, 65535, 65536, 65537, 70000, 16777216, 16777217):
        full, partial = [], []
        for level, index, width in log.tiles_of(size):
            while len(full) <= level:
                full.append(0)
            if width == 256:
                full[level] += 1
            else:
                partial.append(log.tile_path(level, index, width))
        counts.append({"size": size, "full": full, "partial": partial})
    return paths, counts


def receipts(records):
    receipt = log.make_receipt(records, 5, ORIGIN, SEED)
    text = json.dumps(receipt)
    first = log.make_receipt(records[:1], 0, ORIGIN, SEED)
    other_size = log.make_receipt(records[:8], 5, ORIGIN, SEED)
    cases = [
        ("accept", receipt, records[5]),
        ("accept", first, records[0]),
        ("receipt-leaf", receipt, records[4]),
        ("receipt-leaf", {**receipt, "leaf_hash": "00" * 32}, records[5]),
        ("receipt-leaf", {**receipt, "leaf_hash": receipt["leaf_hash"].upper()}, records[5]),
        ("receipt-inclusion", {**receipt, "index": 4}, records[5]),
        ("receipt-inclusion", {**receipt, "index": 9}, records[5]),
        ("receipt-inclusion", {**receipt, "inclusion": receipt["inclusion"][:-1]}, records[5]),
        ("receipt-inclusion", {**receipt, "inclusion": receipt["inclusion"] + ["00" * 32]}, records[5]),
        ("receipt-inclusion", {**receipt, "inclusion": receipt["inclusion"][::-1]}, records[5]),
        ("receipt-checkpoint", {**receipt, "tree_size": 8}, records[5]),
        ("receipt-checkpoint", {**receipt, "origin": "other.example.com/log"}, records[5]),
        ("receipt-inclusion", {**receipt, "checkpoint": other_size["checkpoint"], "tree_size": 8}, records[5]),
        ("note-bad-signature", {**receipt, "checkpoint": receipt["checkpoint"].replace("\n9\n", "\n8\n"), "tree_size": 8}, records[5]),
        ("receipt-members", {k: v for k, v in receipt.items() if k != "origin"}, records[5]),
        ("receipt-members", {**receipt, "time": "2026-01-02T03:04:05.678Z"}, records[5]),
    ]
    assert json.loads(text) == receipt
    found = []
    for want, body, data in cases:
        try:
            log.check_receipt(body, data, KEY)
            got = "accept"
        except log.LogError as error:
            got = error.reason
        assert got == want, (want, got)
        case = {"receipt": json.dumps(body), "record": b64(data), "want": "accept" if want == "accept" else "reject"}
        found.append(case if want == "accept" else {**case, "reason": want})
    return found


def build():
    records = [jcs.dumps(item) for item in good_records()]
    for data in records:
        log.check_record(data)
    refused = []
    for reason, data in refused_records():
        try:
            log.check_record(data)
        except log.LogError as error:
            assert error.reason == reason, (reason, error, data)
        else:
            raise AssertionError(data)
        refused.append({"record": b64(data), "reason": reason})
    room, longest = filled(log.MAX_RECORD)
    assert len(longest) == 65535
    log.check_record(longest)
    leaves, roots, inclusion, consistency = proofs()
    good, bad = checkpoints(roots)
    paths, counts = tile_tables()
    with tempfile.TemporaryDirectory() as top:
        mirror = log.write_mirror(top, records[:9], ORIGIN, SEED)
        log.verify_mirror(top, KEY)
        big = log.write_mirror(top + "/big", [b"entry-%d" % i for i in range(300)], ORIGIN, SEED)
        log.verify_mirror(top + "/big", KEY, any_entry=True)
    old_root = merkle.root("sha256", [log.leaf_hash(data) for data in records[:4]])
    return {
        "what": "The audit log: schemas/log.md section 7 names the members. The key is a test key "
        "whose seed is published on purpose: never trust it.",
        "source": "written for this project after RFC 9162 and C2SP signed-note, tlog-checkpoint and "
        "tlog-tiles",
        "seed": SEED.hex(),
        "public": PUBLIC.hex(),
        "verifier_key": KEY,
        "origin": ORIGIN,
        "records": [{"record": b64(data), "leaf_hash": log.leaf_hash(data).hex()} for data in records],
        "longest_record": {"fill": room, "size": 65535, "leaf_hash": log.leaf_hash(longest).hex(),
                           "template": b64(jcs.dumps(record(detail={"fill": ""})))},
        "refused_records": refused,
        "leaves": [leaf.hex() for leaf in leaves],
        "roots": roots,
        "inclusion": inclusion,
        "consistency": consistency,
        "checkpoints": good,
        "refused_checkpoints": bad,
        "tile_paths": paths,
        "tile_counts": counts,
        "tiles_300": {path: hashlib.sha256(data).hexdigest() for path, data in big.items() if path != "checkpoint"},
        "mirror": {path: b64(data) for path, data in mirror.items()},
        "mirror_old_checkpoint": b64(log.sign_checkpoint(ORIGIN, 4, old_root, SEED)),
        "receipts": receipts(records[:9]),
    }  # fmt: skip
