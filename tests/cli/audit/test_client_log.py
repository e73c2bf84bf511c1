# SPDX-License-Identifier: Apache-2.0
"""The public log over HTTPS: mirrors, checkpoints and proofs, against a small server of our own."""
import harness
import served
from harness import NO, YES
from reference import log
from tls_server import Answer


class ClientLog(served.TestCase):
    SEED = b"\x05" * 32

    def serve_log(self, entries):
        origin = "log.example"
        files = log.write_mirror(str(self.dir / "source"), entries, origin, self.SEED)
        self.server.answers = {f"GET /log/{path}": Answer(200, content, "application/octet-stream")
                               for path, content in files.items()}  # fmt: skip
        return log.verifier_key(origin, log.public_bytes(self.SEED))

    def entries(self, count, actor="ci"):
        return [log.jcs.dumps({"v": 1, "type": "decision.made", "actor": actor, "subject": [],
                               "time": "2026-01-02T03:04:05.678Z", "documents": [],
                               "detail": {"n": i}}) for i in range(count)]  # fmt: skip

    def mirror(self, key, code=YES):
        return self.assay("log", "mirror", "copy", "--verifier-key", key, *self.to, "-o", "json",
                          code=code).json()  # fmt: skip

    def test_mirror(self):
        (self.dir / "source").mkdir()
        key = self.serve_log(self.entries(200))
        got = self.mirror(key)
        self.assertEqual((got["tree_size"], got["previous_size"], got["verified"]), (200, 0, True))
        # Records name principals: only they are asked for with a credential.
        for _, path, headers, *_ in self.server.requests:
            self.assertEqual("Authorization" in headers, "/tile/entries/" in path, path)
        old = (self.dir / "copy/checkpoint").read_bytes()
        self.serve_log(self.entries(300))
        got = self.mirror(key)
        self.assertEqual((got["tree_size"], got["previous_size"]), (300, 200))
        self.assertEqual(sorted(str(path.relative_to(self.dir / "copy"))
                                for path in (self.dir / "copy").rglob("*") if path.is_file()),
                         ["checkpoint", "tile/0/000", "tile/0/001.p/44", "tile/1/000.p/1",
                          "tile/entries/000", "tile/entries/001.p/44"])  # fmt: skip
        self.server.requests.clear()
        self.assertEqual(self.mirror(key)["files"], 0)
        self.assertEqual([request[1] for request in self.server.requests], ["/log/checkpoint"])
        self.write("old", old)
        self.assay("log", "verify", "copy", "--verifier-key", key, "--since", "old")

    def test_mirror_refuses_a_log_that_changed_its_past(self):
        (self.dir / "source").mkdir()
        key = self.serve_log(self.entries(20))
        self.mirror(key)
        before = (self.dir / "copy/checkpoint").read_bytes()
        self.serve_log(self.entries(19))
        self.assertEqual(self.mirror(key, code=NO)["error"]["code"], "log-inconsistent")
        self.serve_log(self.entries(20, actor="eve") + self.entries(2))
        self.assertEqual(self.mirror(key, code=NO)["error"]["code"], "log-inconsistent")
        self.assertEqual((self.dir / "copy/checkpoint").read_bytes(), before)
        # What did not verify is not kept.
        self.serve_log(self.entries(22))
        self.assertEqual(self.mirror(key)["tree_size"], 22)

    def test_checkpoint(self):
        (self.dir / "source").mkdir()
        key = self.serve_log(self.entries(5))
        got = self.assay("log", "checkpoint", "--verifier-key", key, *self.to, "-o", "json").json()
        self.assertEqual((got["tree_size"], got["verified"]), (5, True))
        other = log.verifier_key("log.example", log.public_bytes(b"\x06" * 32))
        self.answer("GET", "/v1/audit/events", Answer(200, {"items": []}))
        self.assay("log", "checkpoint", "--verifier-key", other, *self.to, code=NO)

    def test_a_checkpoint_cannot_write_to_the_terminal(self):
        name = "log.example/\x9b2J\u202e"  # C1: control sequence introducer
        note = log.sign_checkpoint(name, 5, b"\x07" * 32, self.SEED)
        self.answer("GET", "/log/checkpoint", Answer(200, note, "text/plain"))
        base = ("log", "checkpoint", *self.to)
        shown = self.on_a_terminal(*base).decode()
        self.assertIn("log.example/\\xc2\\x9b2J\\xe2\\x80\\xae\r\n5\r\n", shown)
        self.assertNotIn("\x9b", shown)
        self.assertIn("\u2014", shown)
        # A pipe or a file gets the note byte for byte: it is signed.
        self.assertEqual(self.assay(*base).raw, note)
        got = self.assay(*base, "-o", "json")
        self.assertNotIn("\x9b", got.out)
        self.assertIn("log.example/\\u009b2J\\u202e", got.out)
        self.assertEqual(got.json()["checkpoint"].encode(), note)

    def test_prove(self):
        (self.dir / "source").mkdir()
        entries = self.entries(9)
        key = self.serve_log(entries)
        receipt = log.make_receipt(entries, 4, "log.example", self.SEED)
        self.answer("GET", "/v1/log/checkpoint", Answer(200, {
            "origin": "log.example", "tree_size": 9, "checkpoint": receipt["checkpoint"]}))
        self.answer("GET", "/v1/log/entries/4", Answer(200, entries[4]))
        self.answer("GET", "/v1/log/entries/4/proof", Answer(200, {"inclusion": receipt["inclusion"]}))
        got = self.assay("log", "prove", "4", "--verifier-key", key, *self.to).json()
        self.assertEqual(got, receipt)
        self.answer("GET", "/v1/log/entries/4", Answer(200, entries[5]))
        self.assay("log", "prove", "4", "--verifier-key", key, *self.to, code=NO)


if __name__ == "__main__":
    harness.main()
