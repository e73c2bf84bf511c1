# SPDX-License-Identifier: Apache-2.0
"""Signatures of OpenSSF Model Signing: what is signed here verifies, and nothing else does.

CASES are those of the conformance suite for github.com/ossf/model-signing-spec, each built here from
what its name says; those that need a sigstore instance are in tests/attestation/sigstore.
"""
import base64
import hashlib
import json
import os
import shutil
import unittest

import harness
import oms_models
from harness import NO, TROUBLE, YES

SIMPLE = {"config.json": b"{}", "weights.bin": b"w" * 5000}


def one(files=None, **how):
    """A case: files of the model, options of both sides, and what is changed in between."""
    return {"files": SIMPLE if files is None else files, "passes": True, **how}


def fails(code, files=None, **how):
    return {"files": SIMPLE if files is None else files, "passes": False, "code": code, **how}


CASES = {
    "key-simple": one(),
    "key-simple-deterministic": one(twice=True),
    "key-multi-file": one({f"f{i}": bytes([i]) for i in range(20)}),
    "key-assets-subdir": one({"a": b"1", "assets/b": b"2", "assets/deep/c": b"3"}),
    "key-deeply-nested": one({"/".join("abcdefghijklmnop") + "/file": b"1"}),
    "key-deeply-nested-with-git": one({"a/b/c/d": b"1", ".git/objects/x": b"2"},
                                      signed=["a/b/c/d"]),
    "key-binary-content": one({"b": bytes(range(256)) * 300}),
    "key-default-ignores": one({"a": b"1", ".git/x": b"2", ".gitignore": b"3",
                                ".gitattributes": b"4", ".github/w": b"5"}, signed=["a"]),
    "key-dotfile-included": one({"a": b"1", ".env": b"2"}, signed=[".env", "a"]),
    "key-files-in-hidden-dir": one({"a": b"1", ".hidden/b": b"2"}, signed=[".hidden/b", "a"]),
    "key-nested-git-not-excluded": one({"a": b"1", "d/.gitignore": b"2", "d/.git/x": b"3"},
                                       signed=["a", "d/.git/x", "d/.gitignore"]),
    "key-multi-git-dirs": one({"a": b"1", ".git/x": b"2"}, signed=["a"]),
    "key-multi-gitignore": one({"a": b"1", ".gitignore": b"2"}, signed=["a"]),
    "key-git-and-ignore-combined": one({"a": b"1", ".git/x": b"2", "skip/b": b"3"},
                                       sign=["--ignore-path", "skip"], signed=["a"]),
    "key-ignore-paths": one({"a": b"1", "skip": b"2"}, sign=["--ignore-path", "skip"], signed=["a"]),
    "key-ignore-paths-exact-match": one({"a": b"1", "skip": b"2", "d/skip": b"3"},
                                        sign=["--ignore-path", "skip"], signed=["a", "d/skip"]),
    "key-ignore-unsigned": one(change=oms_models.add_file, verify=["--ignore-unsigned-files"]),
    "key-empty-file": one({"a": b"", "b": b"1"}, signed=["a", "b"]),
    "key-empty-model-rejected": fails("schema-violation", {}, at="sign"),
    "key-p256": one(algorithm="ecdsa-p256"),
    "key-p384": one(algorithm="ecdsa-p384"),
    "key-p521": one(algorithm="ecdsa-p521"),
    "key-sig-inside-model": one(signature="model/model.sig", signed=["config.json", "weights.bin"]),
    "key-single-file": one({"weights.bin": b"w"}, path="model/weights.bin"),
    "key-special-chars-path": one({"a b": b"1", "c+d=e": b"2", "q?*[x]": b"3", "t\ttab": b"4",
                                   "back\\slash": b"5", "co:lon": b"6"}),
    "key-unicode-filename": one({"m\u00fcsli": b"1", "\u6a21\u578b": b"2", "\U0001f40d": b"3"}),
    "key-symlink-cycle": fails("invalid-path", before=oms_models.link("loop", "loop"),
                               sign=["--allow-symlinks"], at="sign"),
    "key-symlink-default-rejected": fails("unsupported-file-type",
                                          before=oms_models.link("link", "weights.bin"), at="sign"),
    "key-symlink-outside-root": fails("invalid-path", before=oms_models.link("link", "../outside"),
                                      sign=["--allow-symlinks"], at="sign"),
    "key-missing-file-with-ignore-unsigned_fail": fails(
        "content-mismatch", change=oms_models.remove_file, verify=["--ignore-unsigned-files"]),
    "key-tampered-with-ignore-unsigned_fail": fails(
        "content-mismatch", change=oms_models.change_file, verify=["--ignore-unsigned-files"]),
    "key-simple-extra-file_fail": fails("content-mismatch", change=oms_models.add_file),
    "key-simple-missing-file_fail": fails("content-mismatch", change=oms_models.remove_file),
    "key-simple-tampered-content_fail": fails("content-mismatch", change=oms_models.change_file),
    "key-simple-wrong-key_fail": fails("untrusted-signer", verify_key="other"),
    "key-simple-corrupted-bundle_fail": fails("malformed-json", bundle=lambda text: "garbage"),
    "key-simple-truncated-bundle_fail": fails("malformed-json",
                                              bundle=lambda text: text[:len(text) // 2]),
    "malformed-empty-bundle_fail": fails("malformed-json", bundle=lambda text: ""),
    "malformed-missing-envelope_fail": fails(
        "schema-violation", bundle=oms_models.without("dsseEnvelope")),
    "malformed-wrong-predicate_fail": fails("predicate-type-unknown", statement=oms_models.put(
        "https://example.com/other", "predicateType")),
    "key-simple-no-signature_fail": fails("signature-missing", bundle=oms_models.in_bundle(
        [], "dsseEnvelope", "signatures")),
    "key-simple-wrong-mediatype_fail": fails("schema-violation", bundle=oms_models.in_bundle(
        "application/json", "mediaType")),
    "key-simple-wrong-payload-type_fail": fails(
        "payload-type-unknown",
        bundle=oms_models.in_bundle("text/plain", "dsseEnvelope", "payloadType")),
    "key-simple-wrong-statement-type_fail": fails("schema-violation", statement=oms_models.put(
        "https://in-toto.io/Statement/v0.1", "_type")),
    "key-simple-empty-resources_fail": fails("schema-violation", statement=oms_models.put(
        [], "predicate", "resources")),
    "key-simple-missing-serialization_fail": fails(
        "schema-violation", statement=oms_models.drop("predicate", "serialization")),
    "key-verify-as-certificate_fail": fails("untrusted-signer",
                                            trust=["--certificate-root", "ca.crt"], needs_ca=True),
    "key-verify-as-sigstore_fail": fails("untrusted-signer", trust=oms_models.KEYLESS,
                                         needs_root=True),
    "certificate-simple": one(certificate="leaf"),
    "certificate-multi-file": one({"a/b": b"1", "c": b"2"}, certificate="leaf"),
    "certificate-self-signed": one(certificate="self", trust=["--certificate-root", "self.crt"]),
    "certificate-no-code-signing-eku_fail": fails("certificate-refused", certificate="no-eku"),
    "certificate-expired_fail": fails("certificate-expired", certificate="short",
                                      verify=["--at", oms_models.in_days(30)]),
    "certificate-not-yet-valid_fail": fails("certificate-not-yet-valid", certificate="leaf",
                                            verify=["--at", oms_models.in_days(-30)]),
    "certificate-expired-intermediate_fail": fails(
        "certificate-expired", certificate="below-short", verify=["--at", oms_models.in_days(30)]),
    "certificate-expired-root_fail": fails(
        "certificate-expired", certificate="leaf", verify=["--at", oms_models.in_days(3000)]),
    "certificate-all-expired_fail": fails(
        "certificate-expired", certificate="leaf", verify=["--at", oms_models.in_days(9000)]),
    "certificate-simple-wrong-ca_fail": fails("certificate-untrusted", certificate="leaf",
                                              trust=["--certificate-root", "other-ca.crt"]),
    "certificate-verify-as-key_fail": fails("untrusted-signer", certificate="leaf",
                                            trust=["--key", "leaf.pem.pub"]),
    "certificate-verify-as-sigstore_fail": fails("untrusted-signer", certificate="leaf",
                                                 trust=oms_models.KEYLESS, needs_root=True),
}


class Conformance(oms_models.Case):
    """One test a case."""

    def run_case(self, case):
        if case.get("certificate") or case.get("needs_ca"):
            self.make_authorities()
        if case.get("needs_root"):
            self.trusted_root()
        self.make_model(case["files"])
        if "before" in case:
            case["before"](self.dir)
        certificate = case.get("certificate")
        key = certificate or "signer"
        if not certificate:
            self.key("signer", case.get("algorithm", "ecdsa-p384"))
            self.key("other", "ecdsa-p384")
        options = list(case.get("sign", []))
        if certificate and certificate != "self":
            options += ["--certificate", f"{certificate}.crt", "--certificate",
                        f"{'short-ca' if certificate == 'below-short' else 'middle'}.crt"]
        elif certificate:
            options += ["--certificate", "self.crt"]
        signature = case.get("signature", "model.sig")
        path = case.get("path", "model")
        if case.get("at") == "sign":
            self.assertEqual(self.error("sign", "--format", "oms", path, "--key", f"{key}.pem",
                                        "--out", signature, *options), case["code"])
            return
        self.sign(path, key, signature, *options)
        if case.get("twice"):
            first = self.statement(signature)
            self.sign(path, key, signature, *options)
            self.assertEqual(self.statement(signature), first)
        if "signed" in case:
            self.assertEqual(self.resources(signature), case["signed"])
        if "change" in case:
            case["change"](self.dir / "model")
        if "statement" in case:
            self.sign_anew(signature, case["statement"], key)
        if "bundle" in case:
            self.write(signature, case["bundle"]((self.dir / signature).read_text()))
        default = ["--certificate-root", "ca.crt"] if certificate else [
            "--key", f"{case.get('verify_key', 'signer')}.pem.pub"]
        answer = self.verify(path, signature, *case.get("trust", default), *case.get("verify", []),
                             code=YES if case["passes"] else NO)
        self.assertEqual(answer["verified"], case["passes"])
        if not case["passes"]:
            self.assertEqual(answer["error"]["code"], case["code"])


for _name, _case in CASES.items():
    def _test(self, case=_case):
        self.run_case(case)
    setattr(Conformance, "test_" + _name.replace("-", "_"), _test)


class BadInput(oms_models.Case):
    def setUp(self):
        super().setUp()
        self.make_model(SIMPLE)
        self.key("signer", "ecdsa-p256")
        self.trust = ("--key", "signer.pem.pub")

    def code_of(self, change, *options):
        """What verification says of the model with a statement that was changed and signed anew."""
        self.sign("model", "signer", "model.sig", *options)
        self.sign_anew("model.sig", change, "signer")
        answer = self.verify("model", "model.sig", *self.trust, code=NO)
        return answer["error"]["code"]

    def resources_as(self, *resources):
        def change(statement):
            statement["predicate"]["resources"] = [
                {"name": name, "algorithm": "sha256", "digest": digest}
                for name, digest in resources]
            return oms_models.with_root(statement)
        return change

    def test_names_that_some_file_systems_take_for_one(self):
        digest = hashlib.sha256(b"x").hexdigest()
        for names in (("A", "a"), ("M/x", "m/y"), ("mu\u0308sli", "m\u00fcsli")):
            with self.subTest(names=names):
                made = self.resources_as(*((name, digest) for name in sorted(names)))
                self.assertEqual(self.code_of(made), "invalid-path")

    def test_names_out_of_the_model(self):
        digest = hashlib.sha256(b"x").hexdigest()
        for name in ("../x", "/etc/passwd", "a/../../x", "a\0b", "a//b", "./a", "a/"):
            with self.subTest(name=name):
                self.assertEqual(self.code_of(self.resources_as((name, digest))), "invalid-path")

    def test_a_file_signed_twice(self):
        digest = hashlib.sha256(b"x").hexdigest()
        for second in (digest, hashlib.sha256(b"y").hexdigest()):
            self.assertEqual(self.code_of(self.resources_as(("a", digest), ("a", second))),
                             "schema-violation")

    def test_two_algorithms_that_disagree(self):
        def change(statement):
            statement["subject"][0]["digest"]["sha512"] = "00" * 64
            return statement
        self.assertEqual(self.code_of(change), "schema-violation")

    def test_blake3_is_refused_by_name(self):
        self.sign("model", "signer", "model.sig")
        self.sign_anew("model.sig", oms_models.put("blake3", "predicate", "serialization",
                                                   "hash_type"), "signer")
        done = self.assay("verify", "model", "model.sig", *self.trust, code=NO)
        self.assertIn("invalid-digest: BLAKE3", done.err)

    def test_the_signature_of_another_model(self):
        self.make_model({"config.json": b"{}", "weights.bin": b"v" * 5000}, "second")
        self.sign("second", "signer", "second.sig")
        answer = self.verify("model", "second.sig", *self.trust, code=NO)
        self.assertEqual([d["file"] for d in answer["differences"]], ["weights.bin"])

    def test_files_that_change_their_places(self):
        self.make_model({"a": b"1", "b": b"2"}, "pair")
        self.sign("pair", "signer", "pair.sig")
        os.rename(self.dir / "pair/a", self.dir / "pair/c")
        os.rename(self.dir / "pair/b", self.dir / "pair/a")
        os.rename(self.dir / "pair/c", self.dir / "pair/b")
        answer = self.verify("pair", "pair.sig", *self.trust, code=NO)
        self.assertEqual(len(answer["differences"]), 2)

    def test_links_of_a_model_that_may_have_them(self):
        oms_models.link("link", "weights.bin")(self.dir)
        self.sign("model", "signer", "model.sig", "--allow-symlinks")
        self.assertEqual(self.resources("model.sig"), ["config.json", "link", "weights.bin"])
        self.verify("model", "model.sig", *self.trust)
        # The same name with the same bytes, from outside.
        self.write("outside", SIMPLE["weights.bin"])
        os.remove(self.dir / "model/link")
        oms_models.link("link", "../outside")(self.dir)
        answer = self.verify("model", "model.sig", *self.trust, code=NO)
        self.assertEqual(answer["error"]["code"], "invalid-path")

    def test_links_that_the_signature_does_not_allow(self):
        self.sign("model", "signer", "model.sig")
        shutil.move(self.dir / "model/weights.bin", self.dir / "model/w")
        oms_models.link("weights.bin", "w")(self.dir)
        answer = self.verify("model", "model.sig", *self.trust, "--ignore-path", "w", code=NO)
        self.assertEqual(answer["error"]["code"], "unsupported-file-type")
        self.verify("model", "model.sig", *self.trust, "--ignore-path", "w", "--allow-symlinks")
        self.verify("model", "model.sig", *self.trust, "--allow-symlinks",
                    "--ignore-unsigned-files")

    def test_what_is_no_file(self):
        self.sign("model", "signer", "model.sig")
        os.mkfifo(self.dir / "model/fifo")
        answer = self.verify("model", "model.sig", *self.trust, code=NO)
        self.assertEqual(answer["error"]["code"], "unsupported-file-type")

    def test_empty_files_beside_shards_are_reported(self):
        self.sign("model", "signer", "model.sig", "--shard-size", "1000")
        self.write("model/added", b"")
        answer = self.verify("model", "model.sig", *self.trust)
        self.assertEqual(answer["unsigned_empty"], ["added"])
        done = self.assay("verify", "model", "model.sig", *self.trust)
        self.assertIn("added", done.err)
        self.write("model/added", b"1")
        self.verify("model", "model.sig", *self.trust, code=NO)

    def test_shards_name_the_bytes_that_differ(self):
        self.sign("model", "signer", "model.sig", "--shard-size", "1000")
        content = bytearray(SIMPLE["weights.bin"])
        content[2500] ^= 1
        self.write("model/weights.bin", bytes(content))
        answer = self.verify("model", "model.sig", *self.trust, code=NO)
        self.assertEqual(answer["differences"], [
            {"kind": "changed", "file": "weights.bin", "detail": "bytes [2000, 3000)"}])

    def test_every_bit_of_a_signature_counts(self):
        self.sign("model", "signer", "model.sig")
        bundle = self.read_json("model.sig")
        signature = bytearray(base64.b64decode(bundle["dsseEnvelope"]["signatures"][0]["sig"]))
        for at in range(0, len(signature), 7):
            changed = bytearray(signature)
            changed[at] ^= 1
            bundle["dsseEnvelope"]["signatures"][0]["sig"] = base64.b64encode(changed).decode()
            self.write_json("changed.sig", bundle)
            answer = self.verify("model", "changed.sig", *self.trust, code=NO)
            self.assertEqual(answer["error"]["code"], "signature-invalid")

    def test_whom_to_trust_is_said_once(self):
        self.sign("model", "signer", "model.sig")
        self.make_authorities()
        for options in ((), (*self.trust, "--certificate-root", "ca.crt"),
                        ("--certificate-identity", "x"), (*self.trust, *oms_models.KEYLESS)):
            self.assertEqual(self.error("verify", "model", "model.sig", *options), "usage")
        self.assertEqual(self.error("verify", "nothing", "model.sig", *self.trust),
                         "file-unreadable")
        self.assertEqual(self.error("verify", "model", "nothing.sig", *self.trust),
                         "file-unreadable")

    def test_ed25519_is_refused_with_advice(self):
        self.key("ed", "ed25519")
        done = self.assay("sign", "--format", "oms", "model", "--key", "ed.pem", "--out", "x.sig",
                          code=TROUBLE)
        self.assertIn("unsupported-key", done.err)
        self.assertIn("ecdsa-p384", done.err)

    def test_options_of_one_format_are_not_taken_for_the_other(self):
        self.assertEqual(self.error("sign", "model/config.json", "--key", "signer.pem",
                                    "--shard-size", "10"), "usage")
        self.assertEqual(self.error("sign", "--format", "oms", "model", "--key", "signer.pem",
                                    "--key", "signer.pem", "--out", "x.sig"), "usage")

    def test_a_file_of_the_model_is_not_written_over(self):
        for out in ("model/config.json", "model/weights.bin"):
            self.assertEqual(self.error("sign", "--format", "oms", "model", "--key", "signer.pem",
                                        "--out", out), "usage")
        self.sign("model", "signer", "model/model.sig")
        self.sign("model", "signer", "model/model.sig")
        self.assertEqual(
            self.error("manifest", "import", "model", "model/model.sig", *self.trust, "--name",
                       "acme/demo", "--out", "model/manifest.json"), "usage")

    def test_names_that_differ_by_case_are_not_signed(self):
        self.make_model({"A": b"1", "a": b"2"}, "cases")
        self.assertEqual(self.error("sign", "--format", "oms", "cases", "--key", "signer.pem",
                                    "--out", "x.sig"), "invalid-path")

    def test_the_certificate_of_another_key_is_not_written(self):
        self.make_authorities()
        self.assertEqual(self.error("sign", "--format", "oms", "model", "--key", "signer.pem",
                                    "--certificate", "leaf.crt", "--out", "x.sig"), "key-unusable")


class Vectors(oms_models.Case):
    """Models that model_signing signed."""

    def setUp(self):
        super().setUp()
        shutil.copytree(harness.SOURCE / "tests/vectors/oms", self.dir / "v")
        self.trust = ("--key", "v/keys/signing-key-pub.pem")
        self.roots = ("--certificate-root", "v/keys/ca-cert.pem", "--at", "2026-01-01T00:00:00Z")

    def test_keys(self):
        self.verify("v/v1.0.0-elliptic-key/signme-1", "v/v1.0.0-elliptic-key/model.sig", *self.trust)
        path = "v/v1.0.1-elliptic-key"
        self.verify(path, f"{path}/model.sig", *self.trust, "--ignore-path", "ignore-me")
        answer = self.verify(path, f"{path}/model.sig", *self.trust, code=NO)
        self.assertEqual([(d["kind"], d["file"]) for d in answer["differences"]],
                         [("extra", "ignore-me")])
        os.remove(self.dir / path / "model.sig")
        self.verify(path, "v/key.bundle.json", *self.trust)
        answer = self.verify(path, "v/wrong-predicate.bundle.json", *self.trust, code=NO)
        self.assertEqual(answer["error"]["code"], "signature-invalid")

    def test_certificates_at_their_time(self):
        path = "v/v1.0.0-certificate"
        self.verify(path, f"{path}/model.sig", *self.roots)
        for time, code in (("2025-05-02T23:36:27Z", "certificate-not-yet-valid"),
                           ("2035-04-30T23:36:29Z", "certificate-expired")):
            answer = self.verify(path, f"{path}/model.sig", *self.roots[:2], "--at", time, code=NO)
            self.assertEqual(answer["error"]["code"], code)
        for time in ("2025-05-02T23:36:28Z", "2035-04-30T23:36:28Z"):
            self.verify(path, f"{path}/model.sig", *self.roots[:2], "--at", time)

    def test_release_02_only_when_it_is_asked_for(self):
        path = "v/v0.2.0-certificate"
        answer = self.verify(path, f"{path}/model.sig", *self.roots, code=NO)
        self.assertEqual(answer["error"]["code"], "signature-invalid")
        self.verify(path, f"{path}/model.sig", *self.roots, "--accept-v02")
        self.write(f"{path}/signme-1", b"changed")
        self.verify(path, f"{path}/model.sig", *self.roots, "--accept-v02", code=NO)


class Import(oms_models.Case):
    def setUp(self):
        super().setUp()
        self.make_model({**SIMPLE, "empty": b""})
        self.key("signer", "ecdsa-p384")
        self.key("publisher")
        self.sign("model", "signer", "model/model.sig")

    def bring_in(self, *options, code=YES, path="model", signature="model/model.sig"):
        return self.assay("manifest", "import", path, signature, "--key", "signer.pem.pub",
                          "--name", "acme/demo", "--out", "manifest.json", *options, "-o", "json",
                          code=code).json()

    def test_names_both_roots_and_covers_what_was_signed(self):
        made = self.bring_in("--sign-key", "publisher.pem", "--out-evidence", "evidence.json")
        self.assertEqual(made["left_out"], ["/model.sig"])
        envelope = self.read_json("manifest.json")
        subject = json.loads(base64.b64decode(envelope["payload"]))["subject"][0]["digest"]
        self.assertEqual("sha256:" + subject["sha256"], made["root"])
        self.assertEqual("assay-tree-v1-sha256:" + subject["assay-tree-v1-sha256"],
                         made["artifact"])
        again = self.assay("manifest", "create", "model", "--name", "acme/demo", "--ignore",
                           "/model.sig", "--out", "again.json", "-o", "json").json()
        self.assertEqual(again["artifact"], made["artifact"])
        self.assertTrue(self.assay("manifest", "verify", "manifest.json", "model", "--key",
                                   "publisher.pem.pub", "-o", "json").json()["verified"])
        # The evidence is the envelope that was signed, byte for byte.
        bundle = self.read_json("model/model.sig")["dsseEnvelope"]
        evidence = self.read_json("evidence.json")
        self.assertEqual(evidence["payload"], bundle["payload"])
        self.assertEqual(evidence["signatures"][0]["sig"], bundle["signatures"][0]["sig"])

    def test_shards_and_blake2b(self):
        self.sign("model", "signer", "model/model.sig", "--shard-size", "1000", "--hash", "blake2b")
        made = self.bring_in()
        self.assertEqual(made["unsigned_empty"], ["empty"])

    def test_anything_that_differs_makes_no_manifest(self):
        changes = (oms_models.add_file, oms_models.remove_file, oms_models.change_file)
        for number, change in enumerate(changes):
            self.make_model({**SIMPLE, "empty": b""}, f"m{number}")
            self.sign(f"m{number}", "signer", f"m{number}.sig")
            change(self.dir / f"m{number}")
            answer = self.bring_in(path=f"m{number}", signature=f"m{number}.sig", code=NO)
            self.assertEqual(answer["error"]["code"], "content-mismatch")
            self.assertFalse((self.dir / "manifest.json").exists())

    def test_an_old_signature_or_a_loose_one_makes_no_manifest(self):
        shutil.copytree(harness.SOURCE / "tests/vectors/oms", self.dir / "v")
        answer = self.assay("manifest", "import", "v/v0.2.0-certificate",
                            "v/v0.2.0-certificate/model.sig", "--certificate-root",
                            "v/keys/ca-cert.pem", "--at", "2026-01-01T00:00:00Z", "--name",
                            "acme/demo", "--out", "manifest.json", "-o", "json", code=NO).json()
        self.assertFalse(answer["imported"])
        self.assertEqual(
            self.error("manifest", "import", "model", "model/model.sig", "--key", "signer.pem.pub",
                       "--name", "acme/demo", "--out", "m.json", "--ignore-unsigned-files"), "usage")

    def test_tensors_are_cut_in_the_same_pass(self):
        header = json.dumps({"t": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}).encode()
        self.make_model({"w.safetensors": len(header).to_bytes(8, "little") + header + b"1234"}, "t")
        self.sign("t", "signer", "t.sig")
        made = self.bring_in(path="t", signature="t.sig")
        again = self.assay("hash", "t", "-o", "json").json()
        self.assertEqual(again["artifact"], made["artifact"])


if __name__ == "__main__":
    unittest.main()
