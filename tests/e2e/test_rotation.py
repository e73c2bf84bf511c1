# SPDX-License-Identifier: Apache-2.0
"""Each key of a service is replaced, and what was given out before keeps its worth; docs/rotation.md."""
import base64
import datetime
import json
import sqlite3
import unittest

import harness
import nodes
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils


def base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verify_es256(token, jwk):
    """RFC 7518, sections 3.4 and 6.2, as anybody does it who has the token and the key set."""
    x, y = (int.from_bytes(base64url(jwk[name]), "big") for name in ("x", "y"))
    signed, _, signature = token.rpartition(".")
    r, s = (int.from_bytes(base64url(signature)[start:start + 32], "big") for start in (0, 32))
    ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key().verify(
        utils.encode_dss_signature(r, s), signed.encode(), ec.ECDSA(hashes.SHA256()))


class Rotation(unittest.TestCase):
    def service(self):
        service = harness.Service(attestation={"ear_key_files": ["ear.pem"]})
        self.addCleanup(service.__exit__)
        return service.__enter__()

    def rotate(self, service, kind, name):
        """Stops the service, rotates, and returns what the program says."""
        service.stop()
        done = service.run("assayd", "rotate", kind, "--config", "service/assayd.json",
                           "--new-key", f"service/{name}")
        return json.loads(done.stdout)

    def configure(self, service, **members):
        service.config.update(members)
        (service.dir / "service/assayd.json").write_text(json.dumps(service.config))

    def refused(self, service):
        """Why it does not start."""
        done = service.run("assayd", "run", "--config", "service/assayd.json", check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def decision(self, service, name):
        """A stored decision, as signed."""
        status, answer = service.request(
            "POST", "/v1/decisions", json.dumps({"point": "create", "workload": {"namespace": "a"}}))
        self.assertIn(status, (200, 201), answer)
        done = service.run("assay", "get", answer["decision"]["id"], "--envelope", token="ci")
        (service.dir / name).write_text(done.stdout)
        return answer

    def verify(self, service, name, *options):
        done = service.run("assay", "decision", "verify", name, "--jwks", "jwks.json", *options,
                           check=False)
        return done.returncode, done.stdout + done.stderr

    def jwks(self, service):
        keys = service.request("GET", "/.well-known/jwks.json", token=None)[1]
        (service.dir / "jwks.json").write_text(json.dumps(keys))
        return keys["keys"]

    def test_service_key(self):
        service = self.service()
        self.decision(service, "old.json")
        report = self.rotate(service, "service", "service-2.pem")
        self.assertIn("service key was rotated", self.refused(service))
        self.configure(service, service_key_file="service-2.pem")
        service.start()
        self.decision(service, "new.json")
        keys = {key["kid"]: key for key in self.jwks(service)}
        self.assertNotIn("not_after", keys[report["new_key_id"]])
        self.assertEqual(keys[report["old_key_id"]]["not_after"], report["time"])
        self.assertEqual(self.verify(service, "old.json")[0], 0)
        self.assertEqual(self.verify(service, "new.json")[0], 0)

        # Somebody has the old key: what it signs from now on counts for nothing.
        payload = base64.b64decode(json.loads((service.dir / "new.json").read_text())["payload"])
        (service.dir / "late.payload").write_bytes(payload)
        service.run("python3", "-B", "-c", SIGN, "service/service.pem", "late.payload", "late.json")
        code, text = self.verify(service, "late.json")
        self.assertEqual(code, 1)
        self.assertIn("key-expired", text)
        # It lies about the time, and only the log knows.
        service.verify_log()
        log = ("--mirror", "mirror", "--verifier-key-file", "log.vkey")
        early = json.loads(payload)
        early["evaluated_at"] = json.loads(base64.b64decode(json.loads(
            (service.dir / "old.json").read_text())["payload"]))["evaluated_at"]
        (service.dir / "late.payload").write_text(
            json.dumps(early, separators=(",", ":"), sort_keys=True))
        service.run("python3", "-B", "-c", SIGN, "service/service.pem", "late.payload", "late.json")
        self.assertEqual(self.verify(service, "late.json")[0], 0)
        code, text = self.verify(service, "late.json", *log)
        self.assertEqual(code, 1)
        self.assertIn("no record of this decision", text)
        for name in ("old.json", "new.json"):
            code, text = self.verify(service, name, *log)
            self.assertEqual(code, 0, text)

    def test_log_key(self):
        service = self.service()
        _, answer = service.request("POST", "/v1/manifests", service.manifest())
        (service.dir / "receipt.json").write_text(json.dumps(answer["log"]))
        service.run("assay", "log", "checkpoint", "--out", "old.checkpoint")
        report = self.rotate(service, "log", "log-2.pem")
        self.assertIn("invalid-config", self.refused(service))
        self.configure(service, log={"origin": "e2e.example/log", "key_file": "log-2.pem"})
        service.start()
        # What was stored before is read, and nothing is wrong with it.
        self.assertEqual(service.request("GET", "/v1/manifests/" + answer["id"])[0], 200)
        done = service.run("assayd", "check", "--deep", "service/assayd.json")
        self.assertEqual(json.loads(done.stdout)["findings"], [])
        # Known to both.
        for key in ("log.vkey", "service/log-2.pem.vkey"):
            service.run("assay", "log", "checkpoint", "--verifier-key-file", key)
        self.assertEqual(service.request("POST", "/v1/manifests", service.manifest("b"))[0], 201)
        service.run("assay", "log", "checkpoint", "--out", "new.checkpoint",
                    "--verifier-key-file", "service/log-2.pem.vkey")
        # Whoever has the old key alone finds the way to the new one.
        old = ("--verifier-key-file", "log.vkey")
        done = service.run("assay", "log", "mirror", "mirror", *old, token="ci")
        self.assertIn(report["log_verifier_key"], done.stdout)
        done = service.run("assay", "log", "verify", "mirror", *old, "--since", "old.checkpoint",
                           "--receipt", "receipt.json")
        self.assertIn(f"at entry {report['record']} by {report['log_verifier_key']}", done.stdout)
        new = ("--verifier-key-file", "service/log-2.pem.vkey")
        service.run("assay", "log", "verify", "mirror", *new, "--since", "new.checkpoint")
        # The old key signs no more: a checkpoint of it beyond the record is refused.
        text = (service.dir / "mirror/checkpoint").read_text().split("\n\n")[0] + "\n"
        (service.dir / "text").write_text(text)
        service.run("python3", "-B", "-c", NOTE, "service/log.pem", "text", "log.vkey",
                    "mirror/checkpoint")
        done = service.run("assay", "log", "verify", "mirror", *old, check=False)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("signature-missing", done.stderr + done.stdout)

    def ear(self, service):
        """The result of an appraisal of node-1, made now."""
        with service.worker() as worker:
            worker.wait("enrolled")
            worker.stop()
        measured = service.request("GET", "/v1/nodes/node-1")[1]["measured"]
        return service.request("GET", "/v1/documents/" + measured["appraisal"])[1]["ear"]

    def test_ear_key(self):
        service = nodes.NodeService(attestation={"ear_key_files": ["ear.pem"]})
        self.addCleanup(service.__exit__)
        service.__enter__()
        before = self.ear(service)
        report = self.rotate(service, "ear", "ear-2.pem")
        self.assertIn("ear key was rotated", self.refused(service))
        self.configure(service, attestation={"ear_key_files": ["ear-2.pem"]})
        service.start()
        keys = {key["kid"]: key for key in self.jwks(service)}
        self.assertNotIn("not_after", keys[report["new_key_id"]])
        self.assertEqual(keys[report["old_key_id"]]["not_after"], report["time"])
        # What was given out before is taken with the published keys, and so is what comes now.
        after = self.ear(service)
        for token, key_id, other in ((before, report["old_key_id"], report["new_key_id"]),
                                     (after, report["new_key_id"], report["old_key_id"])):
            header, claims = (json.loads(base64url(part)) for part in token.split(".")[:2])
            self.assertEqual((header["alg"], header["kid"]), ("ES256", key_id))
            verify_es256(token, keys[key_id])
            with self.assertRaises(InvalidSignature):
                verify_es256(token, keys[other])
            end = keys[key_id].get("not_after")
            made = datetime.datetime.fromtimestamp(claims["iat"], datetime.timezone.utc)
            self.assertTrue(end is None or made <= datetime.datetime.fromisoformat(end), claims)

    def test_without_the_old_key_nothing_follows(self):
        service = self.service()
        report = self.rotate(service, "service", "service-2.pem")
        (service.dir / "backup.db").write_bytes((service.dir / "service/assay.db").read_bytes())
        self.configure(service, service_key_file="service-2.pem")
        # The record is edited where it lies: another key shall be the heir.
        service.run("assay", "key", "new", "--out", "keys/thief.pem")
        public = "".join((service.dir / "keys/thief.pem.pub").read_text().splitlines()[1:-1])
        database = sqlite3.connect(service.dir / "service/assay.db")
        (trigger,) = database.execute(
            "SELECT sql FROM sqlite_schema WHERE name = 'log_records_keep_update'").fetchone()
        database.execute("DROP TRIGGER log_records_keep_update")
        (record,) = database.execute(
            "SELECT bytes FROM log_records WHERE idx = ?", (report["record"],)).fetchone()
        forged = json.loads(record)
        forged["detail"]["new_key"] = public
        database.execute("UPDATE log_records SET bytes = ? WHERE idx = ?", (
            json.dumps(forged, separators=(",", ":"), sort_keys=True).encode(), report["record"]))
        database.execute(trigger)
        database.commit()
        database.close()
        self.assertIn("data-loss", self.refused(service))


# With the private key in PKCS#8 PEM: what the thief of a key can make. The key is the last 32 bytes.
KEY = """
import base64, json, subprocess, sys, tempfile
def sign(key, message):
    with tempfile.NamedTemporaryFile() as file:
        file.write(message)
        file.flush()
        return subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", file.name],
                              check=True, capture_output=True).stdout
"""
SIGN = KEY + """
key, payload, out = sys.argv[1:]
payload, kind = open(payload, "rb").read(), json.load(open("new.json"))["payloadType"]
pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
keyid = [k for k in json.load(open("jwks.json"))["keys"] if "not_after" in k][0]["kid"]
json.dump({"payloadType": kind, "payload": base64.b64encode(payload).decode(), "signatures": [
    {"keyid": keyid, "sig": base64.b64encode(sign(key, pae)).decode()}]}, open(out, "w"))
"""
NOTE = KEY + """
key, text, vkey, out = sys.argv[1:]
text = open(text, "rb").read()
name, key_id, _ = open(vkey).read().split("+", 2)
line = base64.b64encode(bytes.fromhex(key_id) + sign(key, text)).decode()
open(out, "wb").write(text + f"\\n\\u2014 {name} {line}\\n".encode())
"""


if __name__ == "__main__":
    unittest.main()
