# SPDX-License-Identifier: Apache-2.0
"""Mistakes that people make, and what they are told: one row for each, against a real service."""
import base64
import hashlib
import json
import subprocess
import unittest

import harness
from cryptography.hazmat.primitives import serialization


def vkey_of(name, key):
    """The verifier key of a log: C2SP signed-note."""
    digest = hashlib.sha256(name.encode() + b"\n" + key).hexdigest()[:8]
    return f"{name}+{digest}+{base64.b64encode(key).decode()}"


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = harness.Service().__enter__()
        cls.addClassCleanup(cls.service.__exit__)
        folder = cls.service.dir
        (folder / "bad.json").write_text('{\n  "name": "x",\n  "version": one}\n')
        (folder / "model").mkdir()
        (folder / "model/a").write_text("a")
        cls.service.run("sh", "-c", "umask 077; openssl req -x509 -newkey ec -pkeyopt "
                        "ec_paramgen_curve:P-256 -nodes -days 9 -subj /CN=me -keyout me.key -out me.crt")
        cls.service.run("assay", "manifest", "create", "model", "--name", "acme/demo", "--key",
                        "keys/publisher.pem", "--out", "model.json")
        cls.service.run("assay", "push", "model.json", token="ci")
        key = base64.b64decode((folder / "log.vkey").read_text().split("+", 2)[2])
        (folder / "other.vkey").write_text(vkey_of("other.example/log", key))

    def said(self, command, env=None, code=2):
        done = subprocess.run(command, cwd=self.service.dir, text=True, capture_output=True,
                              env={**self.service.env, **(env or {})}, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    # What is typed, what is said, and the exit status.
    ROWS = (
        # verbs, options, names, roles
        ("assay polcy", "no verb 'polcy'; did you mean 'policy'? See 'assay --help'", 2),
        ("assay policy tset", "no verb 'tset'; did you mean 'test'? See 'assay policy --help'", 2),
        ("assay activate", "did you mean 'assay policy activate'?", 2),
        ("assay help polcy", "did you mean 'policy'?", 2),
        ("assay manifest create model --nam acme/x",
         "There is no option '--nam'; did you mean '--name'?", 2),
        ("assay search --stge=evaluate", "There is no option '--stge'; did you mean '--stage'?", 2),
        ("assay token new --principal x --role raeder",
         "there is no such access role; did you mean 'reader'?", 2),
        ("assay key describe keys/publisher.pem.pub --purpose publsher --identity x --not-after 9d",
         "did you mean 'publisher'?", 2),
        # keys and files
        ("assay sign bad.json --key keys/publisher.pem.pub", "line 3, column 14", 2),
        ("assay sign model.json --yes --key keys/publisher.pem.pub",
         "this is a public key, and a private one is expected; give keys/publisher.pem", 2),
        ("assay review bad.json", "line 3, column 14: not well-formed JSON", 2),
        ("assay policy lint bad.json", "line 3, column 14: not well-formed JSON", 1),
        # the log
        ("assay log checkpoint --verifier-key-file other.vkey",
         "the checkpoint is of the log e2e.example/log, and the verifier key is of the log "
         "other.example/log", 1),
    )

    def test_each_says_what_is_meant(self):
        for line, expected, code in self.ROWS:
            with self.subTest(line=line):
                said = self.said(line.split(), code=code)
                self.assertIn(expected, said)
                self.assertNotIn("chmod", said)
                self.assertNotIn("is required", said)

    def test_forbidden_says_who_asked_and_what_is_needed(self):
        said = self.said(["assay", "audit", "events"], {"ASSAY_TOKEN_FILE": "tokens/admin"})
        self.assertIn("the caller admin has the roles: admin; one of these is needed: auditor", said)
        self.assertIn("sent was the token in tokens/admin (ASSAY_TOKEN_FILE)", said)
        status, problem = self.service.request("GET", "/v1/audit/events", token="admin")
        self.assertEqual((status, problem["caller"], problem["roles"], problem["needed"]),
                         (403, "admin", ["admin"], ["auditor"]))
        said = self.said(["assay", "trust", "show"])
        self.assertIn("unauthenticated", said)
        self.assertIn("no credential was sent", said)

    def test_a_token_beside_a_certificate_does_not_win_in_silence(self):
        env = {"ASSAY_TOKEN_FILE": "tokens/ci", "ASSAY_CERT": "me.crt", "ASSAY_CERT_KEY": "me.key"}
        said = self.said(["assay", "search"], env, code=0)
        self.assertIn("the service knows you by the token in tokens/ci (ASSAY_TOKEN_FILE), not by "
                      "the certificate in me.crt (ASSAY_CERT)", said)
        self.assertNotIn("knows you by", self.said(["assay", "search"],
                                                   {"ASSAY_TOKEN_FILE": "tokens/ci"}, code=0))

    def test_a_reader_that_leaves_early_is_no_error(self):
        said = self.said(["bash", "-c", "set -o pipefail; assay explain | head -1; "
                          "assay search -q -o json | true; assay key describe keys/publisher.pem.pub "
                          "--purpose author --identity x --not-after 9d --out - | true"],
                         {"ASSAY_TOKEN_FILE": "tokens/ci"}, code=0)
        self.assertEqual(len(said.splitlines()), 1, said)

    # --- assayd; each with a service of its own that does not run

    def stopped(self):
        service = harness.Service().__enter__()
        self.addCleanup(service.__exit__)
        service.stop()
        return service

    def assayd(self, service, *command, code):
        done = service.run("assayd", *command, "--config", "service/assayd.json", check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_check_config_opens_every_path(self):
        service = self.stopped()
        self.assertIn("valid", self.assayd(service, "check-config", code=0))
        folder = service.dir / "service"
        (folder / "log.pem").rename(folder / "gone.pem")
        (folder / "service.pem").write_bytes((service.dir / "keys/publisher.pem.pub").read_bytes())
        (folder / "tls.key").write_bytes(
            subprocess.run(["openssl", "genpkey", "-algorithm", "ec", "-pkeyopt",
                            "ec_paramgen_curve:P-256"], capture_output=True, check=True).stdout)
        (folder / "anchor").unlink()
        said = self.assayd(service, "check-config", code=2)
        for part in ("/log/key_file", "/service_key_file: ", "this is a public key", "/anchor_file",
                     "does not belong"):
            self.assertIn(part, said)

    def test_a_folder_that_is_not_mounted_is_no_old_database(self):
        service = self.stopped()
        service.config["anchor_file"] = "mounted/anchor"
        (service.dir / "service/assayd.json").write_text(json.dumps(service.config))
        said = self.assayd(service, "run", code=2)
        self.assertIn("the folder of the anchor file is not there", said)
        self.assertNotIn("restored", said)

    def test_a_check_that_finds_nothing_says_so(self):
        service = self.stopped()
        said = self.assayd(service, "check", "-o", "text", code=0)
        self.assertIn("nothing is wrong with the store", said)

    def test_a_proof_after_a_rotation_is_no_false_alarm(self):
        service = self.stopped()
        self.assayd(service, "rotate", "log", "--new-key", "service/log-2.pem", code=0)
        service.config["log"] = {**service.config["log"], "key_file": "log-2.pem"}
        (service.dir / "service/assayd.json").write_text(json.dumps(service.config))
        service.start()
        service.run("assay", "manifest", "create", "keys", "--name", "acme/demo", "--key",
                    "keys/publisher.pem", "--out", "m.json")
        service.run("assay", "push", "m.json", token="ci")
        key = ("--verifier-key-file", "log.vkey")
        done = service.run("assay", "log", "prove", "0", *key, token="ci")
        self.assertIn("the log's key was replaced at entry", done.stderr)
        self.assertIn("verified: entry 0", done.stderr)
        new = done.stderr.split("give: ")[1].split()[0]
        done = service.run("assay", "log", "prove", "0", "--verifier-key", new, token="ci")
        self.assertNotIn("replaced", done.stderr)
        service.run("assay", "log", "checkpoint", *key, token="ci")
        # Who may not see the record of it has no answer, and no alarm.
        done = service.run("assay", "log", "checkpoint", *key, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Perhaps it was replaced", done.stderr)
        # A key that never was the log's is one.
        public = serialization.load_pem_public_key((service.dir / "keys/publisher.pem.pub").read_bytes())
        raw = b"\x01" + public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        done = service.run("assay", "log", "prove", "0", "--verifier-key",
                           vkey_of("e2e.example/log", raw), token="ci", check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("signature-missing", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
