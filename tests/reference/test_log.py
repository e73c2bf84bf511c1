# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import json
import os
import shutil
import tempfile
import unittest

import support
from reference import jcs, log, merkle


def b64(text):
    return base64.b64decode(text)


class Records(unittest.TestCase):
    def test_vectors(self):
        data = support.vectors("log")
        for case in data["records"]:
            log.check_record(b64(case["record"]))
            self.assertEqual(log.leaf_hash(b64(case["record"])).hex(), case["leaf_hash"])
        for case in data["refused_records"]:
            with self.assertRaises(log.LogError, msg=case["record"]) as caught:
                log.check_record(b64(case["record"]))
            self.assertEqual(caught.exception.reason, case["reason"])

    def test_longest_record(self):
        case = support.vectors("log")["longest_record"]
        fill = lambda count: b64(case["template"]).replace(b'"fill":""', b'"fill":"%s"' % (b"x" * count))  # noqa: E731
        longest = fill(case["fill"])
        self.assertEqual((len(longest), case["size"]), (65535, 65535))
        log.check_record(longest)
        self.assertEqual(log.leaf_hash(longest).hex(), case["leaf_hash"])
        with self.assertRaises(log.LogError) as caught:
            log.check_record(fill(case["fill"] + 1))
        self.assertEqual(caught.exception.reason, "record-size")


class Notes(unittest.TestCase):
    def test_known_note(self):
        # The example in the documentation of Go's package golang.org/x/mod/sumdb/note.
        key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
        text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
        line = ("\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n")  # fmt: skip
        self.assertEqual(log.open_note((text + "\n" + line).encode(), key), text)
        self.assertRaises(log.LogError, log.open_note, (text.upper() + "\n" + line).encode(), key)

    def test_public_log(self):
        top = support.shared_vectors("tlog-tiles", "log")
        key = "example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx"
        for size in range(8):
            with open(os.path.join(top, f"checkpoint.{size}"), "rb") as stream:
                note = stream.read()
            origin, got, root = log.open_checkpoint(note, key)
            self.assertEqual((origin, got), ("example.com/log/testdata", size))
            if size == 0:
                continue
            with tempfile.TemporaryDirectory() as mirror:
                shutil.copytree(os.path.join(top, "tile"), os.path.join(mirror, "tile"))
                with open(os.path.join(mirror, "checkpoint"), "wb") as stream:
                    stream.write(note)
                summary = log.verify_mirror(mirror, key, any_entry=True)
            self.assertEqual((summary["size"], summary["root"]), (size, root.hex()))
            self.assertEqual(summary["tiles_missing"], 0)

    def test_vectors(self):
        data = support.vectors("log")
        self.assertEqual(log.parse_verifier_key(data["verifier_key"]), (data["origin"], bytes.fromhex(data["public"])))
        self.assertEqual(log.public_bytes(bytes.fromhex(data["seed"])).hex(), data["public"])
        for case in data["checkpoints"]:
            got = log.open_checkpoint(b64(case["note"]), data["verifier_key"])
            self.assertEqual(got, (data["origin"], case["size"], bytes.fromhex(case["root"])))
        for case in data["refused_checkpoints"]:
            with self.assertRaises(log.LogError, msg=case) as caught:
                log.open_checkpoint(b64(case["note"]), data["verifier_key"])
            self.assertEqual(caught.exception.reason, case["reason"])

    def test_every_flipped_bit_is_refused(self):
        data = support.vectors("log")
        note = b64(data["checkpoints"][2]["note"])
        for at in range(len(note)):
            broken = note[:at] + bytes([note[at] ^ 1]) + note[at + 1 :]
            with self.assertRaises(log.LogError, msg=at):
                log.open_checkpoint(broken, data["verifier_key"])
        for length in range(len(note)):
            with self.assertRaises(log.LogError, msg=length):
                log.open_checkpoint(note[:length], data["verifier_key"])

    def test_verifier_keys_that_are_refused(self):
        good = support.vectors("log")["verifier_key"]
        name, hint, key = good.split("+", 2)
        other = f"{int(hint, 16) ^ 1:08x}"
        for bad in ("", name, f"{name}+{hint}", f"{name}+{other}+{key}", f"x{good}", f"{name}+{hint}+{key[:-4]}",
                    f"+{hint}+{key}", f"a b+{hint}+{key}", f"{name}+{hint.upper()}+{key}"):  # fmt: skip
            self.assertRaises(log.LogError, log.parse_verifier_key, bad)


class Proofs(unittest.TestCase):
    def test_vectors(self):
        data = support.vectors("log")
        leaves = [bytes.fromhex(leaf) for leaf in data["leaves"]]
        roots = [bytes.fromhex(root) for root in data["roots"]]
        steps = lambda case: [bytes.fromhex(step) for step in case["path"]]  # noqa: E731
        self.assertEqual(leaves[7], merkle.leaf_hash("sha256", b"entry-7"))
        for case in data["inclusion"]:
            i, n = case["index"], case["size"]
            self.assertTrue(merkle.verify_inclusion("sha256", leaves[i], i, n, steps(case), roots[n]))
        for case in data["consistency"]:
            m, n = case["size1"], case["size2"]
            self.assertTrue(merkle.verify_consistency("sha256", m, n, roots[m], roots[n], steps(case)))


class Tiles(unittest.TestCase):
    def test_examples_of_the_specification(self):
        self.assertEqual(log.tile_path(0, 1234067), "tile/0/x001/x234/067")
        partial = [tile for tile in log.tiles_of(70000) if tile[2] < 256]
        self.assertEqual(partial, [(0, 273, 112), (1, 1, 17), (2, 0, 1)])
        self.assertEqual(len([tile for tile in log.tiles_of(70000) if tile[:1] == (0,)]), 274)
        self.assertEqual(log.tiles_of(256), [(0, 0, 256), (1, 0, 1)])

    def test_vectors(self):
        data = support.vectors("log")
        for case in data["tile_paths"]:
            self.assertEqual(log.tile_path(case["level"], case["index"], case["width"]), case["path"])
        with tempfile.TemporaryDirectory() as top:
            entries = [b"entry-%d" % i for i in range(300)]
            files = log.write_mirror(top, entries, data["origin"], bytes.fromhex(data["seed"]))
        got = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
        del got["checkpoint"]
        self.assertEqual(got, data["tiles_300"])

    def test_bundles(self):
        entries = [b"", b"a", b"x" * 65535]
        self.assertEqual(log.parse_bundle(log.bundle_bytes(entries)), entries)
        for bad in (b"\0", b"\0\1", b"\0\2a", b"\0\1ab"):
            self.assertRaises(log.LogError, log.parse_bundle, bad)


class Mirrors(unittest.TestCase):
    def setUp(self):
        self.data = support.vectors("log")
        self.key = self.data["verifier_key"]
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.top = held.name
        for path in self.data["mirror"]:
            self.put(path, b64(self.data["mirror"][path]))

    def put(self, path, content):
        name = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(name), exist_ok=True)
        with open(name, "wb") as stream:
            stream.write(content)

    def assert_refused(self, reason, **kwargs):
        with self.assertRaises(log.LogError) as caught:
            log.verify_mirror(self.top, self.key, **kwargs)
        self.assertEqual(caught.exception.reason, reason)

    def test_good(self):
        old = b64(self.data["mirror_old_checkpoint"])
        summary = log.verify_mirror(self.top, self.key, old)
        self.assertEqual((summary["size"], summary["consistent_from"], summary["tiles_missing"]), (9, 4, 0))
        self.assertEqual(sum(summary["types"].values()), 9)

    def test_missing_tile_is_reported_and_missing_bundle_refused(self):
        os.unlink(os.path.join(self.top, "tile/0/000.p/9"))
        self.assertEqual(log.verify_mirror(self.top, self.key)["tiles_missing"], 1)
        os.unlink(os.path.join(self.top, "tile/entries/000.p/9"))
        self.assert_refused("bundle-missing")

    def test_full_bundle_takes_the_place_of_a_partial_one(self):
        name = os.path.join(self.top, "tile/entries/000.p/9")
        with open(name, "rb") as stream:
            bundle = stream.read()
        shutil.rmtree(os.path.dirname(name))
        shutil.rmtree(os.path.join(self.top, "tile/0"))
        self.put("tile/entries/000", bundle + log.bundle_bytes([b"later"] * 247))
        self.assertEqual(log.verify_mirror(self.top, self.key)["size"], 9)
        self.put("tile/entries/000", bundle + log.bundle_bytes([b"later"] * 248))
        self.assert_refused("bundle-width")

    def test_changed_bytes(self):
        bundle = b64(self.data["mirror"]["tile/entries/000.p/9"])
        self.put("tile/entries/000.p/9", bundle.replace(b"alice", b"malle"))
        self.assert_refused("root")
        self.put("tile/entries/000.p/9", bundle[:-1])
        self.assert_refused("bundle-format")
        self.put("tile/entries/000.p/9", log.bundle_bytes(log.parse_bundle(bundle)[:-1]))
        self.assert_refused("bundle-width")
        self.put("tile/entries/000.p/9", bundle)
        self.put("tile/0/000.p/9", bytes(9 * 32))
        self.assert_refused("tile")

    def test_entries_that_are_not_records(self):
        seed = bytes.fromhex(self.data["seed"])
        log.write_mirror(self.top, [b"anything"], self.data["origin"], seed)
        self.assert_refused("record-json")
        self.assertEqual(log.verify_mirror(self.top, self.key, any_entry=True)["size"], 1)

    def test_history_that_was_rewritten(self):
        seed = bytes.fromhex(self.data["seed"])
        old = b64(self.data["mirror_old_checkpoint"])
        entries = log.parse_bundle(b64(self.data["mirror"]["tile/entries/000.p/9"]))
        record = jcs.loads(entries[2])
        record["actor"] = "mallory"
        entries[2] = jcs.dumps(record)
        log.write_mirror(self.top, entries, self.data["origin"], seed)
        log.verify_mirror(self.top, self.key)
        self.assert_refused("inconsistent", old_note=old)
        log.write_mirror(self.top, entries[:3], self.data["origin"], seed)
        self.assert_refused("inconsistent", old_note=old)

    def test_receipts(self):
        for case in self.data["receipts"]:
            receipt, record = json.loads(case["receipt"]), b64(case["record"])
            if case["want"] == "accept":
                log.check_receipt(receipt, record, self.key)
                continue
            with self.assertRaises(log.LogError) as caught:
                log.check_receipt(receipt, record, self.key)
            self.assertEqual(caught.exception.reason, case["reason"])


if __name__ == "__main__":
    unittest.main()
