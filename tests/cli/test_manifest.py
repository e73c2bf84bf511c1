# SPDX-License-Identifier: Apache-2.0
"""Manifests: create, sign, verify what is on disk, show, prove."""
import base64
import json

import harness
from harness import NO, TROUBLE, YES
from reference import dsse, tree


class Manifest(harness.TestCase):
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

    def test_create_then_sign(self):
        made = self.create("--location", "pvc://ml/demo", "--digest", "sha256:" + "a" * 64)
        self.assertFalse(made["signed"])
        statement = self.read_json("manifest.json")
        self.assertEqual(statement["_type"], "https://in-toto.io/Statement/v1")
        self.assertEqual(statement["predicateType"], "https://assay.dev/merkle-manifest/v1")
        subject = statement["subject"][0]
        self.assertEqual(subject["name"], "acme/demo")
        want, _ = tree.hash_path(str(self.dir / "model"))
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
                                       "id", "name", "seconds", "signers", "verified"])  # fmt: skip
        self.assertEqual(got["differences"], [])
        self.assertEqual(got["signers"], [{"key_id": self.key_id, "identity": self.key_id}])
        text = self.assay("manifest", "verify", "signed.json", "model", "--key",
                          "publisher.pem.pub").out  # fmt: skip
        self.assertTrue(text.startswith("verified acme/demo assay-tree-v1-sha256:"), text)

    def test_output_inside_the_model_is_left_out(self):
        self.signed("--outline", "model/model.outline", out="model/model.assay.json")
        self.assertTrue(self.verify(envelope="model/model.assay.json")["verified"])
        shown = self.assay("manifest", "show", "model/model.assay.json", "-o", "json").json()
        self.assertEqual(shown["ignore"], ["/model.assay.json", "/model.outline"])

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
                         {("model.safetensors", None), ("model.safetensors", "layer.0.weight")})

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
            if result.code == YES:  # a byte of the key id, which is a hint
                self.assertIn(self.key_id.split(":")[1][:20].encode(), good[max(0, at - 64):at + 64])
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
