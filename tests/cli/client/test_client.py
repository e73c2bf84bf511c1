# SPDX-License-Identifier: Apache-2.0
"""The HTTPS client and the verbs that need the service, against a small server of our own."""
import base64
import hashlib
import json
import ssl
import stat
import subprocess
from urllib.parse import parse_qs, urlsplit

import harness
import receipts
import served
from harness import NO, TROUBLE, YES
from reference import dsse, log
from served import TOKEN
from tls_server import Answer, make_certificate, problem

UUID = "0198f0c2-6f0e-7c1a-9d3e-0b8f3a5d2c11"
STATEMENT = "sha256:" + "12" * 32
ARTIFACT = "assay-tree-v1-sha256:" + "ab" * 32


class Client(served.TestCase):
    def stored(self, name, **options):
        return receipts.stored((self.dir / name).read_bytes(), **options)

    def trust(self, trust=0, policy=0):
        self.answer("GET", "/v1/trust", Answer(200, {
            "epochs": {"trust": trust, "revocation": 0, "policy": policy}, "keys": [],
            "principals": []}))  # fmt: skip

    # --- connection

    def test_the_request(self):
        self.trust(4)
        got = self.assay("trust", "show", *self.to, "-o", "json").json()
        self.assertEqual(got["epochs"]["trust"], 4)
        method, target, headers, _ = self.server.requests[0]
        self.assertEqual((method, target), ("GET", "/v1/trust"))
        self.assertEqual(headers["Authorization"], f"Bearer {TOKEN}")
        self.assertEqual(headers["Accept"], "application/json")

    def test_trust_is_shown_whole(self):
        """Whoever reviews the text sees what -o json shows."""
        root = b"a simulated root"
        self.answer("GET", "/v1/trust", Answer(200, {
            "epochs": {"trust": 1, "revocation": 0, "policy": 0}, "keys": [], "principals": [],
            "appraisals": [
                {"evidence_type": "tdx", "dangerous_anchors": [base64.b64encode(root).decode()],
                 "policy": {"accept_tcb_status": ["UpToDate"], "dangerous_allow_missing_crl": True}},
                {"evidence_type": "nvidia-gpu", "stage": "train"}],
            "reference_values": [{"tag_id": "acme/os", "version": 3, "appraisal": "tdx", "identity": "vera"},
                                 {"tag_id": "acme/old", "version": 1, "appraisal": "tdx", "removed": "x"}],
            "trusted_roots": [{"name": "sigstore", "version": 4, "document": {}}],
            "registrations": [
                {"id": "r1", "node": "gpu-1", "principal": "agent", "nodes_per_platform": 1, "devices": 7},
                {"id": "r2", "node": "gpu-2", "principal": "agent", "nodes_per_platform": 1}]}))  # fmt: skip
        shown = " ".join(self.assay("trust", "show", *self.to).out.split())
        for text in ("! dangerous_anchors sha256:" + hashlib.sha256(root).hexdigest(),
                     "policy.dangerous_allow_missing_crl", "nvidia-gpu statements of stage train defaults",
                     "acme/os 3 tdx vera", "acme/old 1 tdx ! nobody removed", "sigstore 4",
                     "r1 gpu-1 agent any 1 7", "r2 gpu-2 agent any 1 none"):
            self.assertIn(text, shown)

    def test_refused_connection(self):
        self.server.server.socket.close()
        result = self.assay("trust", "show", "--server", "https://127.0.0.1:1", "--ca",
                            "server.crt", "--retries", "1", code=TROUBLE)  # fmt: skip
        self.assertIn("error: connection-failed:", result.err)
        self.assertIn("trying again", result.err)
        self.assertNotIn("trying again", self.assay(
            "trust", "show", "--server", "https://127.0.0.1:1", "--retries", "1", "-q",
            code=TROUBLE).err)  # fmt: skip

    def test_wrong_certificate(self):
        make_certificate(self.dir / "other")
        base = ("trust", "show", "--server", f"https://localhost:{self.server.port}")
        for options in (("--ca", "other.crt"), ()):
            result = self.assay(*base, *options, code=TROUBLE)
            self.assertIn("connection-failed", result.err)
            self.assertIn("--ca", result.err)
        self.assertEqual(self.server.requests, [])

    def test_wrong_host_name(self):
        make_certificate(self.dir / "named", name="assay.example")
        server = self.serve("named")
        self.assertEqual(self.error("trust", "show", "--server", f"https://localhost:{server.port}",
                                    "--ca", "named.crt"), "connection-failed")  # fmt: skip

    def test_old_tls_is_refused(self):
        server = self.serve("server", maximum=ssl.TLSVersion.TLSv1_2)
        self.assertEqual(self.error("trust", "show", "--server", f"https://localhost:{server.port}",
                                    "--ca", "server.crt"), "connection-failed")  # fmt: skip

    def test_client_certificates(self):
        make_certificate(self.dir / "me")
        (self.dir / "me.key").chmod(0o600)
        server = self.serve("server", client_ca=str(self.dir / "me.crt"))
        server.answers["GET /v1/trust"] = Answer(200, {"epochs": {}, "keys": []})
        base = ("trust", "show", "--server", f"https://localhost:{server.port}", "--ca",
                "server.crt")  # fmt: skip
        self.assay(*base, "--cert", "me.crt", "--cert-key", "me.key")
        self.assay(*base, "--retries", "0", code=TROUBLE)
        self.assertEqual(self.error(*base, "--cert", "me.crt"), "usage")
        self.assertEqual(self.error(*base, "--cert", "no.crt", "--cert-key", "me.key"),
                         "file-unreadable")  # fmt: skip

    def test_the_key_of_a_client_certificate_is_a_secret(self):
        from cryptography.hazmat.primitives import serialization

        make_certificate(self.dir / "me")
        base = ("trust", "show", *self.to, "--cert", "me.crt", "--cert-key", "me.key")
        self.trust()
        for mode in (0o644, 0o640, 0o604):
            (self.dir / "me.key").chmod(mode)
            result = self.assay(*base, code=TROUBLE)
            self.assertIn("key-unusable", result.err)
            self.assertIn("chmod 600", result.err)
        self.assertEqual(self.server.requests, [])
        (self.dir / "me.key").chmod(0o600)
        self.assay(*base)
        self.assertEqual(self.error(*base[:-1], "."), "key-unusable")
        self.assertEqual(self.error(*base[:-1], "nosuch"), "file-unreadable")
        # Others may have what they cannot read. The passphrase is not asked for: the service wants
        # no certificate, so nothing gets that far but the check.
        key = serialization.load_pem_private_key((self.dir / "me.key").read_bytes(), None)
        self.write("me.key", key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"secret"))).chmod(0o644)  # fmt: skip
        self.assertNotIn("key-unusable", self.assay(*base, code=None).err)

    def test_client_certificates_that_no_service_takes_are_refused_by_name(self):
        self.trust()
        base = ("trust", "show", *self.to, "--cert", "k.crt", "--cert-key", "k.key")
        for name, key in (("secp521r1", "EC -pkeyopt ec_paramgen_curve:P-521"),
                          ("secp256k1", "EC -pkeyopt ec_paramgen_curve:secp256k1"),
                          ("ED448", "ed448"), ("RSA-PSS", "RSA-PSS"),
                          ("RSA of 1024 bits", "RSA -pkeyopt rsa_keygen_bits:1024")):  # fmt: skip
            with self.subTest(name=name):
                subprocess.run(["sh", "-c", f"umask 077; openssl genpkey -algorithm {key} -out k.key && "
                                "openssl req -x509 -key k.key -subj /CN=x -days 9 -out k.crt"],
                               cwd=self.dir, check=True, capture_output=True)  # fmt: skip
                result = self.assay(*base, code=TROUBLE)
                self.assertIn("key-unusable", result.err)
                self.assertIn(name, result.err)
                self.assertIn("usable keys are Ed25519, ECDSA on P-256 or P-384", result.err)
        make_certificate(self.dir / "k")
        make_certificate(self.dir / "other")
        for name in ("k.key", "other.key"):
            (self.dir / name).chmod(0o600)
        self.assay(*base)
        result = self.assay(*base[:-1], "other.key", code=TROUBLE)
        self.assertIn("does not belong", result.err)

    def test_redirects_are_not_followed(self):
        self.answer("GET", "/v1/trust", Answer(302, {}, headers={"Location": "https://127.0.0.1:1/"}))
        self.assay("trust", "show", *self.to, code=TROUBLE)
        self.assertEqual(len(self.server.requests), 1)

    # --- settings

    def test_environment_and_profile(self):
        self.trust()
        url = f"https://localhost:{self.server.port}"
        self.assay("trust", "show", env={"ASSAY_SERVER": url, "ASSAY_CA": "server.crt",
                                         "ASSAY_TOKEN_FILE": "token"})  # fmt: skip
        self.write_json("config/assay/config.json",
                        {"server": url, "ca": "../../server.crt", "token_file": "../../token"})
        self.assay("trust", "show")
        self.assertEqual(self.server.requests[-1][2]["Authorization"], f"Bearer {TOKEN}")
        # Flags come before the environment, the environment before the profile.
        self.assay("trust", "show", env={"ASSAY_SERVER": "https://localhost:1"}, code=TROUBLE)
        self.assay("trust", "show", "--server", url, env={"ASSAY_SERVER": "https://localhost:1"})
        self.write_json("bad.json", {"sever": url})
        self.assertEqual(self.error("trust", "show", "--profile", "bad.json"), "invalid-config")

    def test_token_files(self):
        (self.dir / "token").chmod(stat.S_IRUSR | stat.S_IRGRP)
        self.assertEqual(self.error("trust", "show", *self.to), "key-unusable")
        self.write("token", "two words")
        (self.dir / "token").chmod(0o600)
        self.assertEqual(self.error("trust", "show", *self.to), "usage")
        self.assertEqual(self.server.requests, [])

    # --- errors of the service

    def test_problems(self):
        self.answer("GET", "/v1/trust", problem(403, "forbidden", "the role admin is needed"))
        result = self.assay("trust", "show", *self.to, "-o", "json", code=TROUBLE)
        error = json.loads(result.err)["error"]
        self.assertEqual(error["code"], "forbidden")
        self.assertIn("the role admin is needed", error["detail"])
        self.assertIn("req-1", error["detail"])
        self.assertNotIn(TOKEN, result.out + result.err)
        self.answer("GET", "/v1/trust", problem(418, "brand-new-code"))
        self.assertIn("brand-new-code", self.assay("trust", "show", *self.to, code=TROUBLE).err)
        self.answer("GET", "/v1/trust", Answer(502, b"<html>", "text/html"))
        self.assertIn("502", self.assay("trust", "show", *self.to, code=TROUBLE).err)
        self.answer("GET", "/v1/trust", Answer(200, b"<html>", "text/html"))
        self.assertEqual(self.error("trust", "show", *self.to), "malformed-json")

    def test_control_characters_of_the_service_are_escaped(self):
        self.answer("GET", "/v1/trust", problem(400, "bad-request", "\x1b[2Jall is well\r"))
        err = self.assay("trust", "show", *self.to, code=TROUBLE).err
        self.assertNotIn("\x1b", err)
        self.assertIn("\\x1b[2J", err)

    def test_what_may_pass_is_tried_again(self):
        busy = problem(503, "overloaded", retryable=True)
        good = Answer(200, {"epochs": {"trust": 1}, "keys": []})
        self.answer("GET", "/v1/trust", busy, busy, good)
        self.assay("trust", "show", *self.to)
        self.assertEqual(len(self.server.requests), 3)
        self.server.requests.clear()
        self.answer("GET", "/v1/trust", Answer(cut=True), good)
        self.assay("trust", "show", *self.to)

    def test_retries_are_bounded(self):
        self.answer("GET", "/v1/trust", problem(503, "unavailable", retryable=True))
        self.assay("trust", "show", *self.to, "--retries", "2", code=TROUBLE)
        self.assertEqual(len(self.server.requests), 3)

    def test_what_will_not_pass_is_not_tried_again(self):
        for answer in (problem(500, "internal"), problem(422, "signature-invalid"),
                       problem(503, "store-behind-anchor", retryable=False)):  # fmt: skip
            self.server.requests.clear()
            self.answer("GET", "/v1/trust", answer)
            self.assay("trust", "show", *self.to, code=TROUBLE)
            self.assertEqual(len(self.server.requests), 1)

    def test_a_decision_is_not_asked_twice_when_the_answer_is_lost(self):
        self.answer("POST", "/v1/decisions", Answer(cut=True))
        self.assay("decide", "--model", "acme/demo", *self.to, code=TROUBLE)
        self.assertEqual(len(self.server.requests), 1)
        # Nor after an answer that leaves open what was done: a proxy's, or the store's.
        for answer in (Answer(503, b"<html>", "text/html"), Answer(429, b"", "text/plain"),
                       problem(503, "storage", retryable=True),
                       problem(503, "unavailable", retryable=True)):  # fmt: skip
            self.server.requests.clear()
            self.answer("POST", "/v1/decisions", answer)
            self.assay("decide", "--model", "acme/demo", *self.to, code=TROUBLE)
            self.assertEqual(len(self.server.requests), 1)

    def test_a_decision_is_asked_again_when_the_service_says_that_it_did_nothing(self):
        self.server.requests.clear()
        self.answer("POST", "/v1/decisions", problem(503, "overloaded", retryable=True),
                    Answer(200, {"selected": False}))
        self.assay("decide", "--model", "acme/demo", *self.to)
        self.assertEqual(len(self.server.requests), 2)

    def test_a_store_that_failed_is_asked_again_for_what_may_be_repeated(self):
        self.answer("GET", "/v1/trust", problem(503, "storage", retryable=True),
                    Answer(200, {"epochs": {"trust": 1}, "keys": []}))
        self.assay("trust", "show", *self.to)
        self.assertEqual(len(self.server.requests), 2)

    def test_a_document_is_pushed_again_when_the_store_failed(self):
        self.key("k")
        self.assay("attest", "create", "--stage", "evaluate", "--subject", ARTIFACT, "--name",
                   "acme/demo", "--key", "k.pem", "--out", "e.json")  # fmt: skip
        self.answer("POST", "/v1/attestations", problem(503, "storage", retryable=True),
                    Answer(503, b"<html>", "text/html"), Answer(201, self.stored("e.json", index=7)))
        self.assay("push", "e.json", *self.to)
        bodies = {body for _, _, _, body in self.server.requests}
        self.assertEqual(len(self.server.requests), 3)
        self.assertEqual(bodies, {(self.dir / "e.json").read_bytes()})

    # --- lists

    def test_a_list_of_decisions_says_that_it_was_cut(self):
        page = {"items": [{"id": "a"}, {"id": "b"}], "limit": 2, "tree_size": 9, "root": "ab",
                "next_cursor": "c", "total": 148}
        self.answer("GET", "/v1/decisions", Answer(200, page))
        got = self.assay("decision", "list", "--limit", "2", *self.to)
        self.assertIn("2 of 148 decisions", got.err)
        self.assertIn("order=newest&total=true", self.server.requests[0][1])
        self.answer("GET", "/v1/decisions", Answer(200, page))
        got = self.assay("decision", "list", "--limit", "2", *self.to, "-o", "json")
        self.assertEqual(got.json()["total"], 148)
        self.assertIn("2 of 148 decisions", got.err)
        rest = {key: page[key] for key in ("items", "limit", "tree_size", "root")}
        self.server.requests.clear()
        self.answer("GET", "/v1/decisions", Answer(200, page), Answer(200, rest))
        got = self.assay("decision", "list", "--all", *self.to, "-o", "json")
        self.assertEqual((len(got.json()["items"]), got.json()["total"]), (4, 4))
        self.assertNotIn("of", got.err)

    def test_a_list_of_decisions_has_times_and_an_order(self):
        self.answer("GET", "/v1/decisions", Answer(200, {"items": [], "limit": 100, "total": 0}))
        self.assay("decision", "list", "--since", "2026-01-02T03:04:05Z", "--until",
                   "2026-01-03T00:00:00Z", "--oldest-first", *self.to)  # fmt: skip
        asked = parse_qs(urlsplit(self.server.requests[-1][1]).query)
        self.assertEqual(asked["since"], ["2026-01-02T03:04:05Z"])
        self.assertEqual(asked["until"], ["2026-01-03T00:00:00Z"])
        self.assertEqual(asked["order"], ["oldest"])
        self.assay("decision", "list", *self.to)
        asked = parse_qs(urlsplit(self.server.requests[-1][1]).query)
        self.assertEqual(asked, {"request": ["true"], "order": ["newest"], "total": ["true"], "limit": ["100"]})

    def test_a_mistyped_filter_is_an_error(self):
        self.answer("GET", "/v1/decisions", problem(400, "invalid-parameter"))
        self.assertEqual(self.error("decision", "list", "--reason", "nosuch", *self.to),
                         "invalid-parameter")

    # --- verbs

    def test_push(self):
        self.model()
        self.key("k")
        self.assay("manifest", "create", "model", "--name", "acme/demo", "--key", "k.pem", "--out",
                   "m.json")  # fmt: skip
        self.assay("attest", "create", "--stage", "evaluate", "--subject", "m.json", "--key",
                   "k.pem", "--out", "e.json")  # fmt: skip
        self.answer("POST", "/v1/manifests", Answer(201, self.stored("m.json", index=7)))
        self.answer("POST", "/v1/attestations", Answer(200, self.stored("e.json", index=7)))
        got = self.assay("push", "m.json", "e.json", *self.to, "-o", "json").json()
        self.assertEqual([item["kind"] for item in got["items"]], ["manifest", "attestation"])
        self.assertEqual(got["items"][0]["log"]["index"], 7)
        method, target, headers, body = self.server.requests[0]
        self.assertEqual((method, target), ("POST", "/v1/manifests"))
        self.assertEqual(headers["Content-Type"], "application/vnd.dsse.envelope.v1+json")
        self.assertNotIn("Transfer-Encoding", headers)
        self.assertEqual(body, (self.dir / "m.json").read_bytes())

        self.answer("POST", "/v1/manifests", problem(422, "untrusted-signer"))
        got = self.assay("push", "m.json", "e.json", *self.to, "-o", "json", code=NO).json()
        self.assertEqual(got["items"][0]["error"]["code"], "untrusted-signer")
        self.assertNotIn("error", got["items"][1])
        self.server.requests.clear()
        self.assertEqual(self.error("push", "e.json", "nosuch.json", *self.to), "file-unreadable")
        self.assertEqual(self.server.requests, [])

    def test_push_refuses_the_receipt_of_another_record(self):
        key = self.key("k")
        self.key("first")
        self.assay("attest", "create", "--stage", "evaluate", "--subject", ARTIFACT, "--name",
                   "acme/demo", "--key", "k.pem", "--keyid", "sha256", "--out", "e.json")  # fmt: skip
        vkey = log.verifier_key("log.example", log.public_bytes(receipts.SEED))
        push = ("push", "e.json", "--verifier-key", vkey, *self.to)
        route = "/v1/attestations"
        good = self.stored("e.json", index=7)
        self.answer("POST", route, Answer(200, good))
        self.assay(*push)
        first = self.stored("e.json", index=6, signers=["sha256:" + "ab" * 32], documents=[])
        later = {**good, "signers": [{"key_id": key, "log_index": 8}]}
        swapped = {**good, "record": {**good["record"], "actor": "somebody"}}
        about = self.stored("e.json", index=7, subject=["sha256:" + "cd" * 32])
        bare = {name: value for name, value in good.items() if name != "record"}
        for answer in (first, later, swapped, about, bare):
            self.answer("POST", route, Answer(200, answer))
            got = self.assay(*push, "-o", "json", code=NO).json()
            self.assertEqual(got["items"][0]["error"]["code"], "log-inconsistent", answer)
        # Signed by another log, or not in the tree: seen with the log's key.
        broken = self.stored("e.json", index=7)
        broken["log"]["inclusion"][0] = "00" * 32
        foreign = self.stored("e.json", index=7, seed=b"x" * 32)
        for answer in (broken, foreign):
            self.answer("POST", route, Answer(200, answer))
            self.assay(*push, code=NO)

    def attest(self, *options):
        self.assay("attest", "create", "--stage", "evaluate", "--subject", ARTIFACT, "--name",
                   "acme/demo", *options, "--out", "e.json")  # fmt: skip

    def test_push_says_that_the_service_counts_no_signature_of_an_envelope(self):
        other = "sha256:" + "ab" * 32
        for keyid in ("sha256", "none"):
            self.key(keyid)
            self.attest("--key", f"{keyid}.pem", "--keyid", keyid)
            answer = self.stored("e.json", index=6, signers=[other], documents=[])
            answer["signers"] = [{"key_id": other, "log_index": 6}]
            self.answer("POST", "/v1/attestations", Answer(200, answer))
            got = self.assay("push", "e.json", *self.to, "-o", "json", code=NO).json()
            error = got["items"][0]["error"]
            self.assertEqual(error["code"], "untrusted-signer")
            self.assertIn("count", error["detail"])

    def test_push_names_the_keys_that_do_not_count(self):
        first, second = self.key("first"), self.key("second")
        self.attest("--key", "first.pem", "--key", "second.pem", "--keyid", "sha256")
        answer = self.stored("e.json", index=6, signers=[first])
        answer["signers"] = answer["signers"][:1]
        self.answer("POST", "/v1/attestations", Answer(200, answer))
        done = self.assay("push", "e.json", *self.to)
        self.assertIn(f"does not count the signature by {second}", done.err)
        self.assertNotIn(f"by {first}", done.err)

    def stored_policy(self):
        """The id of a policy that the service has; there are keys of its author and an approver."""
        self.key("author")
        self.key("approver")
        self.write_json("policy.json", {
            "name": "prod", "version": 2, "mode": "enforce", "match": {"namespaces": ["prod"]},
            "require": [{"id": "published", "manifest": {}}]})  # fmt: skip
        made = self.assay("sign", "policy.json", "--key", "author.pem", "--out", "signed.json",
                          "-o", "json").json()["id"]  # fmt: skip
        self.answer("GET", f"/v1/policies/{made}",
                    Answer(200, (self.dir / "signed.json").read_bytes()))  # fmt: skip
        return made

    def test_policy_activate(self):
        policy = self.stored_policy()
        self.trust(policy=6)
        self.answer("POST", f"/v1/policies/{policy}:activate", Answer(200, {
            "name": "prod", "version": 2, "policy_epoch": 7}))  # fmt: skip
        approve = ("policy", "activate", policy, "--key", "approver.pem", *self.to)
        # Of what is named by its id, nobody knows the tests.
        self.assertEqual(self.error(*approve), "usage")
        self.assertEqual(self.server.requests, [])
        result = self.assay(*approve, "--without-tests")
        self.assertEqual(result.out, "prod version 2 is in force\n")
        kind, payload, _ = dsse.parse(self.server.requests[-1][3])
        self.assertEqual(kind, "application/vnd.assay.policy-approval+json")
        self.assertEqual(json.loads(payload),
                         {"action": "activate", "policy": policy, "sequence": 7})  # fmt: skip

    def test_policy_activate_refused_by_the_service_exits_with_1(self):
        policy = self.stored_policy()
        self.trust(policy=6)
        path = f"/v1/policies/{policy}:activate"
        command = ("policy", "activate", policy, "--without-tests", "--key", "approver.pem",
                   *self.to, "-o", "json")  # fmt: skip
        self.answer("POST", path, problem(422, "wrong-purpose"))
        self.assertEqual(self.assay(*command, code=NO).json()["error"]["code"], "wrong-purpose")
        # Not an answer to the question: made for another epoch.
        self.answer("POST", path, problem(409, "trust-sequence"))
        self.assertEqual(self.error(*command[:-2]), "trust-sequence")

    def test_trust_change_asks_for_the_epoch(self):
        self.trust(trust=41)
        got = self.assay("trust", "change", "--remove-principal", "old", "--sequence", "auto",
                         *self.to).json()  # fmt: skip
        self.assertEqual(got["sequence"], 42)

    def verdict(self, allowed):
        condition = {"id": "published", "outcome": "pass" if allowed else "fail"}
        if not allowed:
            condition |= {"code": "manifest-missing", "expected": 1, "actual": 0}
        return {"allowed": allowed, "reasons": [] if allowed else ["manifest-missing"],
                "warnings": [], "preconditions": [], "policies": [
                    {"name": "prod", "version": 1, "id": STATEMENT, "mode": "enforce",
                     "model": ARTIFACT, "outcome": condition["outcome"],
                     "conditions": [condition]}]}  # fmt: skip

    def decision(self, allowed):
        return {"selected": True, "decision": {"id": UUID, "point": "create",
                                               "models": [{"artifact": ARTIFACT, "name": "acme/demo"}],
                                               "verdict": self.verdict(allowed)}}  # fmt: skip

    def test_decide(self):
        base = ("decide", "--model", "acme/demo", "--namespace", "prod", "--label", "app=chat",
                "--resource", "nvidia.com/gpu", *self.to)  # fmt: skip
        self.answer("POST", "/v1/decisions", Answer(200, self.decision(True)))
        got = self.assay(*base)
        self.assertTrue(got.out.startswith("allow\n"))
        self.assertIn(f"about acme/demo@{ARTIFACT}", got.err)
        self.assertEqual(json.loads(self.server.requests[-1][3]), {
            "point": "create", "model": "acme/demo", "dry_run": False, "workload": {
                "namespace": "prod", "labels": {"app": "chat"}, "resources": ["nvidia.com/gpu"]}})
        self.assay(*base, "--point", "bind", "--node", "gpu-1")
        asked = json.loads(self.server.requests[-1][3])
        self.assertEqual((asked["point"], asked["node"]), ("bind", "gpu-1"))
        self.assertEqual(sorted(asked["workload"]), ["labels", "namespace", "resources"])
        self.assertEqual(self.error(*base, "--point", "bind"), "usage")
        self.answer("POST", "/v1/decisions", Answer(200, self.decision(False)))
        text = self.assay(*base, code=NO).out
        self.assertIn("deny: manifest-missing", text)
        self.assertIn("published  manifest-missing  expected 1, actual 0", text)
        self.assertEqual(self.assay(*base, "-o", "json", code=NO).json(), self.decision(False))
        self.answer("POST", "/v1/decisions", Answer(200, {"selected": False, "decision": None}))
        self.assertIn("not applicable", self.assay(*base, code=YES).out)
        # What is no answer is never an allow.
        for odd in ({}, [], {"selected": True}, {"selected": True, "decision": {}}, "allow",
                    {"selected": True, "decision": {"verdict": {"allowed": "yes"}}}):  # fmt: skip
            self.answer("POST", "/v1/decisions", Answer(200, odd))
            self.assay(*base, code=TROUBLE)

    def test_replay(self):
        self.answer("POST", f"/v1/decisions/{UUID}:replay", Answer(200, {
            "reproduced": True, "recorded": "sha256:1", "recomputed": "sha256:1",
            "verdict": self.verdict(True)}))  # fmt: skip
        self.assay("decision", "replay", UUID, *self.to)
        self.assertEqual(self.server.requests[-1][3], b"")
        self.assertNotIn("Content-Type", self.server.requests[-1][2])
        self.answer("POST", f"/v1/decisions/{UUID}:replay", Answer(200, {"reproduced": False}))
        self.assay("decision", "replay", UUID, *self.to, code=NO)
        self.assertEqual(self.error("decision", "replay", "../x", *self.to), "usage")

    def test_admission(self):
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                  "request": {"uid": "u-1", "object": {}}}  # fmt: skip
        self.write_json("review.json", review)
        base = ("admission", "test", "-f", "review.json", *self.to)

        def respond(**response):
            self.answer("POST", "/v1/admission/validate", Answer(200, {"response": response}))

        respond(uid="u-1", allowed=True)
        self.assertEqual(self.assay(*base).out, "allow\n")
        self.assertEqual(self.server.requests[-1][1], "/v1/admission/validate?timeout=10s")
        respond(uid="u-1", allowed=False, status={"message": "no:\n  manifest\x1b"}, warnings=["soon"],
                auditAnnotations={"decision-id": UUID})  # fmt: skip
        self.assertEqual(self.assay(*base, code=NO).out,
                         f"deny\nno:\n  manifest\\x1b\nwarning: soon\ndecision-id: {UUID}\n")  # fmt: skip
        for odd in ({}, {"uid": "u-2", "allowed": True}, {"uid": "u-1", "allowed": 1}):
            respond(**odd)
            self.assay(*base, code=TROUBLE)
        self.write_json("pod.json", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "demo"}})
        self.write("path", "s3cret").chmod(0o600)
        self.assay("admission", "test", "-f", "pod.json", "--mutate", "--path-secret-file", "path",
                   *self.to, code=TROUBLE)  # fmt: skip
        method, target, _, body = self.server.requests[-1]
        self.assertEqual((method, target), ("POST", "/s3cret/v1/admission/mutate?timeout=10s"))
        request = json.loads(body)["request"]
        self.assertEqual((request["namespace"], request["dryRun"]), ("default", True))
        self.assertNotIn("subResource", request)
        self.write_json("binding.json", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "demo", "namespace": "prod"},
            "target": {"kind": "Node", "name": "gpu-1"}})  # fmt: skip
        respond(uid="u-1", allowed=True)
        self.assay("admission", "test", "-f", "binding.json", *self.to, code=TROUBLE)  # another uid
        request = json.loads(self.server.requests[-1][3])["request"]
        self.assertEqual((request["kind"]["kind"], request["subResource"], request["namespace"],
                          request["object"]["target"]["name"]),
                         ("Binding", "binding", "prod", "gpu-1"))  # fmt: skip
        self.write_json("job.json", {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "demo"}})
        self.assay("admission", "test", "-f", "job.json", *self.to, code=TROUBLE)  # another uid
        request = json.loads(self.server.requests[-1][3])["request"]
        self.assertEqual((request["kind"]["group"], request["kind"]["kind"], request["resource"]["resource"]),
                         ("batch", "Job", "jobs"))  # fmt: skip
        for kind, version in (("Job", "v1"), ("Pod", "apps/v1"), ("Service", "v1")):
            self.write_json("odd.json", {"apiVersion": version, "kind": kind})
            self.assertEqual(self.error("admission", "test", "-f", "odd.json", *self.to), "usage")

    def test_get(self):
        envelope = {"payloadType": "text/plain", "payload": base64.b64encode(b"hi").decode(),
                    "signatures": [{"sig": base64.b64encode(b"s" * 64).decode()}]}  # fmt: skip
        text = json.dumps(envelope, indent=3).encode()
        identifier = dsse.statement_id("text/plain", b"hi")
        self.answer("GET", f"/v1/attestations/{identifier}", Answer(200, text))
        got = self.assay("get", identifier, "--envelope", *self.to)
        self.assertEqual(got.raw, text)
        self.assertEqual([request[1].split("/")[2] for request in self.server.requests],
                         ["manifests", "attestations"])  # fmt: skip
        self.answer("GET", f"/v1/manifests/{STATEMENT}", Answer(200, text))
        self.assertEqual(self.error("get", STATEMENT, "--envelope", *self.to), "data-loss")
        self.assertEqual(self.error("get", ARTIFACT, *self.to), "not-found")
        self.assertEqual(self.error("get", "../v1/trust", *self.to), "usage")

    DECISION = "application/vnd.assay.decision+json"
    POLICY = "application/vnd.assay.policy+json"

    def envelope(self, kind, payload):
        """An envelope by nobody in particular, and the id of what is in it."""
        text = json.dumps({"payloadType": kind, "payload": base64.b64encode(payload).decode(),
                           "signatures": [{"sig": base64.b64encode(b"s" * 64).decode()}]})  # fmt: skip
        return Answer(200, text.encode()), dsse.statement_id(kind, payload)

    def test_get_a_decision_checks_that_it_is_the_one_asked_for(self):
        path, base = f"/v1/decisions/{UUID}", ("get", UUID, "--envelope", *self.to)
        good, _ = self.envelope(self.DECISION, json.dumps({"id": UUID}).encode())
        self.answer("GET", path, good)
        self.assertEqual(self.assay(*base).raw, good.body)
        for kind, payload in ((self.DECISION, {"id": UUID[:-1] + "2"}), (self.DECISION, {}),
                              (self.DECISION, [UUID]), (self.DECISION, {"id": 7}),
                              ("text/plain", {"id": UUID})):  # fmt: skip
            with self.subTest(kind=kind, payload=payload):
                other, _ = self.envelope(kind, json.dumps(payload).encode())
                self.answer("GET", path, other)
                self.assertEqual(self.error(*base, "--out", "got"), "data-loss")
                self.assertFalse((self.dir / "got").exists())

    def test_policy_diff_checks_that_policies_are_those_asked_for(self):
        def policy(version):
            return json.dumps({"name": "prod", "version": version, "mode": "enforce",
                               "match": {"namespaces": ["prod"]},
                               "require": [{"id": "a", "manifest": {}}]}).encode()  # fmt: skip

        old, old_id = self.envelope(self.POLICY, policy(1))
        new, new_id = self.envelope(self.POLICY, policy(2))
        self.answer("GET", f"/v1/policies/{old_id}", old)
        self.answer("GET", f"/v1/policies/{new_id}", new)
        base = ("policy", "diff", old_id, new_id, *self.to)
        self.assertEqual(self.assay(*base).out, "~ version 1 -> 2\n")
        self.answer("GET", f"/v1/policies/{new_id}", old)
        self.assertEqual(self.error(*base), "data-loss")
        self.write("new.json", policy(2))
        self.assertEqual(self.error("policy", "diff", "new.json", new_id, *self.to), "data-loss")
        # The right id of what is no policy.
        other, other_id = self.envelope("text/plain", policy(2))
        self.answer("GET", f"/v1/policies/{other_id}", other)
        self.assertEqual(self.error("policy", "diff", old_id, other_id, *self.to),
                         "payload-type-unknown")  # fmt: skip

    def test_search_reads_all_pages(self):
        def page(items, cursor=None):
            body = {"items": items, "limit": 2, "tree_size": 9, "root": "00"}
            return Answer(200, body | ({"next_cursor": cursor} if cursor else {}))

        item = {"id": STATEMENT, "kind": "manifest", "name": "acme/demo", "artifact": ARTIFACT,
                "signers": [{"key_id": STATEMENT, "identity": "release"}]}  # fmt: skip
        self.answer("GET", "/v1/manifests", page([item, item], "c+/1"), page([item]))
        got = self.assay("search", "--name", "acme/demo", "--all", *self.to, "-o", "json").json()
        self.assertEqual((len(got["items"]), got["more"], got["tree_size"]), (3, False, 9))
        self.assertIn("cursor=c%2B/1", self.server.requests[-1][1])
        self.answer("GET", "/v1/manifests", page([item, item], "more"))
        result = self.assay("search", "--name", "acme/demo", "--limit", "2", *self.to)
        self.assertIn("there are more", result.err)
        self.assertIn("release", result.out)
        self.assertEqual(self.error("search", "--name", "x", "--subject", ARTIFACT, *self.to), "usage")

    def test_audit_export(self):
        events = [{"index": i, "type": "decision.made", "subjects": ["x"]} for i in range(3)]
        self.answer("GET", "/v1/audit/events",
                    Answer(200, {"items": events[:2], "next_cursor": "n"}),
                    Answer(200, {"items": events[2:], "tree_size": 3, "root": "ab"}))  # fmt: skip
        result = self.assay("audit", "export", "--type", "decision.made", *self.to)
        self.assertEqual([json.loads(line) for line in result.out.splitlines()], events)
        self.assertIn("3 events", result.err)


if __name__ == "__main__":
    harness.main()
