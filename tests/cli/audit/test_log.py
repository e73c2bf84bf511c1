# SPDX-License-Identifier: Apache-2.0
"""assay log verify against mirrors that the independent reference makes."""
import base64
import json
import shutil

import harness
from harness import NO, YES
from reference import log

VECTORS = json.loads((harness.SOURCE / "tests/vectors/log.json").read_text())
SEED = bytes.fromhex(VECTORS["seed"])
ORIGIN = VECTORS["origin"]
VKEY = VECTORS["verifier_key"]


def record(number):
    return log.jcs.dumps({
        "v": 1, "type": "decision.made" if number % 3 else "manifest.accepted", "actor": "ci",
        "time": f"2026-01-02T03:04:05.{number % 1000:03}Z", "subject": [f"subject-{number}"],
        "documents": ["sha256:" + f"{number:064x}"], "detail": {"number": number},
    })  # fmt: skip


class Log(harness.TestCase):
    def mirror(self, size, name="mirror"):
        shutil.rmtree(self.dir / name, ignore_errors=True)
        (self.dir / name).mkdir()
        return log.write_mirror(str(self.dir / name), [record(i) for i in range(size)], ORIGIN, SEED)

    def verify(self, *options, name="mirror", code=YES, key=VKEY):
        return self.assay("log", "verify", name, "--verifier-key", key, *options, "-o", "json",
                          code=code).json()  # fmt: skip

    def note(self, size, name):
        leaves = [log.leaf_hash(record(i)) for i in range(size)]
        self.write(name, log.sign_checkpoint(ORIGIN, size, log.merkle.root("sha256", leaves), SEED))
        return name

    def receipt(self, size, index, name):
        self.write_json(name, log.make_receipt([record(i) for i in range(size)], index, ORIGIN, SEED))
        return name

    def test_good_mirrors(self):
        for size in (0, 1, 2, 255, 256, 257, 600):
            with self.subTest(size=size):
                files = self.mirror(size)
                got = self.verify()
                want = log.verify_mirror(str(self.dir / "mirror"), VKEY)
                self.assertEqual((got["origin"], got["tree_size"], got["root"], got["types"]),
                                 (ORIGIN, size, want["root"], want["types"]))  # fmt: skip
                tiles = [path for path in files if path.startswith("tile/") and "entries" not in path]
                self.assertEqual((got["tiles_checked"], got["tiles_missing"]), (len(tiles), 0))

    def test_members_of_the_result(self):
        self.mirror(3)
        self.assertEqual(sorted(self.verify()), [
            "consistent_from", "origin", "receipts", "root", "tiles_checked", "tiles_missing",
            "tree_size", "types", "verified"])  # fmt: skip
        text = self.assay("log", "verify", "mirror", "--verifier-key", VKEY).out
        self.assertTrue(text.startswith(f"verified {ORIGIN} at size 3, root "), text)

    def test_the_vector_mirror(self):
        for path, content in VECTORS["mirror"].items():
            self.write(f"mirror/{path}", base64.b64decode(content))
        self.write("old", base64.b64decode(VECTORS["mirror_old_checkpoint"]))
        self.write("log.vkey", VKEY + "\n")
        got = self.assay("log", "verify", "mirror", "--verifier-key-file", "log.vkey", "--since",
                         "old", "-o", "json").json()  # fmt: skip
        self.assertEqual(len(got["consistent_from"]), 1)

    def test_every_changed_byte_is_refused(self):
        files = self.mirror(300)
        for path, content in files.items():
            places = {0, 1, len(content) // 2, len(content) - 1}
            places |= set(range(7, len(content), max(1, len(content) // 8)))
            for at in sorted(place for place in places if place < len(content)):
                bad = bytearray(content)
                bad[at] ^= 1 << (at % 8)
                self.write(f"mirror/{path}", bytes(bad))
                with self.subTest(path=path, at=at):
                    error = self.verify(code=NO)["error"]
                    self.assertTrue(error["where"].startswith(path), error)
            self.write(f"mirror/{path}", content)
        self.verify()

    def test_every_byte_of_a_checkpoint(self):
        good = self.mirror(2)["checkpoint"]
        for at in range(len(good)):
            bad = bytearray(good)
            bad[at] ^= 1
            self.write("mirror/checkpoint", bytes(bad))
            with self.subTest(at=at):
                self.verify(code=NO)

    def test_cut_and_longer_files(self):
        files = self.mirror(300)
        for path, content in files.items():
            for bad in (b"", content[:-1], content + b"\0", content + content):
                self.write(f"mirror/{path}", bad)
                with self.subTest(path=path, size=len(bad)):
                    self.verify(code=NO)
            self.write(f"mirror/{path}", content)

    def test_missing_files(self):
        files = self.mirror(300)
        for path, content in files.items():
            (self.dir / "mirror" / path).unlink()
            with self.subTest(path=path):
                if path == "checkpoint" or "entries" in path:
                    self.assertEqual(self.verify(code=NO)["error"]["where"].split(".p/")[0],
                                     path.split(".p/")[0])  # fmt: skip
                else:  # the entries prove the root
                    self.assertEqual(self.verify()["tiles_missing"], 1)
            self.write(f"mirror/{path}", content)
        self.assertEqual(self.error("log", "verify", "nosuch", "--verifier-key", VKEY),
                         "file-unreadable")  # fmt: skip

    def test_full_tiles_stand_in_for_partial_ones(self):
        grown = self.mirror(256)
        self.mirror(250)
        shutil.rmtree(self.dir / "mirror/tile")
        for path, content in grown.items():
            if path.startswith("tile/") and ".p/" not in path:
                self.write(f"mirror/{path}", content)
        got = self.verify()
        self.assertEqual((got["tree_size"], got["tiles_missing"]), (250, 0))
        bad = bytearray(grown["tile/0/000"])
        bad[32 * 249] ^= 1
        self.write("mirror/tile/0/000", bytes(bad))
        self.verify(code=NO)

    def test_wrong_keys(self):
        self.mirror(3)
        other = log.verifier_key(ORIGIN, log.public_bytes(b"\7" * 32))
        self.assertEqual(self.verify(key=other, code=NO)["error"]["code"], "signature-missing")
        named = log.verifier_key("other.example", log.public_bytes(SEED))
        self.verify(key=named, code=NO)
        self.assertEqual(self.error("log", "verify", "mirror"), "usage")
        for key in ("x", VKEY[:-1], VKEY.replace("+", "-", 1)):
            self.assay("log", "verify", "mirror", "--verifier-key", key, code=harness.TROUBLE)

    def test_older_checkpoints(self):
        self.mirror(300)
        since = [word for size in (1, 7, 256, 300)
                 for word in ("--since", self.note(size, f"checkpoint.{size}"))]  # fmt: skip
        self.assertEqual(self.verify(*since)["consistent_from"], [1, 7, 256, 300])
        fork = log.sign_checkpoint(ORIGIN, 9, b"\1" * 32, SEED)
        self.write("fork", fork)
        error = self.verify("--since", "fork", code=NO)["error"]
        self.assertEqual(error["code"], "log-inconsistent")
        self.assertIn("9", error["where"])
        self.assertEqual(self.verify("--since", self.note(301, "longer"), code=NO)["error"]["code"],
                         "log-inconsistent")  # fmt: skip
        unsigned = (self.dir / "checkpoint.7").read_bytes().split(b"\n\n")[0] + b"\n\n"
        self.write("unsigned", unsigned)
        self.verify("--since", "unsigned", code=NO)

    def test_receipts(self):
        self.mirror(300)
        options = []
        for size, index in ((1, 0), (8, 5), (300, 299), (257, 256)):
            options += ["--receipt", self.receipt(size, index, f"r{size}.json")]
        self.assertEqual(self.verify(*options)["receipts"], 4)
        # As an answer of the service, and as what push printed.
        receipt = self.read_json("r8.json")
        self.write_json("answer.json", {"id": "x", "log": receipt})
        self.write_json("pushed.json", {"items": [{"log": receipt}, {"log": self.read_json("r1.json")}]})
        self.assertEqual(self.verify("--receipt", "answer.json", "--receipt", "pushed.json")["receipts"], 3)

    def test_broken_promises(self):
        self.mirror(300)
        good = json.loads((self.dir / self.receipt(8, 5, "good.json")).read_text())
        forged = [record(i) for i in range(8)]
        forged[5] = record(99)
        for bad in (
            log.make_receipt(forged, 5, ORIGIN, SEED),
            log.make_receipt([record(i) for i in range(301)], 300, ORIGIN, SEED),
            {**good, "index": 4}, {**good, "leaf_hash": "0" * 64}, {**good, "tree_size": 9},
            {**good, "origin": "other"}, {**good, "inclusion": good["inclusion"][:-1]},
            {**good, "inclusion": []}, {**good, "more": 1}, {**good, "index": "5"}, {}, {"items": []},
        ):  # fmt: skip
            self.write_json("bad.json", bad)
            with self.subTest(receipt=bad):
                error = self.verify("--receipt", "bad.json", code=NO)["error"]
                self.assertIn("bad.json", error["where"])

    def test_vector_receipts(self):
        for path, content in VECTORS["mirror"].items():
            self.write(f"mirror/{path}", base64.b64decode(content))
        for number, vector in enumerate(VECTORS["receipts"]):
            self.write("r.json", vector["receipt"])
            receipt = json.loads(vector["receipt"])
            # Whether a record at hand is the one of the receipt is not asked here.
            if log.leaf_hash(base64.b64decode(vector["record"])).hex() == receipt.get("leaf_hash"):
                with self.subTest(number=number):
                    self.verify("--receipt", "r.json", code=YES if vector["want"] == "accept" else NO)

    def test_records_are_checked(self):
        good = [record(i) for i in range(5)]
        for bad in (good[2] + b" ", b"{}", b"", good[2].replace(b'"v":1', b'"v":2'),
                    good[2].replace(b'"detail"', b'"Detail"')):  # fmt: skip
            shutil.rmtree(self.dir / "mirror", ignore_errors=True)
            (self.dir / "mirror").mkdir()
            log.write_mirror(str(self.dir / "mirror"), [*good[:2], bad, *good[3:]], ORIGIN, SEED)
            with self.subTest(record=bad):
                self.assertIn("entry 2", self.verify(code=NO)["error"]["where"])


if __name__ == "__main__":
    harness.main()
