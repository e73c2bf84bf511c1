# SPDX-License-Identifier: Apache-2.0
"""What fits on a terminal: through a pseudo-terminal of 80 and of 200 columns."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import unicodedata

import harness
import served
from harness import PROGRAM
from tls_server import Answer

UUID = "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c"
ID = "sha256:" + "9f86d081" * 8
ARTIFACT = "assay-tree-v1-sha256:" + "dc66" * 16
HOSTILE = "\x1b[2J\u540d\u524d"


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Terminal(served.TestCase):
    def on(self, columns, *arguments, code=0, env=None):
        """What a terminal of so many columns gets, of both streams."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=subprocess.DEVNULL,
                                   stdout=theirs, stderr=theirs, cwd=self.dir,
                                   env={**self.environment, **(env or {})}, start_new_session=True)
        os.close(theirs)
        pieces = []

        def read():
            try:
                while piece := os.read(ours, 65536):
                    pieces.append(piece)
            except OSError:
                pass  # the other end is closed

        reader = threading.Thread(target=read)
        reader.start()
        self.assertEqual(process.wait(harness.SLOW), code, b"".join(pieces))
        reader.join()
        os.close(ours)
        return b"".join(pieces).decode().replace("\r\n", "\n")

    def assert_fits(self, text, columns):
        for line in text.splitlines():
            self.assertLessEqual(width(line), columns, repr(line))
        self.assertNotIn("\x1b", text)

    def decisions(self):
        self.answer("GET", "/v1/decisions", *[Answer(200, {"total": 200, "items": [{
            "id": f"{UUID}{i:02}", "verdict": "deny", "point": "create", "namespace": HOSTILE,
            "reasons": ["manifest-missing", "statement-missing"], "subjects": [ARTIFACT],
            "models": [{"name": "", "artifact": ARTIFACT}],
            "evaluated_at": "2027-01-31T12:00:00Z"} for i in range(20)]})] * 9)  # fmt: skip

    def test_tables_leave_out_columns_before_they_wrap(self):
        self.decisions()
        narrow = self.on(80, "decision", "list", *self.to)
        self.assert_fits(narrow, 80)
        self.assertIn(f"{UUID}07", narrow)
        self.assertIn("no room for ", narrow)
        self.assertIn("--wide shows all", narrow)
        self.assertIn("REASONS", narrow.splitlines()[1])
        middle = self.on(200, "decision", "list", *self.to)
        self.assert_fits(middle, 200)
        self.assertGreater(len(middle.splitlines()[1]), len(narrow.splitlines()[1]))
        whole = self.on(80, "decision", "list", "--wide", *self.to)
        self.assertIn(ARTIFACT, whole)
        self.assertNotIn("no room", whole)
        self.assertIn(ARTIFACT, self.assay("decision", "list", *self.to).out, "a pipe gets all")

    def test_ids_are_short_in_tables_and_whole_in_json(self):
        self.answer("GET", "/v1/policies", *[Answer(200, {"items": [
            {"id": ID, "name": "prod", "version": 3, "active": True,
             "accepted_at": "2027-01-31T12:00:00Z"}]})] * 9)  # fmt: skip
        for columns in (80, 200):
            text = self.on(columns, "policy", "list", *self.to)
            self.assert_fits(text, columns)
            self.assertIn("2027-01-31", text)
        self.assertIn("sha256:9f86d081...  prod", self.on(80, "policy", "list", *self.to))
        self.assertIn(ID, self.on(80, "policy", "list", *self.to, "-o", "json"))

    def verdict(self):
        """A refusal with everything that a verdict may have, each text as long and odd as it gets."""
        many = [f"reviewer-{i}@acme.example {HOSTILE}" for i in range(9)]
        def one(name, **more):
            return {"id": name, "outcome": "fail", "code": "statement-missing",
                    "expected": {"at_least": 2, "names": many}, "actual": {"artifact": ARTIFACT},
                    "evidence": {"count": 12, "first": [ID, ARTIFACT]}, **more}  # fmt: skip
        nested = one("outer", parts=[one("inner", parts=[one("innermost " + HOSTILE)])])
        policies = [{"name": "prod", "version": 3, "id": ID, "mode": "enforce", "model": model,
                     "outcome": "fail", "conditions": [nested]} for model in (ARTIFACT, "acme/demo")]
        return {"allowed": False, "reasons": ["manifest-missing", "statement-missing", "signers-too-few",
                                              "evidence-missing", "lineage-incomplete"],
                "warnings": [{"policy": "trial", "reasons": many}], "preconditions": [one("model-reference")],
                "policies": policies}  # fmt: skip

    def verdicts(self):
        """Each verb that prints one, with its exit status."""
        self.answer("POST", "/v1/decisions", *[Answer(200, {
            "selected": True, "decision": {"id": f"{UUID}11", "verdict": self.verdict()}})] * 9)
        self.answer("GET", f"/v1/decisions/{UUID}11", *[Answer(200, {
            "id": f"{UUID}11", "point": "create", "verdict": self.verdict(),
            "models": [{"name": "acme/demo", "artifact": ARTIFACT}], "facts": ID,
            "evaluated_at": "2027-01-31T12:00:00Z"})] * 9)  # fmt: skip
        self.answer("POST", f"/v1/decisions/{UUID}11:replay", *[Answer(200, {
            "reproduced": True, "recorded": ID[7:15], "recomputed": ID[7:15], "verdict": self.verdict()})] * 9)
        return ((("decide", "--model", "acme/demo", *self.to, "-q"), harness.NO),
                (("decision", "show", f"{UUID}11", *self.to), 0),
                (("decision", "replay", f"{UUID}11", *self.to), 0))  # fmt: skip

    def test_verdicts_wrap_at_words(self):
        for arguments, code in self.verdicts():
            for columns in (60, 80, 200):
                with self.subTest(verb=arguments[:2], columns=columns):
                    text = self.on(columns, *arguments, code=code)
                    self.assert_fits(text, columns)
                    self.assertIn("\n      fail inner", text, "a part stands below its whole")
                    short = columns < 200
                    self.assertIn("looked at sha256:9f86d081" + ("..." if short else "9f86"), text)
                    words = " ".join(text.split())
                    for part in ("deny: manifest-missing, statement-missing, signers-too-few,",
                                 "reviewer-8@acme.example \\x1b[2J\u540d\u524d", "looked at 12 in all",
                                 "warning: policy trial, reasons reviewer-0@acme.example",
                                 "policy prod v3 (enforce): fail about assay-tree-v1-sha256:dc66dc66"):
                        self.assertIn(part, words)
            wide = self.on(80, *arguments, "--wide", code=code)
            piped = self.assay(*arguments, code=code).out
            self.assertEqual(wide, piped, "--wide prints what a pipe gets")
            self.assertIn(f"  looked at {ARTIFACT}\n", piped.replace(" " * 9, ""))
            self.assertEqual(max(map(len, piped.splitlines())) > 200, True, "a pipe gets whole lines")

    def test_verdicts_have_no_colour(self):
        for arguments, code in self.verdicts():
            plain = self.on(80, *arguments, code=code, env={"NO_COLOR": "1"})
            for env in ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, {"TERM": "dumb"}):
                self.assertEqual(self.on(80, *arguments, code=code, env=env), plain)
            self.assertNotIn("\x1b", plain)

    def test_help_wraps_at_words(self):
        for path in ((), ("decide",), ("sign",), ("impact",), ("evidence", "verify"), ("log", "verify")):
            for columns in (60, 80, 200):
                text = self.on(columns, *path, "--help")
                self.assert_fits(text, columns)
                self.assertLessEqual(max(map(len, text.splitlines())), 100, "nobody reads longer ones")
        words = " ".join(self.on(80, "impact", "--help").split())
        self.assertEqual(words.count("Nothing is changed, signed or logged."), 1)

    def test_progress_stays_on_one_line(self):
        self.write("model/big", b"")
        os.truncate(self.dir / "model/big", 600 << 20)
        for columns in (40, 80, 200):
            text = self.on(columns, "hash", "model", "--threads", "1")
            drawn = [line for line in re.split(r"[\r\n]", text) if " %, " in line]
            for line in drawn:
                self.assertLess(len(line.replace("\x1b[K", "")), columns, line)
            self.assertIn("[", "".join(drawn) or "[", "a bar, where there is time for one")
        plain = self.on(80, "hash", "model", "--threads", "1", env={"TERM": "dumb"})
        self.assertNotIn("\x1b", plain)

    def test_no_colour_at_all(self):
        self.decisions()
        for env in ({"NO_COLOR": "1"}, {"TERM": "xterm-256color", "COLORTERM": "truecolor"}):
            for arguments in (("help",), ("decision", "list", *self.to), ("explain", "forbidden")):
                self.assertNotRegex(self.on(80, *arguments, env=env), r"\x1b\[[0-9;]*m")


if __name__ == "__main__":
    harness.main()
