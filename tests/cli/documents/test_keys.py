# SPDX-License-Identifier: Apache-2.0
"""Keys, tokens, descriptions, changes of trust, statements: the documents that people make."""
import base64
import hashlib
import json
import os
import stat
import subprocess

import harness
from harness import NO, TROUBLE
from reference import dsse


class Keys(harness.TestCase):
    def mode(self, name):
        return stat.S_IMODE(os.stat(self.dir / name).st_mode)

    def test_new_keys(self):
        from cryptography.hazmat.primitives import serialization

        for algorithm in ("ed25519", "ecdsa-p256", "ecdsa-p384", "ecdsa-p521"):
            key_id = self.key(algorithm, algorithm)
            self.assertEqual(self.mode(f"{algorithm}.pem"), 0o600)
            public = serialization.load_pem_public_key((self.dir / f"{algorithm}.pem.pub").read_bytes())
            der = public.public_bytes(serialization.Encoding.DER,
                                      serialization.PublicFormat.SubjectPublicKeyInfo)  # fmt: skip
            self.assertEqual(key_id, "sha256:" + hashlib.sha256(der).hexdigest())
            shown = self.assay("key", "show", f"{algorithm}.pem.pub", "-o", "json").json()
            self.assertEqual(shown["key_id"], key_id)
            self.assertEqual(shown["algorithm"], algorithm)
            self.assertEqual(base64.b64decode(shown["public_key"]), der)
            # The private key file works as well when its public half lies beside it.
            self.assertIn(key_id, self.assay("key", "show", f"{algorithm}.pem").out)

    def test_nothing_is_overwritten(self):
        self.key("one")
        before = (self.dir / "one.pem").read_bytes()
        self.assertEqual(self.error("key", "new", "--out", "one.pem"), "conflict")
        (self.dir / "one.pem.pub").unlink()
        self.assay("key", "new", "--out", "one.pem", code=TROUBLE)
        self.assertEqual((self.dir / "one.pem").read_bytes(), before)

    def test_encrypted_keys(self):
        secret = self.write("secret", "correct horse\n")
        secret.chmod(0o600)
        self.assay("key", "new", "--out", "k.pem", "--passphrase-file", "secret")
        self.assertIn(b"BEGIN ENCRYPTED PRIVATE KEY", (self.dir / "k.pem").read_bytes())
        self.write_json("change.json", {"sequence": 1, "operations": [
            {"remove_principal": {"name": "x"}}]})  # fmt: skip
        self.assay("sign", "change.json", "--key", "k.pem", "--passphrase-file", "secret")
        # Without a terminal there is nobody to ask.
        self.assertEqual(self.error("sign", "change.json", "--key", "k.pem"), "usage")
        wrong = self.write("wrong", "battery staple\n")
        wrong.chmod(0o600)
        self.assertEqual(self.error("sign", "change.json", "--key", "k.pem", "--passphrase-file",
                                    "wrong"), "key-unusable")  # fmt: skip

    def stock_verifiers(self, keyid, key):
        """Which other DSSE software takes a signature with this keyid (docs/dsse.md)."""
        row = {form: self.signed("--keyid", form, key=key)["keyid"] for form in ("ssh", "tuf")}
        return {"go": keyid in ("", row["ssh"]), "python": keyid == row["tuf"]}

    def signed(self, *options, key="k"):
        self.write_json("change.json", {"sequence": 1, "operations": [
            {"remove_principal": {"name": "x"}}]})  # fmt: skip
        self.assay("sign", "change.json", "--key", f"{key}.pem", "--out", "s.json", *options)
        return json.loads((self.dir / "s.json").read_text())["signatures"][0]

    def test_keyids_that_other_software_takes(self):
        for algorithm in ("ed25519", "ecdsa-p256", "ecdsa-p384"):
            key_id = self.key(algorithm, algorithm)
            default = self.signed(key=algorithm)["keyid"]
            self.assertEqual(default, "")
            self.assertEqual(self.stock_verifiers(default, algorithm), {"go": True, "python": False})
            own = self.signed("--keyid", "sha256", key=algorithm)["keyid"]
            self.assertEqual("sha256:" + own, key_id)
            self.assertEqual(self.stock_verifiers(own, algorithm), {"go": False, "python": False})
            tuf = self.signed("--keyid", "tuf", key=algorithm)["keyid"]
            self.assertTrue(self.stock_verifiers(tuf, algorithm)["python"])
            self.assertEqual(self.signed("--keyid", "Release 1", key=algorithm)["keyid"], "Release 1")
        self.assertEqual(self.error("sign", "change.json", "--key", "ed25519.pem", "--keyid",
                                    "x" * 1025), "invalid-parameter")  # fmt: skip

    def test_advice_names_options_that_there_are(self):
        self.key("k")
        self.write_json("other.json", {"a": 1})
        err = self.assay("sign", "other.json", "--key", "k.pem", code=TROUBLE).err
        self.assertIn("--type", err)
        for verb in (("attest", "verify", "other.json", "--key", "k.pem.pub"),
                     ("push", "other.json", "--server", "https://127.0.0.1:1")):  # fmt: skip
            done = self.assay(*verb, code=None)
            self.assertNotEqual(done.code, 0)
            self.assertNotIn("--type", done.err)
        for bundle, says in (({"mediaType": "x", "dsseEnvelope": {}}, "media type"),
                             ({"mediaType": "x", "messageSignature": {}}, "assay verify")):
            self.write_json("bundle.json", bundle)
            done = self.assay("attest", "verify", "bundle.json", "--key", "k.pem.pub", code=None)
            self.assertNotEqual(done.code, 0)
            self.assertIn(says, done.err)

    def test_secrets_that_others_may_read_are_refused(self):
        self.key("k")
        self.write_json("change.json", {"sequence": 1, "operations": [
            {"remove_principal": {"name": "x"}}]})  # fmt: skip
        (self.dir / "k.pem").chmod(0o644)
        self.assertEqual(self.error("sign", "change.json", "--key", "k.pem"), "key-unusable")
        loose = self.write("secret", "passphrase\n")
        loose.chmod(0o640)
        self.assertEqual(self.error("key", "new", "--out", "n.pem", "--passphrase-file", "secret"),
                         "key-unusable")  # fmt: skip
        self.assertFalse((self.dir / "n.pem").exists())

    def test_standard_output_is_no_place_for_a_private_key(self):
        self.assertEqual(self.error("key", "new", "--out", "-"), "usage")
        self.assertEqual(self.error("token", "new", "--principal", "ci", "--role", "reader",
                                    "--token-out", "-"), "usage")  # fmt: skip
        self.assertEqual(list(self.dir.iterdir()), [])

    def test_describe(self):
        key_id = self.key("k")
        got = self.assay("key", "describe", "k.pem.pub", "--purpose", "signer", "--identity",
                         "eval@acme", "--role", "evaluate:lifecycle:acme", "--role",
                         "*:https://slsa.dev/provenance/v1:*", "--not-before",
                         "2026-01-01T00:00:00Z", "--not-after", "2027-12-31").json()  # fmt: skip
        self.assertEqual(got["id"], key_id)
        self.assertEqual(got["purpose"], "signer")
        self.assertEqual(got["not_after"], "2027-12-31T00:00:00.000Z")
        self.assertEqual(got["roles"], [
            {"stage": "evaluate", "predicate_type": "https://assay.dev/lifecycle/v1",
             "namespace": "acme"},
            {"stage": "*", "predicate_type": "https://slsa.dev/provenance/v1", "namespace": "*"},
        ])  # fmt: skip

    def test_descriptions_that_would_grant_nothing_or_too_much(self):
        self.key("k")
        base = ("key", "describe", "k.pem.pub", "--identity", "x", "--not-after", "30d")
        for options in (("--purpose", "signer"), ("--purpose", "publisher"),
                        ("--purpose", "author", "--role", "*:lifecycle:*"),
                        ("--purpose", "signer", "--namespace", "acme"),
                        ("--purpose", "signer", "--role", "evaluate"),
                        ("--purpose", "signer", "--role", "evaluate:lifecycle:ACME"),
                        ("--purpose", "boss")):  # fmt: skip
            with self.subTest(options=options):
                self.assay(*base, *options, code=TROUBLE)
        self.assay("key", "describe", "k.pem.pub", "--purpose", "author", "--identity", "x",
                   "--not-after", "yesterday", code=TROUBLE)  # fmt: skip

    def test_bootstrap_and_changes(self):
        for name in ("op1", "op2"):
            self.key(name)
            self.assay("key", "describe", f"{name}.pem.pub", "--purpose", "operator", "--identity",
                       name, "--not-after", "365d", "--out", f"{name}.json")  # fmt: skip
        self.assay("token", "new", "--principal", "admin", "--role", "admin", "--token-out",
                   "admin.token", "--out", "admin.json")  # fmt: skip
        self.assay("trust", "bootstrap", "--key", "op1.json", "--key", "op2.json", "--principal",
                   "admin.json", "--out", "bootstrap.json")  # fmt: skip
        bootstrap = self.read_json("bootstrap.json")
        self.assertEqual([key["identity"] for key in bootstrap["keys"]], ["op1", "op2"])
        self.assertEqual(bootstrap["principals"][0]["name"], "admin")

        victim = bootstrap["keys"][1]["id"]
        self.assay("trust", "change", "--add-key", "op1.json", "--revoke", victim, "--reason",
                   "lost", "--put-principal", "admin.json", "--remove-principal", "old",
                   "--sequence", "4", "--out", "change.json")  # fmt: skip
        change = self.read_json("change.json")
        self.assertEqual(change["sequence"], 4)
        self.assertEqual([list(item)[0] for item in change["operations"]],
                         ["add_key", "revoke_key", "put_principal", "remove_principal"])  # fmt: skip
        signed = self.assay("sign", "change.json", "--key", "op1.pem", "--key", "op2.pem").raw
        kind, _, signatures = dsse.parse(signed)
        self.assertEqual(kind, "application/vnd.assay.trust-change+json")
        self.assertEqual(len(signatures), 2)

        self.assay("key", "revoke", victim, "--reason", "stolen", "--sequence", "1", "--out",
                   "revoke.json")  # fmt: skip
        self.assertEqual(self.read_json("revoke.json")["operations"],
                         [{"revoke_key": {"key": victim, "reason": "stolen"}}])  # fmt: skip
        for options in (("--sequence", "0"), ("--sequence", "x"), ("--sequence", "1")):
            self.assay("trust", "change", *options, code=TROUBLE)

    def test_tokens(self):
        got = self.assay("token", "new", "--principal", "ci", "--role", "submitter", "--role",
                         "reader", "--not-after", "2030-01-01", "-o", "json").json()  # fmt: skip
        self.assertRegex(got["token"], r"\Aassay_[A-Za-z0-9_-]{43}\Z")
        self.assertEqual(got["principal"], {
            "name": "ci", "roles": got["principal"]["roles"], "not_after": "2030-01-01T00:00:00.000Z",
            "credentials": [{"kind": "token",
                             "sha256": hashlib.sha256(got["token"].encode()).hexdigest()}],
        })  # fmt: skip
        self.assertEqual(sorted(got["principal"]["roles"]), ["reader", "submitter"])
        quiet = self.assay("token", "new", "--principal", "ci", "--role", "reader", "--token-out",
                           "ci.token", "--out", "ci.json")  # fmt: skip
        token = (self.dir / "ci.token").read_text().strip()
        self.assertEqual(self.mode("ci.token"), 0o600)
        self.assertNotIn(token, quiet.out + quiet.err)
        self.assertEqual(self.read_json("ci.json")["credentials"][0]["sha256"],
                         hashlib.sha256(token.encode()).hexdigest())  # fmt: skip
        self.assertEqual(self.error("token", "new", "--principal", "ci", "--role", "reader",
                                    "--token-out", "ci.token"), "conflict")  # fmt: skip
        self.assay("token", "new", "--principal", "ci", "--role", "king", code=TROUBLE)
        self.assay("token", "new", "--principal", "system", "--role", "admin", code=TROUBLE)


class Statements(harness.TestCase):
    SUBJECT = "assay-tree-v1-sha256:" + "ab" * 32

    def create(self, *options, code=0):
        return self.assay("attest", "create", "--stage", "evaluate", "--subject", self.SUBJECT,
                          "--name", "acme/demo", *options, code=code)  # fmt: skip

    def test_create(self):
        got = self.create("--metric", "accuracy=0.93", "--metric", "latency=12:ms", "--input",
                          "base-model=assay-tree-v1-sha256:" + "cd" * 32, "--input",
                          "dataset:faq=sha256:" + "ef" * 32, "--parameter", "seed=7",
                          "--parameter", "tool=lm-eval", "--comment", "nightly").json()  # fmt: skip
        self.assertEqual(got["subject"], [{"name": "acme/demo",
                                           "digest": {"assay-tree-v1-sha256": "ab" * 32}}])
        self.assertEqual(got["predicate"], {
            "stage": "evaluate",
            "metrics": {"accuracy": {"value": 0.93, "unit": "1"},
                        "latency": {"value": 12, "unit": "ms"}},
            "inputs": [
                {"role": "base-model", "digest": {"assay-tree-v1-sha256": "cd" * 32}},
                {"role": "dataset", "name": "faq", "digest": {"sha256": "ef" * 32}}],
            "parameters": {"seed": 7, "tool": "lm-eval"},
            "comment": "nightly",
        })  # fmt: skip

    def test_a_mistyped_stage_is_said(self):
        def said(stage, code=0):
            return self.assay("attest", "create", "--stage", stage, "--subject", self.SUBJECT, "--name",
                              "acme/demo", code=code).err  # fmt: skip

        for stage, meant in (("evalute", "evaluate"), ("aprove", "approve"), ("fine-tune", "finetune"),
                             ("quantise", "quantize"), ("eval", "evaluate")):  # fmt: skip
            self.assertIn(f"'{stage}' is none of the usual stages; did you mean '{meant}'?", said(stage))
        self.assertIn("did you mean 'evaluate'?", said("Evaluate", code=TROUBLE))
        self.assertIn("'red-team' is none of the usual stages: collect, preprocess, train,", said("red-team"))
        self.assertEqual(said("evaluate"), "")

    def test_subject_from_a_manifest(self):
        self.model()
        made = self.assay("manifest", "create", "model", "--name", "acme/demo", "--out", "m.json",
                          "-o", "json").json()  # fmt: skip
        got = self.assay("attest", "create", "--stage", "approve", "--subject", "m.json").json()
        self.assertEqual(got["subject"][0]["name"], "acme/demo")
        self.assertEqual("assay-tree-v1-sha256:" + got["subject"][0]["digest"]["assay-tree-v1-sha256"],
                         made["artifact"])  # fmt: skip
        self.assertEqual(self.error("attest", "create", "--stage", "approve", "--subject", "m.json",
                                    "--name", "acme/other"), "subject-mismatch")  # fmt: skip

    def test_wrong_parts(self):
        for options in (("--metric", "accuracy"), ("--metric", "accuracy=high"),
                        ("--metric", "=1"), ("--metric", "a=1", "--metric", "a=2"),
                        ("--metric", "a=nan"), ("--input", "dataset"),
                        ("--input", "dataset=sha256:zz"), ("--input", "friend=sha256:" + "ef" * 32),
                        ("--parameter", "x")):  # fmt: skip
            with self.subTest(options=options):
                self.create(*options, code=TROUBLE)
        self.assertEqual(self.error("attest", "create", "--stage", "x", "--subject", self.SUBJECT),
                         "usage")  # fmt: skip

    def test_verify(self):
        self.key("eval")
        self.create("--key", "eval.pem", "--out", "e.json")
        got = self.assay("attest", "verify", "e.json", "--key", "eval.pem.pub", "-o", "json").json()
        self.assertTrue(got["verified"])
        self.assertEqual(got["stage"], "evaluate")
        self.assay("key", "describe", "eval.pem.pub", "--purpose", "signer", "--identity", "eval",
                   "--role", "evaluate:lifecycle:acme", "--not-after", "9d", "--out", "t.json")
        self.assay("attest", "verify", "e.json", "--trust", "t.json")
        self.assay("key", "describe", "eval.pem.pub", "--purpose", "signer", "--identity", "eval",
                   "--role", "train:lifecycle:acme", "--not-after", "9d", "--out", "t.json")
        self.assertEqual(self.error("attest", "verify", "e.json", "--trust", "t.json", code=NO),
                         "role-not-granted")  # fmt: skip
        self.assertEqual(self.error("attest", "verify", "e.json"), "usage")

    def trusted(self, name, purpose, *options, revoked=None, out="t.json"):
        """A trust file with name.pem, valid from 2024 on, revoked at a time or not."""
        self.assay("key", "describe", f"{name}.pem.pub", "--purpose", purpose, "--identity", name,
                   "--not-before", "2024-01-01T00:00:00Z", *options, "--out", out)  # fmt: skip
        key = self.read_json(out)
        if revoked:
            key["revoked"] = {"at": revoked, "reason": "stolen"}
        self.write_json(out, {"keys": [key]})

    def test_no_time_undoes_a_revocation(self):
        self.key("k")
        self.create("--key", "k.pem", "--out", "e.json")
        self.model()
        self.assay("manifest", "create", "model", "--name", "acme/demo", "--key", "k.pem", "--out",
                   "m.json")  # fmt: skip
        self.write_json("d.json", {"id": "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11"})
        self.assay("sign", "d.json", "--type", "application/vnd.assay.decision+json", "--key",
                   "k.pem", "--out", "d.signed.json")  # fmt: skip
        role = ("--role", "evaluate:lifecycle:acme")
        for verb, purpose, options in (
            (("attest", "verify", "e.json"), "signer", role),
            (("manifest", "verify", "m.json", "model"), "publisher", ("--namespace", "acme")),
            (("decision", "verify", "d.signed.json"), "service", ()),
        ):  # fmt: skip
            with self.subTest(verb=verb[0]):
                verify = (*verb, "--trust", "t.json")
                # The end of a key's time is judged at --at ...
                self.trusted("k", purpose, *options, "--not-after", "2025-01-01T00:00:00Z")
                self.assertEqual(self.error(*verify, code=NO), "key-expired")
                self.assay(*verify, "--at", "2024-06-01T00:00:00Z")
                # ... and its revocation now: the envelope does not say when it was signed.
                self.trusted("k", purpose, *options, "--not-after", "2099-01-01T00:00:00Z",
                             revoked="2025-01-01T00:00:00.000Z")  # fmt: skip
                for at in ((), ("--at", "2024-06-01T00:00:00Z"), ("--at", "2090-01-01T00:00:00Z")):
                    self.assertEqual(self.error(*verify, *at, code=NO), "key-revoked")
                # One that is to come counts at the time asked about.
                self.trusted("k", purpose, *options, "--not-after", "2099-01-01T00:00:00Z",
                             revoked="2089-01-01T00:00:00.000Z")  # fmt: skip
                self.assay(*verify)
                self.assertEqual(self.error(*verify, "--at", "2090-01-01T00:00:00Z", code=NO),
                                 "key-revoked")  # fmt: skip

    def test_signers_of_all_subjects_are_named(self):
        for name in ("one", "two", "both"):
            self.key(name)
        digest = {"assay-tree-v1-sha256": "ab" * 32}
        statement = self.create().json()
        statement["subject"] = [{"name": "acme/one", "digest": digest},
                                {"name": "other/two", "digest": digest}]  # fmt: skip
        self.write_json("s.json", statement)
        self.assay("sign", "s.json", "--key", "one.pem", "--key", "two.pem", "--key", "both.pem",
                   "--out", "e.json")  # fmt: skip
        keys = []
        for name, namespace in (("one", "acme"), ("two", "other"), ("both", "*")):
            self.trusted(name, "signer", "--role", f"evaluate:lifecycle:{namespace}", "--not-after",
                         "2099-01-01T00:00:00Z")  # fmt: skip
            keys += self.read_json("t.json")["keys"]
        self.write_json("t.json", {"keys": keys})
        got = self.assay("attest", "verify", "e.json", "--trust", "t.json", "-o", "json").json()
        self.assertEqual([signer["identity"] for signer in got["signers"]], ["one", "both", "two"])

    def test_outputs_that_are_no_files_stay_what_they_are(self):
        os.mkfifo(self.dir / "pipe")
        reader = os.open(self.dir / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        os.symlink("pipe", self.dir / "link")
        text = self.create().raw
        for name in ("pipe", "link"):
            self.create("--out", name)
            self.assertEqual(os.read(reader, 65536), text)
            self.assertTrue(stat.S_ISFIFO(os.stat(self.dir / name).st_mode))
        self.assertTrue((self.dir / "link").is_symlink())
        # Neither is a device; links, because the real ones are not for a test to lose.
        for device in ("null", "full"):
            os.symlink(f"/dev/{device}", self.dir / device)
        self.create("--out", "null")
        self.create("--out", "full", code=TROUBLE)
        for device in ("null", "full"):
            self.assertEqual(os.readlink(self.dir / device), f"/dev/{device}")
        os.symlink("/dev/stdout", self.dir / "out")
        self.assertTrue(self.create("--out", "out").raw.startswith(text))
        with open(self.dir / "file", "wb") as file:
            subprocess.run([harness.PROGRAM, "attest", "create", "--stage", "evaluate", "--subject",
                            self.SUBJECT, "--name", "acme/demo", "--out", "out"], stdout=file,
                           stderr=subprocess.PIPE, cwd=self.dir, timeout=harness.SLOW, check=True,
                           env=self.environment)  # fmt: skip
        self.assertRegex((self.dir / "file").read_bytes()[len(text):], rb"\Asha256:[0-9a-f]{64}\n\Z")
        self.assertEqual(os.readlink(self.dir / "out"), "/dev/stdout")
        (self.dir / "directory").mkdir()
        self.create("--out", "directory", code=TROUBLE)
        self.assertEqual(sorted(path.name for path in self.dir.iterdir()),
                         ["directory", "file", "full", "link", "null", "out", "pipe"])  # fmt: skip

    def test_foreign_predicates_keep_their_bytes(self):
        self.key("ci")
        text = ('{ "_type": "https://in-toto.io/Statement/v1", "predicateType": "https://x.example/v1",'
                ' "subject": [{"name": "a", "digest": {"sha256": "%s"}}], "predicate": {"n": 1.50} }'
                % ("ab" * 32))  # fmt: skip
        self.write("s.json", text)
        _, payload, _ = dsse.parse(self.assay("sign", "s.json", "--key", "ci.pem").raw)
        self.assertEqual(payload, text.encode())

    def test_other_payloads_need_their_type(self):
        self.key("k")
        self.write("note", b"\x00\x01 any bytes")
        self.assertEqual(self.error("sign", "note", "--key", "k.pem"), "malformed-json")
        out = self.assay("sign", "note", "--key", "k.pem", "--type", "application/octet-stream").raw
        kind, payload, _ = dsse.parse(out)
        self.assertEqual((kind, payload), ("application/octet-stream", b"\x00\x01 any bytes"))
        self.write_json("odd.json", {"a": 1})
        self.assertEqual(self.error("sign", "odd.json", "--key", "k.pem"), "payload-type-unknown")

    def test_documents_are_checked_before_they_are_signed(self):
        self.key("k")
        for bad in ({"sequence": 0, "operations": []},
                    {"sequence": 1, "operations": [{"revoke_key": {}}]},
                    {"action": "activate", "policy": "x", "sequence": 1}):  # fmt: skip
            self.write_json("bad.json", bad)
            self.assay("sign", "bad.json", "--key", "k.pem", code=TROUBLE)
        self.write("twice.json", '{"sequence":1,"sequence":2,"operations":[]}')
        self.assertEqual(self.error("sign", "twice.json", "--key", "k.pem"), "duplicate-key")

    def test_what_the_service_does_not_take_is_not_signed(self):
        """An envelope has 1 MiB at most, and base64 makes four bytes of three."""
        self.key("k")
        parameters = [f"p{n}={'x' * 1000}" for n in range(800)]
        options = [part for parameter in parameters for part in ("--parameter", parameter)]
        refused = self.create(*options, "--key", "k.pem", "--out", "s.json", code=TROUBLE)
        self.assertIn("limit-exceeded", refused.err)
        self.assertIn("at most 1024 KiB", refused.err)
        self.assertFalse((self.dir / "s.json").exists())
        self.create(*options, "--out", "s.json")
        self.assertEqual(self.error("sign", "s.json", "--key", "k.pem"), "limit-exceeded")
        self.create(*options[:1400], "--key", "k.pem", "--out", "s.json")
        self.assertLess((self.dir / "s.json").stat().st_size, 1 << 20)

    def test_decisions(self):
        self.key("service")
        decision = {"id": "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11",
                    "evaluated_at": "2026-11-21T00:00:00.000Z",
                    "verdict": {"allowed": False, "reasons": ["manifest-missing"], "warnings": [],
                                "preconditions": [], "policies": []}}  # fmt: skip
        self.write_json("d.json", decision)
        self.assay("sign", "d.json", "--type", "application/vnd.assay.decision+json", "--key",
                   "service.pem", "--out", "signed.json")  # fmt: skip
        got = self.assay("decision", "verify", "signed.json", "--key", "service.pem.pub", "-o",
                         "json").json()  # fmt: skip
        self.assertEqual(got["decision"], decision)
        der = base64.b64decode(self.assay("key", "show", "service.pem.pub", "-o",
                                          "json").json()["public_key"])  # fmt: skip
        x = base64.urlsafe_b64encode(der[12:]).decode().rstrip("=")
        self.write_json("jwks.json", {"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x}]})
        self.assay("decision", "verify", "signed.json", "--jwks", "jwks.json")
        self.key("other")
        self.assertEqual(self.error("decision", "verify", "signed.json", "--key", "other.pem.pub",
                                    code=NO), "untrusted-signer")  # fmt: skip
        self.write_json("jwks.json", {"keys": []})
        self.assertEqual(self.error("decision", "verify", "signed.json", "--jwks", "jwks.json"),
                         "usage")  # fmt: skip
        self.assertEqual(self.error("decision", "verify", "d.json", "--key", "service.pem.pub",
                                    code=NO), "payload-type-unknown")  # fmt: skip

    def test_seeds_of_64_bits_in_predicates_of_others(self):
        self.key("k")
        text = ('{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":"acme/x","digest":{"sha256":"' +
                "ab" * 32 + '"}}],"predicateType":"https://example.com/train/v1",'
                '"predicate":{"seed":13938349572398471239}}')  # fmt: skip
        self.write("s.json", text)
        signed = self.assay("sign", "s.json", "--key", "k.pem", "--yes", "--out", "signed.json")
        self.assertIn("seed = 13938349572398471239", signed.err)
        envelope = json.loads((self.dir / "signed.json").read_text())
        self.assertEqual(base64.b64decode(envelope["payload"]).decode(), text)
        self.assay("attest", "verify", "signed.json", "--key", "k.pem.pub")
        # The review tells a number from the text of its digits.
        self.write("t.json", text.replace("13938349572398471239", '"13938349572398471239"'))
        review = self.assay("review", "signed.json", "--against", "t.json").out
        self.assertIn('* seed: "13938349572398471239" -> 13938349572398471239', review)
        got = self.assay("review", "signed.json", "--against", "t.json", "-o", "json").json()
        self.assertEqual(got["changes"][0]["after"], "13938349572398471239")
        # In our own predicates it is refused.
        self.write("own.json", text.replace("https://example.com/train/v1", "https://assay.dev/lifecycle/v1"))
        self.assertEqual(self.error("sign", "own.json", "--key", "k.pem"), "limit-exceeded")


if __name__ == "__main__":
    harness.main()
