# SPDX-License-Identifier: Apache-2.0
"""The audit log: records, checkpoints, tiles, receipts, offline verification (schemas/log.md).

    log.py verify DIR --key VKEY [--old CHECKPOINT] [--any-entry]
        verify a mirror of a log (checkpoint and tiles) without the service; with an older checkpoint
        also that the log only grew. --any-entry: entries need not be Assay records.
    log.py record FILE             check one record; print its leaf hash
    log.py receipt RECEIPT RECORD --key VKEY
        check an acknowledgement against the record it is about
    log.py tiles SIZE              list the tile and bundle paths of a log of SIZE entries

VKEY is a verifier key: name+key id in hex+base64(0x01 and the Ed25519 public key).
"""
import argparse
import base64
import binascii
import datetime
import hashlib
import json
import os
import re
import sys

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    __package__ = "reference"
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ed25519

from . import jcs, merkle

HASH = "sha256"
MAX_RECORD = 65535  # C2SP tlog-tiles: an entry has a uint16 length
MAX_NOTE = 1_000_000
MAX_SIGNATURES = 16  # what C2SP signed-note asks every verifier to take
WIDTH = 256  # C2SP tlog-tiles: hashes in a full tile
ED25519 = 1  # C2SP signed-note: signature type


class LogError(ValueError):
    """Something that is refused; `reason` is one short stable word."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


# --- records: schemas/log.md section 2 -------------------------------------------------------


def check_record(data):
    """Section 2: parse the bytes of a record; refuses everything that is not one."""
    if len(data) > MAX_RECORD:
        raise LogError("record-size")
    try:
        record = jcs.loads(data)
    except jcs.JsonError as error:
        raise LogError("record-json", str(error)) from None
    if jcs.dumps(record) != data:
        raise LogError("record-canonical")
    if not isinstance(record, dict) or set(record) != {
        "v", "type", "time", "actor", "subject", "documents", "detail"
    }:  # fmt: skip
        raise LogError("record-members")
    if record["v"] != 1 or isinstance(record["v"], bool):
        raise LogError("record-version")
    if not isinstance(record["type"], str) or len(record["type"]) > 64 or not re.fullmatch(
        r"[a-z][a-z0-9-]*(\.[a-z][a-z0-9-]*)+", record["type"]
    ):  # fmt: skip
        raise LogError("record-type")
    _check_time(record["time"])
    if not isinstance(record["actor"], str) or record["actor"] == "":
        raise LogError("record-actor")
    subject = record["subject"]
    if not isinstance(subject, list) or not all(isinstance(s, str) and s for s in subject):
        raise LogError("record-subject")
    keys = [item.encode("utf-8") for item in subject]
    if any(before >= after for before, after in zip(keys, keys[1:])):
        raise LogError("record-subject", "not in order")
    documents = record["documents"]
    if not isinstance(documents, list) or not all(
        isinstance(d, str) and re.fullmatch(r"sha256:[0-9a-f]{64}", d) for d in documents
    ):
        raise LogError("record-documents")
    if not isinstance(record["detail"], dict):
        raise LogError("record-detail")
    return record


def _check_time(text):
    """Section 2: RFC 3339, UTC, three digits of milliseconds, Z."""
    pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z"
    if not isinstance(text, str) or not re.fullmatch(pattern, text):
        raise LogError("record-time")
    try:
        datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    except ValueError:
        raise LogError("record-time", text) from None
    if text[17:19] > "59":  # no leap seconds
        raise LogError("record-time", text)


def leaf_hash(data):
    """Section 2: RFC 9162 leaf hash of the record's bytes."""
    return merkle.leaf_hash(HASH, data)


# --- signed notes and checkpoints: C2SP signed-note and tlog-checkpoint, schemas/log.md section 3


def key_id(name, public_key):
    """C2SP signed-note, Ed25519 signatures: key id as 4 bytes."""
    return hashlib.sha256(name.encode() + b"\n" + bytes([ED25519]) + public_key).digest()[:4]


def verifier_key(name, public_key):
    """Section 3.3: the verifier key in text."""
    encoded = base64.b64encode(bytes([ED25519]) + public_key).decode()
    return f"{name}+{key_id(name, public_key).hex()}+{encoded}"


def check_name(name):
    """C2SP signed-note: key names are not empty and hold no Unicode space and no plus."""
    if name == "" or "+" in name or any(char.isspace() for char in name):
        raise LogError("key-name", repr(name))


def parse_verifier_key(text):
    """Section 3.3: (name, 32-byte public key)."""
    name, _, rest = text.partition("+")
    hint, _, encoded = rest.partition("+")
    check_name(name)
    try:
        raw = base64.b64decode(encoded, validate=True)
    except binascii.Error:
        raise LogError("verifier-key") from None
    if len(raw) != 33 or raw[0] != ED25519 or key_id(name, raw[1:]).hex() != hint:
        raise LogError("verifier-key")
    return name, raw[1:]


def _decode(text):
    """RFC 4648 section 4, padded, canonical."""
    try:
        data = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error):
        raise LogError("base64") from None
    if base64.b64encode(data).decode() != text:
        raise LogError("base64")
    return data


def split_note(note):
    """C2SP signed-note, Format: bytes to (text, [(key name, key id, signature)])."""
    if len(note) > MAX_NOTE:
        raise LogError("note-size")
    try:
        whole = note.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise LogError("note-utf8") from None
    if any(ord(char) < 0x20 and char != "\n" for char in whole):
        raise LogError("note-control")
    at = whole.rfind("\n\n")
    if at < 0 or not whole.endswith("\n"):
        raise LogError("note-format")
    text, lines = whole[: at + 1], whole[at + 2 :]
    signatures = []
    for line in lines.split("\n")[:-1]:
        if not line.startswith("\u2014 "):
            raise LogError("note-signature")
        name, _, encoded = line[2:].partition(" ")
        check_name(name)
        raw = _decode(encoded)
        if len(raw) < 5:
            raise LogError("note-signature")
        signatures.append((name, raw[:4], raw[4:]))
    if not 1 <= len(signatures) <= MAX_SIGNATURES:
        raise LogError("note-signature")
    return text, signatures


def open_note(note, verifier):
    """C2SP signed-note, Signatures: the text, if the known key signed it.

    Signatures of unknown keys are ignored; a bad one of the known key refuses the note.
    """
    name, public_key = parse_verifier_key(verifier)
    text, signatures = split_note(note)
    found = False
    for other, identifier, signature in signatures:
        if other != name or identifier != key_id(name, public_key):
            continue
        try:
            key = ed25519.Ed25519PublicKey.from_public_bytes(public_key)
            key.verify(signature, text.encode("utf-8"))
        except InvalidSignature:
            raise LogError("note-bad-signature") from None
        found = True
    if not found:
        raise LogError("note-unsigned")
    return text


def parse_checkpoint(text):
    """C2SP tlog-checkpoint, Note text: (origin, size, root).

    Extension lines, which the specification allows and advises against, are refused (section 3.1).
    """
    lines = text.split("\n")
    if len(lines) != 4 or lines[-1] != "" or any(line == "" for line in lines[:-1]):
        raise LogError("checkpoint-lines")
    origin, size, root = lines[0], lines[1], lines[2]
    if not re.fullmatch(r"0|[1-9][0-9]{0,18}", size):
        raise LogError("checkpoint-size")
    raw = _decode(root)
    if len(raw) != 32:
        raise LogError("checkpoint-root")
    return origin, int(size), raw


def open_checkpoint(note, verifier):
    """Section 3: signature, format, and origin equal to the name of the key."""
    origin, size, root = parse_checkpoint(open_note(note, verifier))
    if origin != parse_verifier_key(verifier)[0]:
        raise LogError("checkpoint-origin", origin)
    if size == 0 and root != merkle.root(HASH, []):
        raise LogError("checkpoint-root")
    return origin, size, root


def sign_checkpoint(origin, size, root, seed):
    """Section 3: a checkpoint signed with an Ed25519 seed (tests only)."""
    key = ed25519.Ed25519PrivateKey.from_private_bytes(seed)
    text = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    signature = key_id(origin, public_bytes(seed)) + key.sign(text.encode())
    return (text + f"\n\u2014 {origin} {base64.b64encode(signature).decode()}\n").encode()


def public_bytes(seed):
    from cryptography.hazmat.primitives import serialization as form

    key = ed25519.Ed25519PrivateKey.from_private_bytes(seed).public_key()
    return key.public_bytes(form.Encoding.Raw, form.PublicFormat.Raw)


# --- tiles: C2SP tlog-tiles, schemas/log.md section 4 ----------------------------------------


def tile_path(level, index, width=WIDTH):
    """C2SP tlog-tiles, Merkle Tree: path below the prefix. level: a number, or "entries"."""
    groups = [index % 1000]
    while index >= 1000:
        index //= 1000
        groups.insert(0, index % 1000)
    parts = [f"x{group:03}" for group in groups[:-1]] + [f"{groups[-1]:03}"]
    suffix = f".p/{width}" if width < WIDTH else ""
    return f"tile/{level}/" + "/".join(parts) + suffix


def tiles_of(size):
    """C2SP tlog-tiles, Partial Tiles: [(level, index, width)] of a tree, level by level."""
    found, level, count = [], 0, size
    while count:
        found += [(level, index, WIDTH) for index in range(count // WIDTH)]
        if count % WIDTH:
            found.append((level, count // WIDTH, count % WIDTH))
        level, count = level + 1, count // WIDTH
    return found


def tile_bytes(leaves, level, index, width=WIDTH):
    """C2SP tlog-tiles, Merkle Tree: MTH(D[(n*256+i)*256^l : (n*256+i+1)*256^l]) for each i."""
    span = WIDTH**level
    out = []
    for i in range(width):
        begin = (index * WIDTH + i) * span
        if begin + span > len(leaves):
            raise ValueError("tile beyond the tree")
        out.append(merkle.root(HASH, leaves[begin : begin + span]))
    return b"".join(out)


def bundle_bytes(entries):
    """C2SP tlog-tiles, Log entries: big-endian uint16 length before each entry."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def parse_bundle(data):
    """The reverse of bundle_bytes."""
    entries, at = [], 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 2], "big")
        if at + 2 > len(data) or at + 2 + length > len(data):
            raise LogError("bundle-format")
        entries.append(data[at + 2 : at + 2 + length])
        at += 2 + length
    return entries


# --- mirrors: schemas/log.md section 6 -------------------------------------------------------


def write_mirror(directory, entries, origin, seed):
    """Section 6: what the public URLs of a log with these entries serve."""
    leaves = [leaf_hash(entry) for entry in entries]
    files = {"checkpoint": sign_checkpoint(origin, len(leaves), merkle.root(HASH, leaves), seed)}
    for level, index, width in tiles_of(len(entries)):
        files[tile_path(level, index, width)] = tile_bytes(leaves, level, index, width)
        if level == 0:
            part = entries[index * WIDTH : index * WIDTH + width]
            files[tile_path("entries", index, width)] = bundle_bytes(part)
    for path, data in files.items():
        name = os.path.join(directory, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as stream:
            stream.write(data)
    return files


def _read_tile(directory, level, index, width):
    """A partial tile, or the full one that took its place; None if neither is there."""
    for path in (tile_path(level, index, width), tile_path(level, index)):
        try:
            with open(os.path.join(directory, path), "rb") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


def verify_mirror(directory, verifier, old_note=None, any_entry=False):
    """Section 6.2: recompute everything from the entry bundles; returns a summary."""
    with open(os.path.join(directory, "checkpoint"), "rb") as stream:
        origin, size, root = open_checkpoint(stream.read(), verifier)

    leaves, types = [], {}
    for index in range(-(-size // WIDTH)):
        width = min(WIDTH, size - index * WIDTH)
        data = _read_tile(directory, "entries", index, width)
        if data is None:
            raise LogError("bundle-missing", tile_path("entries", index, width))
        entries = parse_bundle(data)
        if len(entries) < width or len(entries) > WIDTH:
            raise LogError("bundle-width", tile_path("entries", index, width))
        for entry in entries[:width]:
            leaves.append(leaf_hash(entry))
            if not any_entry:
                kind = check_record(entry)["type"]
                types[kind] = types.get(kind, 0) + 1
    if merkle.root(HASH, leaves) != root:
        raise LogError("root")

    missing = 0
    for level, index, width in tiles_of(size):
        data = _read_tile(directory, level, index, width)
        if data is None:
            missing += 1
        elif data[: 32 * width] != tile_bytes(leaves, level, index, width):
            raise LogError("tile", tile_path(level, index, width))

    summary = {"origin": origin, "size": size, "root": root.hex(), "types": types,
               "tiles_missing": missing}  # fmt: skip
    if old_note is not None:
        _, old_size, old_root = open_checkpoint(old_note, verifier)
        if old_size > size or merkle.root(HASH, leaves[:old_size]) != old_root:
            raise LogError("inconsistent", f"size {old_size}")
        summary["consistent_from"] = old_size
    return summary


# --- receipts: schemas/log.md section 5 ------------------------------------------------------


def make_receipt(entries, index, origin, seed):
    """Section 5: the acknowledgement of entry `index` in a log of these entries."""
    leaves = [leaf_hash(entry) for entry in entries]
    note = sign_checkpoint(origin, len(leaves), merkle.root(HASH, leaves), seed)
    path = merkle.inclusion_path(HASH, index, leaves)
    return {
        "origin": origin,
        "index": index,
        "leaf_hash": leaves[index].hex(),
        "tree_size": len(leaves),
        "checkpoint": note.decode(),
        "inclusion": [step.hex() for step in path],
    }


def check_receipt(receipt, record, verifier):
    """Section 5: refuses a receipt that does not prove that the record is in the log."""
    if set(receipt) != {"origin", "index", "leaf_hash", "tree_size", "checkpoint", "inclusion"}:
        raise LogError("receipt-members")
    origin, size, root = open_checkpoint(receipt["checkpoint"].encode(), verifier)
    if receipt["origin"] != origin or receipt["tree_size"] != size:
        raise LogError("receipt-checkpoint")
    leaf = leaf_hash(record)
    if receipt["leaf_hash"] != leaf.hex():
        raise LogError("receipt-leaf")
    path = [bytes.fromhex(step) for step in receipt["inclusion"]]
    if any(step.hex() != text for step, text in zip(path, receipt["inclusion"])):
        raise LogError("receipt-inclusion")
    if not merkle.verify_inclusion(HASH, leaf, receipt["index"], size, path, root):
        raise LogError("receipt-inclusion")


# --- command line ----------------------------------------------------------------------------


def _read(name):
    with open(name, "rb") as stream:
        return stream.read()


def main(argv):
    parser = argparse.ArgumentParser(prog="log.py", description="audit log reference")
    verbs = parser.add_subparsers(dest="verb", required=True)
    sub = verbs.add_parser("verify")
    sub.add_argument("dir")
    sub.add_argument("--key", required=True)
    sub.add_argument("--old")
    sub.add_argument("--any-entry", action="store_true")
    verbs.add_parser("record").add_argument("file")
    sub = verbs.add_parser("receipt")
    sub.add_argument("receipt")
    sub.add_argument("record")
    sub.add_argument("--key", required=True)
    verbs.add_parser("tiles").add_argument("size", type=int)
    args = parser.parse_args(argv[1:])
    try:
        if args.verb == "verify":
            old = _read(args.old) if args.old else None
            print(json.dumps(verify_mirror(args.dir, args.key, old, args.any_entry)))
        elif args.verb == "record":
            data = _read(args.file)
            check_record(data)
            print(leaf_hash(data).hex())
        elif args.verb == "receipt":
            check_receipt(jcs.loads(_read(args.receipt)), _read(args.record), args.key)
            print("receipt proves the record")
        else:
            for level, index, width in tiles_of(args.size):
                print(tile_path(level, index, width))
                if level == 0:
                    print(tile_path("entries", index, width))
    except (LogError, jcs.JsonError) as error:
        print(f"log: refused: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"log: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
