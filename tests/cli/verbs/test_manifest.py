# SPDX-License-Identifier: Apache-2.0
"""Manifests: create, sign, verify what is on disk, show, prove."""
import base64
import json
import os

import harness
from harness import NO, TROUBLE, YES
from reference import dsse, tree

import many_tensors


class ManifestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.model()
        self.key_id = self.key("publisher")

    def create(self, *options, out="manifest.json", name="acme/demo"):
        return self.assay("manifest", "create", "model", "--name", name, "--out", out, *options,
                          "-o", "json").json()  # fmt: skip

    def signed(self, *options, out="signed.json"):
        return self.create("--key", "publisher.pem", *options, out=out)

    def verify(self, *options, envelope="signed.json", code=YES, path="model"):
        result = self.assay("manifest", "verify", envelope, path, "--key", "publisher.pem.pub",
                            *options, "-o", "json", code=code)  # fmt: skip
        return result.json()


class Manifest(ManifestCase):
    def test_create_then_sign(self):
        made = self.create("--location", "pvc://ml/demo", "--digest", "sha256:" + "a" * 64)
        self.assertFalse(made["signed"])
        statement = self.read_json("manifest.json")
        self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(statement["predicateType"], "https://assay.dev/merkle-manifest/v1")
        subject = statement["subject"][0]
        self.assertEqual(subject["name"], "acme/demo")
        want, _ = tree.hash_path(str(self.dir / "model"), patterns=["/.git"])
        self.assertEqual(subject["digest"],
                         {"assay-tree-v1-sha256": want["root"], "sha256": "a" * 64})  # fmt: skip

        signed = self.assay("sign", "manifest.json", "--key", "publisher.pem", "--out",
                            "signed.json", "-o", "json").json()  # fmt: skip
        self.assertEqual(signed["id"], made["id"])
        self.assertEqual(signed["kind"], "manifest")
        self.assertEqual(signed["signed_by"], [self.key_id])
        kind, payload, _ = dsse.parse((self.dir / "signed.json").read_bytes())
        self.assertEqual(dsse.statement_id(kind, payload), made["id"])
        self.assertTrue(self.verify()["verified"])

    def test_more_entries_than_ever_before_are_read_by_every_verb(self):
        many_tensors.write(self.dir / "moe", 60_000, 4)
        self.assay("manifest", "create", "moe", "--name", "acme/moe", "--key", "publisher.pem",
                   "--out", "moe.json")  # fmt: skip
        self.assertGreater((self.dir / "moe.json").stat().st_size, 16 << 20)
        self.assertTrue(self.verify(envelope="moe.json", path="moe")["verified"])
        self.assay("manifest", "sign", "moe.json", "--key", self.second(), "--out", "moe.json")
        shown = self.assay("manifest", "show", "moe.json", "-o", "json").json()
        self.assertEqual(len(shown["objects"]), 60_004)
        self.assertEqual(len(shown["signatures"]), 2)

    def second(self):
        self.key("second")
        return "second.pem"

    def test_one_entry_too_many_is_refused_before_anything_is_signed(self):
        many_tensors.write(self.dir / "moe", many_tensors.LIMIT - 1, 2)
        for key in ((), ("--key", "publisher.pem")):
            refused = self.assay("manifest", "create", "moe", "--name", "acme/moe", *key, "--out",
                                 "moe.json", code=TROUBLE)  # fmt: skip
            self.assertIn("limit-exceeded", refused.err)
            self.assertIn("131073 files and tensors are more than 131072", refused.err)
            self.assertIn("--objects files", refused.err)
            self.assertFalse((self.dir / "moe.json").exists())
        made = self.assay("manifest", "create", "moe", "--objects", "files", "--name", "acme/moe",
                          "--key", "publisher.pem", "--out", "moe.json", "-o", "json").json()  # fmt: skip
        self.assertTrue(made["signed"])

    def test_layout_of_the_file_does_not_matter(self):
        made = self.create()
        self.write("pretty.json", json.dumps(self.read_json("manifest.json"), indent=7))
        out = self.assay("manifest", "sign", "pretty.json", "--key", "publisher.pem").raw
        kind, payload, _ = dsse.parse(out)
        self.assertEqual(dsse.statement_id(kind, payload), made["id"])

    def test_the_reference_accepts_the_signatures(self):
        from cryptography.hazmat.primitives import serialization

        for algorithm in ("ed25519", "ecdsa-p256", "ecdsa-p384"):
            self.key(f"k-{algorithm}", algorithm)
            self.signed(out="one.json")
            self.assay("sign", "one.json", "--key", f"k-{algorithm}.pem", "--out", "one.json")
            pem = (self.dir / f"k-{algorithm}.pem.pub").read_bytes()
            key = serialization.load_pem_public_key(pem)
            envelope = (self.dir / "one.json").read_bytes()
            self.assertEqual(dsse.accepted_keys(envelope, [key]), [0], algorithm)
            self.assertEqual(self.error("sign", "one.json", "--key", f"k-{algorithm}.pem"),
                             "conflict")  # fmt: skip

    def test_result_of_verify(self):
        self.signed()
        got = self.verify()
        self.assertEqual(sorted(got), ["artifact", "bytes", "device", "device_name", "differences",
                                       "id", "name", "read_protection", "seconds", "signers",
                                       "verified"])  # fmt: skip
        self.assertEqual(got["differences"], [])
        self.assertEqual(got["signers"], [{"key_id": self.key_id, "identity": self.key_id}])
        text = self.assay("manifest", "verify", "signed.json", "model", "--key",
                          "publisher.pem.pub").out  # fmt: skip
        self.assertTrue(text.startswith("verified acme/demo assay-tree-v1-sha256:"), text)

    def test_output_inside_the_model_is_left_out(self):
        self.signed("--outline", "model/model.outline", out="model/model.assay.json")
        self.assertTrue(self.verify(envelope="model/model.assay.json")["verified"])
        shown = self.assay("manifest", "show", "model/model.assay.json", "-o", "json").json()
        self.assertEqual(shown["parameters"]["ignore"], ["/.git", "/model.assay.json", "/model.outline"])
        self.assertNotIn("ignore", shown)

    def test_usual_names_need_no_word_and_others_do(self):
        options = ("manifest", "create", "model", "--name", "acme/demo")
        usual = self.assay(*options, "--out", "model/model.assay.json", "--outline",
                           "model/model.assay.outline").err  # fmt: skip
        self.assertNotIn("parameters.ignore", usual)
        other = self.assay(*options, "--out", "model/m.json").err
        self.assertIn("left out of the model: /m.json; policies accept this pattern only", other)
        # Whoever hashes the directory afterwards finds the same root.
        self.assay(*options, "--out", "model/model.assay.json", "--outline", "model/model.assay.outline",
                   "--ignore", "/m.json")  # fmt: skip
        made = self.read_json("model/model.assay.json")["subject"][0]["digest"]["assay-tree-v1-sha256"]
        self.assertEqual(self.assay("hash", "model", "--ignore", "/m.json", "-o", "json").json()["root"], made)

    def test_an_extra_file_is_a_failure(self):
        self.signed()
        self.write("model/modeling_evil.py", "import os")
        got = self.verify(code=NO)
        self.assertEqual([(item["kind"], item["file"]) for item in got["differences"]],
                         [("extra", "modeling_evil.py")])  # fmt: skip
        # A second publisher's manifest that leaves code out is of another artifact.
        self.signed("--ignore", "*.py", out="evil.json")
        self.assertTrue(self.verify(envelope="evil.json")["verified"])
        artifact = self.assay("manifest", "show", "signed.json", "-o", "json").json()["artifact"]
        refused = self.verify("--artifact", artifact, envelope="evil.json", code=NO)
        self.assertEqual(refused["error"]["code"], "subject-mismatch")

    def test_rules_that_the_root_does_not_bind_are_no_manifest(self):
        self.create()
        statement = self.read_json("manifest.json")
        statement["predicate"]["ignore"] = ["*.py"]
        self.write_json("old.json", statement)
        self.assertEqual(self.error("manifest", "show", "old.json"), "unknown-member")
        del statement["predicate"]["ignore"]
        statement["predicate"]["parameters"]["ignore"] = ["*.py", "/.git"]
        self.write_json("changed.json", statement)
        self.assertEqual(self.error("manifest", "show", "changed.json"), "root-mismatch")

    def test_tensors_alone_verify_no_directory(self):
        self.signed("--objects", "tensors")
        got = self.verify(code=NO)
        files = {item["file"] for item in got["differences"]}
        self.assertTrue({"config.json", "model.safetensors"} <= files, files)
        self.assertEqual({item["kind"] for item in got["differences"]}, {"extra"})
        self.assertTrue(self.verify("--tensor", "layer.0.weight")["verified"])

    def test_every_kind_of_difference(self):
        self.signed("--outline", "model.outline", "--outline-span", "16384")
        path = self.dir / "model/data/longer.bin"
        content = bytearray(path.read_bytes())
        content[16384] ^= 1
        path.write_bytes(content)
        (self.dir / "model/empty").unlink()
        self.write("model/more", "extra")
        got = self.verify("--outline", "model.outline", code=NO)
        self.assertFalse(got["verified"])
        self.assertEqual(got["error"]["code"], "content-mismatch")
        found = {(item["kind"], item["file"]): item for item in got["differences"]}
        self.assertEqual(set(found), {("changed", "data/longer.bin"), ("missing", "empty"),
                                      ("extra", "more")})  # fmt: skip
        self.assertEqual(found["changed", "data/longer.bin"]["ranges"],
                         [{"begin": 16384, "end": 16385}])  # fmt: skip
        text = self.assay("manifest", "verify", "signed.json", "model", "--key",
                          "publisher.pem.pub", "--outline", "model.outline", code=NO).out  # fmt: skip
        self.assertIn("changed data/longer.bin [16384, 16385)", text)
        self.assertNotIn("verified", text)

    def test_a_changed_tensor_is_named(self):
        self.signed()
        path = self.dir / "model/model.safetensors"
        content = bytearray(path.read_bytes())
        content[-20] ^= 0x80
        path.write_bytes(content)
        got = self.verify(code=NO)
        self.assertEqual({(item["file"], item.get("tensor")) for item in got["differences"]},
                         {("model.safetensors", "layer.0.weight")})
        self.signed("--objects", "files", out="files.json")
        content[-20] ^= 0x80
        path.write_bytes(content)
        [found] = self.verify(envelope="files.json", code=NO)["differences"]
        self.assertNotIn("tensor", found)
        self.assertEqual(found["detail"], "the bytes behind the header differ")

    def test_links_and_pipes_in_the_model_are_a_no(self):
        self.signed()
        (self.dir / "model/link").symlink_to("config.json")
        self.assertEqual(self.verify(code=NO)["error"]["code"], "unsupported-file-type")

    def test_wrong_key_and_too_few(self):
        self.signed()
        self.key("other")
        base = ("manifest", "verify", "signed.json", "model")
        self.assertEqual(self.error(*base, "--key", "other.pem.pub", code=NO), "untrusted-signer")
        self.assertEqual(self.error(*base, "--key", "publisher.pem.pub", "--threshold", "2", code=NO),
                         "threshold-not-met")  # fmt: skip
        self.assay("sign", "signed.json", "--key", "other.pem", "--out", "signed.json")
        self.assay(*base, "--key", "publisher.pem.pub", "--key", "other.pem.pub", "--threshold", "2")
        # The same key twice is one identity.
        self.assay(*base, "--key", "publisher.pem.pub", "--key", "publisher.pem.pub", "--threshold",
                   "2", code=NO)  # fmt: skip

    def test_nothing_is_verified_without_keys(self):
        self.signed()
        base = ("manifest", "verify", "signed.json", "model")
        self.assertEqual(self.error(*base), "usage")
        self.assertEqual(self.error(*base, "--key", "publisher.pem.pub", "--threshold", "0"), "usage")
        self.write_json("empty.json", {"keys": []})
        self.assertEqual(self.error(*base, "--trust", "empty.json"), "usage")
        self.create(out="unsigned.json")
        self.assertEqual(self.error("manifest", "verify", "unsigned.json", "model", "--key",
                                    "publisher.pem.pub", code=NO), "signature-missing")  # fmt: skip

    def test_trust_file_with_roles(self):
        self.signed()

        def verdict(*description, at=()):
            self.assay("key", "describe", "publisher.pem.pub", "--identity", "release@acme",
                       *description, "--out", "trusted.json")  # fmt: skip
            return self.assay("manifest", "verify", "signed.json", "model", "--trust",
                              "trusted.json", "-o", "json", *at, code=None)  # fmt: skip

        end = ("--not-after", "30d")
        good = verdict("--purpose", "publisher", "--namespace", "acme", *end)
        self.assertEqual(good.code, YES, str(good))
        self.assertEqual(good.json()["signers"][0]["identity"], "release@acme")
        for code, description, at in (
            ("role-not-granted", ("--purpose", "publisher", "--namespace", "acm", *end), ()),
            ("wrong-purpose", ("--purpose", "author", *end), ()),
            ("key-expired", ("--purpose", "publisher", "--namespace", "*", *end),
             ("--at", "2099-01-01T00:00:00Z")),
            ("key-not-yet-valid", ("--purpose", "publisher", "--namespace", "*", *end),
             ("--at", "2001-01-01T00:00:00Z")),
        ):  # fmt: skip
            with self.subTest(code=code):
                result = verdict(*description, at=at)
                self.assertEqual(result.code, NO, str(result))
                self.assertEqual(result.json()["error"]["code"], code)

    def test_a_tampered_envelope_is_refused(self):
        self.signed()
        envelope = self.read_json("signed.json")
        payload = bytearray(base64.b64decode(envelope["payload"]))
        payload[payload.index(b"acme/demo")] = ord("b")
        renamed = dict(envelope, payload=base64.b64encode(payload).decode())
        signature = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
        signature[3] ^= 1
        forged = json.loads(json.dumps(envelope))
        forged["signatures"][0]["sig"] = base64.b64encode(signature).decode()
        other_type = dict(envelope, payloadType="application/vnd.assay.policy+json")
        for bad in (renamed, forged, other_type, dict(envelope, signatures=[]),
                    dict(envelope, extra=1), [], "text"):  # fmt: skip
            self.write_json("bad.json", bad)
            result = self.assay("manifest", "verify", "bad.json", "model", "--key",
                                "publisher.pem.pub", "-o", "json", code=NO)  # fmt: skip
            self.assertFalse(result.json()["verified"])
            self.assertIn("code", result.json()["error"])
        self.assertEqual(self.error("manifest", "verify", "no.json", "model", "--key",
                                    "publisher.pem.pub"), "file-unreadable")  # fmt: skip

    def test_every_byte_of_an_envelope_counts(self):
        self.signed()
        good = (self.dir / "signed.json").read_bytes()
        for at in range(0, len(good) - 1, max(1, len(good) // 40)):
            bad = bytearray(good)
            bad[at] ^= 1
            self.write("bad.json", bytes(bad))
            result = self.assay("manifest", "verify", "bad.json", "model", "--key",
                                "publisher.pem.pub", code=None)  # fmt: skip
            if result.code == YES:  # a byte of the member keyid, which is a hint
                self.assertIn(b'"keyid":', good[max(0, at - 96):at + 8])
            else:
                self.assertEqual(result.code, NO, str(result))

    def test_artifact_can_be_required(self):
        made = self.signed()
        self.verify("--artifact", made["artifact"])
        other = "assay-tree-v1-sha256:" + "0" * 64
        self.assertEqual(self.verify("--artifact", other, code=NO)["error"]["code"],
                         "subject-mismatch")  # fmt: skip

    def test_wrong_names_and_places(self):
        for arguments in (("--name", "Acme"), ("--name", "acme/demo", "--location", "ftp://x"),
                          ("--name", "acme/demo", "--digest", "sha256")):  # fmt: skip
            self.assay("manifest", "create", "model", *arguments, code=TROUBLE)


class Parts(ManifestCase):
    """One file, one tensor or some bytes alone."""

    def setUp(self):
        super().setUp()
        self.signed("--chunk-size", "4096", "--outline", "model.outline", "--outline-span", "4096")

    def flip(self, name, at):
        path = self.dir / "model" / name
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)

    def test_a_range_reads_its_spans_alone(self):
        self.flip("data/longer.bin", 0)
        ask = ("--file", "data/longer.bin", "--outline", "model.outline", "--range")
        got = self.verify(*ask, "5000-5001")
        self.assertTrue(got["verified"])
        self.assertEqual((got["part"]["begin"], got["part"]["end"], got["bytes"]), (4096, 8192, 4096))
        self.assertEqual(got["part"]["entry"]["path"], "data/longer.bin")
        got = self.verify(*ask, "0-1", code=NO)
        self.assertEqual(got["error"]["code"], "content-mismatch")
        self.assertEqual(got["differences"][0]["ranges"], [{"begin": 0, "end": 4096}])
        # Without an outline only the whole file can be judged.
        got = self.verify("--file", "data/longer.bin", "--range", "5000-5001", code=NO)
        self.assertEqual(got["bytes"], 16385)

    def test_a_tensor_alone(self):
        for name in (("layer.0.weight",), ("model.safetensors#layer.0.weight",),
                     ("layer.0.weight", "--file", "model.safetensors")):  # fmt: skip
            got = self.verify("--tensor", *name)
            self.assertEqual((got["bytes"], got["part"]["entry"]["name"]), (16000, "layer.0.weight"))
        self.flip("config.json", 0)
        self.flip("model.safetensors", -1)  # in the tensor that is stored last
        tensors = ("layer.0.weight", "layer.0.bias")
        results = [self.verify("--tensor", name, code=None)["verified"] for name in tensors]
        self.assertEqual(sorted(results), [False, True])
        text = self.assay("manifest", "verify", "signed.json", "model", "--key", "publisher.pem.pub",
                          "--tensor", tensors[results.index(True)])  # fmt: skip
        self.assertIn("verified bytes [0, ", text.out)
        self.assertIn("nothing else of the model was looked at", text.err)

    def test_missing_and_wrong_questions(self):
        (self.dir / "model/config.json").unlink()
        got = self.verify("--file", "config.json", code=NO)
        self.assertEqual(got["differences"][0]["kind"], "missing")
        ask = ("manifest", "verify", "signed.json", "model", "--key", "publisher.pem.pub")
        for wrong, error in (
            (("--file", "nosuch"), "not-found"),
            (("--tensor", "config.json"), "not-found"),
            (("--file", "data/longer.bin", "--tensor", "layer.0.weight"), "not-found"),
            (("--range", "0-1"), "usage"),
            (("--file", "data/longer.bin", "--range", "1"), "usage"),
            (("--file", "data/longer.bin", "--range", "2-2"), "usage"),
            (("--file", "data/longer.bin", "--range", "0-16386"), "invalid-parameter"),
        ):
            with self.subTest(wrong=wrong):
                self.assertEqual(self.error(*ask, *wrong), error)

    def test_the_signature_still_counts(self):
        self.key("other")
        self.assertEqual(self.error("manifest", "verify", "signed.json", "model", "--key",
                                    "other.pem.pub", "--file", "config.json", code=NO),
                         "untrusted-signer")  # fmt: skip


class Reuse(harness.TestCase):
    """Hashing only what changed, for a caller who vouches for file times."""

    def setUp(self):
        super().setUp()
        self.model()
        self.set_times()
        self.create("old.json", "--record-mtime")

    def set_times(self, *names, seconds=1_500_000_000):
        paths = [self.dir / "model" / name for name in names]
        for path in paths or (self.dir / "model").rglob("*"):
            os.utime(path, (seconds, seconds))

    def create(self, out, *options, code=YES):
        result = self.assay("manifest", "create", "model", "--name", "acme/demo", "--out", out,
                            *options, "-o", "json", code=code)  # fmt: skip
        return result.json() if code == YES else result

    def reuse(self, out="new.json", *options, code=YES):
        return self.create(out, "--reuse", "old.json", "--trust-mtime", *options, code=code)

    def test_only_what_changed_is_read(self):
        self.write("model/config.json", "{}")
        got = self.reuse()
        self.assertEqual(got["artifact"], self.create("full.json")["artifact"])
        self.assertNotIn("config.json", got["reused"])
        self.assertEqual(len(got["reused"]), 7)
        self.assertGreater(got["reused_bytes"], 48000)
        # What was not read is said, also to people.
        text = self.assay("manifest", "create", "model", "--name", "acme/demo", "--out", "new.json",
                          "--reuse", "old.json", "--trust-mtime").err  # fmt: skip
        self.assertRegex(text, r"not read, taken from old.json: 7 files, ")
        self.assertIn("  model.safetensors\n", text)
        # The manifest itself says nothing of times.
        self.assertNotIn("mtime", (self.dir / "new.json").read_text())

    def test_times_before_all_times_are_not_believed(self):
        times = json.loads((self.dir / "old.json.times").read_text())
        times["hashed_at_ns"] = str(-(2**63)) if isinstance(times["hashed_at_ns"], str) else -(2**63)
        self.write_json("old.json.times", times)
        self.assertEqual(self.reuse().get("reused", []), [])

    def test_a_chain_of_reuse(self):
        self.reuse("one.json")
        got = self.create("two.json", "--reuse", "one.json", "--trust-mtime")
        self.assertEqual(len(got["reused"]), 8)

    def test_a_recent_change_is_read_again_even_with_the_recorded_time(self):
        record = self.read_json("old.json.times")
        record["hashed_at_ns"] = "1500000000000000000"
        self.write_json("old.json.times", record)
        self.assertEqual(self.reuse()["reused"], [])

    def test_changed_bytes_under_the_old_time_are_the_callers_word(self):
        path = self.dir / "model/data/longer.bin"
        content = bytearray(path.read_bytes())
        content[0] ^= 1
        path.write_bytes(content)
        self.set_times("data/longer.bin")
        old = self.assay("manifest", "show", "old.json", "-o", "json").json()["artifact"]
        self.assertEqual(self.reuse()["artifact"], old)
        self.assertNotEqual(self.create("full.json")["artifact"], old)

    def test_what_fails_closed(self):
        self.assertEqual(self.reuse("new.json", "--hash", "sha384")["reused"], [])
        self.assertEqual(self.reuse("new.json", "--chunk-size", "4096")["reused"], [])
        base = ("manifest", "create", "model", "--name", "acme/demo", "--out", "new.json")
        self.assertEqual(self.error(*base, "--reuse", "old.json"), "usage")
        self.assertEqual(self.error(*base, "--trust-mtime"), "usage")
        both = ("--reuse", "old.json", "--trust-mtime")
        self.assertEqual(self.error(*base, *both, "--outline", "o"), "usage")
        self.assertEqual(self.error(*base, *both, "--reuse-outline", "o"), "usage")
        self.assertEqual(self.error(*base, "--outline", "o", "--reuse-outline", "o"), "usage")
        self.assertEqual(self.error("manifest", "create", "model", "--name", "a/b", "--record-mtime"),
                         "usage")  # fmt: skip
        good = self.read_json("old.json.times")
        first = next(iter(good["files"]))
        for error, bad in (
            ("schema-violation", {}),
            ("schema-violation", {**good, "v": 2}),
            ("schema-violation", {**good, "more": 1}),
            ("schema-violation", {**good, "hashed_at_ns": 1}),
            ("schema-violation", {**good, "files": []}),
            ("schema-violation", {**good, "files": {first: {"size": -1, "mtime_ns": "1"}}}),
            ("schema-violation", {**good, "files": {first: {"size": 1, "mtime_ns": "x"}}}),
            ("subject-mismatch", {**good, "artifact": "assay-tree-v1-sha256:" + "0" * 64}),
        ):
            with self.subTest(bad=bad):
                self.write_json("old.json.times", bad)
                self.assertEqual(self.error(*base, *both), error)
        (self.dir / "old.json.times").unlink()
        self.assertEqual(self.error(*base, *both), "file-unreadable")
        self.assertFalse((self.dir / "o").exists())

    def test_an_outline_is_completed_from_the_old_one(self):
        span = ("--outline-span", "16384")
        self.create("old.json", "--record-mtime", "--outline", "old.outline", *span)
        self.write("model/config.json", "{}")
        got = self.reuse("new.json", "--outline", "new.outline", "--reuse-outline", "old.outline", *span)
        self.assertEqual(len(got["reused"]), 7)
        self.create("full.json", "--outline", "full.outline", *span)
        self.assertEqual((self.dir / "new.outline").read_bytes(), (self.dir / "full.outline").read_bytes())
        # Another span: what is asked for is right, and nothing is reused.
        got = self.reuse("new.json", "--outline", "new.outline", "--reuse-outline", "old.outline")
        self.assertEqual(got["reused"], [])
        self.create("full.json", "--outline", "full.outline")
        self.assertEqual((self.dir / "new.outline").read_bytes(), (self.dir / "full.outline").read_bytes())

    def test_an_outline_that_is_not_of_the_old_manifest_is_refused(self):
        self.create("old.json", "--record-mtime", "--outline", "old.outline")
        ask = ("manifest", "create", "model", "--name", "acme/demo", "--out", "new.json", "--reuse",
               "old.json", "--trust-mtime", "--outline", "new.outline", "--reuse-outline")  # fmt: skip
        blob = bytearray((self.dir / "old.outline").read_bytes())
        blob[-1] ^= 1
        (self.dir / "bad.outline").write_bytes(blob)
        self.assertEqual(self.error(*ask, "bad.outline"), "malformed-outline")
        self.assertEqual(self.error(*ask, "nothing.outline"), "file-unreadable")
        self.assertFalse((self.dir / "new.json").exists())

    def test_times_inside_the_model_are_no_part_of_it(self):
        self.create("model/m.json", "--record-mtime")
        shown = self.assay("manifest", "show", "model/m.json", "-o", "json").json()
        self.assertIn("/m.json.times", shown["parameters"]["ignore"])
        self.assertTrue((self.dir / "model/m.json.times").exists())


class Proofs(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.model()
        made = self.assay("manifest", "create", "model", "--name", "acme/demo", "--out", "m.json",
                          "-o", "json").json()  # fmt: skip
        self.artifact = made["artifact"]

    def prove(self, *arguments, code=YES):
        return self.assay("manifest", "prove", "m.json", *arguments, "--out", "proof.json", code=code)

    def check(self, proof="proof.json", code=YES, artifact=None):
        return self.assay("manifest", "prove", "--check", proof, "--artifact",
                          artifact or self.artifact, "-o", "json", code=code).json()  # fmt: skip

    def test_files_and_tensors(self):
        for name in ("config.json", "layer.0.weight", "model.safetensors#none", "data/line\nbreak"):
            self.prove(name)
            got = self.check()
            self.assertTrue(got["verified"])
            self.assertNotIn("chunk", got)
        self.assertEqual(self.error("manifest", "prove", "m.json", "nosuch"), "not-found")

    def test_chunks(self):
        for name, chunk, size in (("data/longer.bin", 1, 1), ("layer.0.weight", 0, 16000),
                                  ("data/chunk.bin", 0, 16384)):  # fmt: skip
            self.prove(name, "--chunk", chunk, "--model", "model")
            got = self.check()
            self.assertEqual((got["chunk"], got["chunk_bytes"]), (chunk, size))
        self.prove("data/chunk.bin", "--chunk", 1, "--model", "model", code=TROUBLE)
        self.prove("data/chunk.bin", "--chunk", 0, code=TROUBLE)

    def test_other_bytes_on_disk_are_not_proven(self):
        content = bytearray((self.dir / "model/data/longer.bin").read_bytes())
        content[0] ^= 1
        self.write("model/data/longer.bin", bytes(content))
        self.prove("data/longer.bin", "--chunk", 1, "--model", "model", code=NO)
        self.assertFalse((self.dir / "proof.json").exists())

    def test_a_proof_says_nothing_without_an_artifact(self):
        self.prove("config.json")
        self.assertEqual(self.error("manifest", "prove", "--check", "proof.json"), "usage")
        other = "assay-tree-v1-sha256:" + "1" * 64
        self.assertEqual(self.check(code=NO, artifact=other)["error"]["code"], "proof-invalid")

    def test_changed_proofs_are_refused(self):
        self.prove("data/longer.bin", "--chunk", 1, "--model", "model")
        good = self.read_json("proof.json")
        wanted = []

        def change(path, value):
            bad = json.loads(json.dumps(good))
            place = bad
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            wanted.append(bad)

        change(["entry", "leaf", "path"], "data/other.bin")
        change(["entry", "leaf", "size"], 1)
        change(["entry", "index"], 0)
        change(["entry", "index"], good["entry"]["index"] + 1)
        change(["entry", "path", 0], "0" * 64)
        change(["entry", "path"], good["entry"]["path"][:-1])
        change(["parameters", "leaf", "chunk_size"], 4096)
        change(["parameters", "path"], [])
        change(["leaves"], good["leaves"] + 100)
        change(["leaves"], -1)
        change(["chunk", "index"], 0)
        change(["chunk", "bytes"], base64.b64encode(b"?").decode())
        change(["chunk", "bytes"], "")
        change(["chunk", "path"], [])
        change(["chunk"], {})
        change(["more"], 1)
        change(["v"], 2)
        # An entry may not stand where the parameters are, nor the other way round.
        change(["entry"], {**good["parameters"], "index": 0})
        for bad in [*wanted, [], {}, 7]:
            self.write_json("bad.json", bad)
            with self.subTest(proof=bad):
                self.assertFalse(self.check("bad.json", code=NO)["verified"])
        self.write("bad.json", "not JSON")
        self.assertEqual(self.check("bad.json", code=NO)["error"]["code"], "malformed-json")


if __name__ == "__main__":
    harness.main()
