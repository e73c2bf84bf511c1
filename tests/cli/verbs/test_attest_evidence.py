# SPDX-License-Identifier: Apache-2.0
"""assay attest create with evidence of the hardware that holds the key: of a program, and of a
machine that has none."""
import base64
import hashlib
import json
import pathlib
import unittest

import harness
from harness import TROUBLE

ARTIFACT = "assay-tree-v1-sha256:" + "ab" * 32
TSM = pathlib.Path("/sys/kernel/config/tsm/report")


class AttestCreate(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.key_id = self.key("trainer")
        program = self.dir / "evidence.sh"
        program.write_text('#!/bin/sh\nprintf %s "$1" >"$(dirname "$0")/asked"\n'
                           'cat "$(dirname "$0")/answer"\n')  # fmt: skip
        program.chmod(0o700)
        self.program = ("--evidence", "command", "--evidence-command", str(program),
                        "--evidence-type", "example")  # fmt: skip

    def create(self, *options, code=0):
        return self.assay("attest", "create", "--stage", "train", "--subject", ARTIFACT, "--name",
                          "acme/demo", "--key", "trainer.pem", "--out", "made.json",
                          "--evidence-out", "made.evidence.json", *options, code=code)  # fmt: skip

    def spki(self):
        lines = (self.dir / "trainer.pem.pub").read_text().splitlines()
        return base64.b64decode("".join(line for line in lines if not line.startswith("-----")))

    def envelope(self, name):
        envelope = json.loads((self.dir / name).read_bytes())
        return envelope["payloadType"], base64.b64decode(envelope["payload"])

    def test_of_a_program(self):
        """The program is asked for report data of this statement and this key; what it prints is
        in the evidence, signed by the same key."""
        told = base64.b64encode(b"what the hardware said").decode()
        self.write_json("answer", {"evidence": told, "platform": "00ff"})
        self.create(*self.program)
        kind, statement = self.envelope("made.json")
        statement_id = hashlib.sha256(
            b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(statement), statement)).digest()
        kind, evidence = self.envelope("made.evidence.json")
        self.assertEqual(kind, "application/vnd.assay.stage-evidence+json")
        evidence = json.loads(evidence)
        self.assertEqual(evidence["statement"], "sha256:" + statement_id.hex())
        self.assertEqual(evidence["key_id"], self.key_id)
        self.assertEqual((evidence["evidence"]["type"], evidence["evidence"]["quote"]),
                         ("example", told))  # fmt: skip
        asked = hashlib.sha512(b"assay/statement/v1\0" + statement_id +
                               hashlib.sha256(self.spki()).digest())  # fmt: skip
        self.assertEqual((self.dir / "asked").read_text(), asked.hexdigest())

    def test_of_a_program_that_has_none(self):
        for answer in ("", "{}", "no JSON", '{"evidence": "!"}'):
            with self.subTest(answer=answer):
                self.write("answer", answer.encode())
                self.create(*self.program, code=TROUBLE)
                self.assertFalse((self.dir / "made.evidence.json").exists())
        self.create(*self.program[:4], code=TROUBLE)

    @unittest.skipIf(TSM.exists(), "this machine has evidence of its own")
    def test_of_a_machine_that_has_none(self):
        self.assertIn("evidence-unavailable", self.create("--evidence", "tdx", code=TROUBLE).err)
        self.assertFalse((self.dir / "made.evidence.json").exists())


if __name__ == "__main__":
    harness.main()
