# SPDX-License-Identifier: Apache-2.0
"""Keys in a PKCS#11 token: people sign with one, and the service signs its decisions with one."""
import base64
import json
import pathlib
import shutil
import subprocess
import unittest

import harness

SOFTHSM = pathlib.Path("/usr/lib/softhsm/libsofthsm2.so")
FRAIL = harness.BIN.parent / "plugins/frail_module.so"
PIN = "not-1234"


@unittest.skipUnless(SOFTHSM.exists() and shutil.which("softhsm2-util"), "softhsm2 is not installed")
class TokenKey(unittest.TestCase):
    def service(self):
        service = harness.Service()
        self.addCleanup(service.__exit__)
        self.dir = service.dir
        (self.dir / "hsm").mkdir()
        (self.dir / "hsm.conf").write_text(f"directories.tokendir = {self.dir}/hsm\n"
                                           "objectstore.backend = file\nlog.level = ERROR\n")
        service.env["SOFTHSM2_CONF"] = str(self.dir / "hsm.conf")
        service.env["ASSAY_FRAIL_GONE"] = str(self.dir / "gone")
        self.env = service.env
        self.run_here("softhsm2-util", "--init-token", "--free", "--label", "service keys", "--pin", PIN,
                      "--so-pin", "12345678")
        for number, (label, options) in enumerate((("p256", ("EC", "ec_paramgen_curve:P-256")),
                                                   ("rsa", ("RSA", "rsa_keygen_bits:2048")))):
            self.run_here("openssl", "genpkey", "-algorithm", options[0], "-pkeyopt", options[1], "-out",
                          f"{label}.key")
            self.run_here("softhsm2-util", "--import", f"{label}.key", "--token", "service keys", "--label",
                          label, "--id", str(number + 10), "--pin", PIN)
            self.run_here("openssl", "pkey", "-in", f"{label}.key", "-pubout", "-out", f"{label}.pub")
        for name, text in (("pin", PIN), ("wrong-pin", "4321")):
            (self.dir / name).write_text(text + "\n")
            (self.dir / name).chmod(0o600)
        return service

    def run_here(self, *command):
        subprocess.run(command, cwd=self.dir, env=self.env, check=True, capture_output=True,
                       timeout=60)

    def uri(self, label, module=SOFTHSM, pin="pin"):
        source = f"&pin-source={self.dir}/{pin}" if pin else ""
        return f"pkcs11:token=service%20keys;object={label}?module-path={module}{source}"

    def test_people_sign_with_a_token(self):
        service = self.service()
        statement = {"_type": "https://in-toto.io/Statement/v1",
                     "subject": [{"name": "acme/x", "digest": {"sha256": "ab" * 32}}],
                     "predicateType": "https://example.com/train/v1", "predicate": {}}
        (self.dir / "s.json").write_text(json.dumps(statement))
        sign = ("assay", "sign", "s.json", "--yes", "--out", "signed.json", "--key")
        for label in ("p256", "rsa"):
            for arguments in ((self.uri(label),), (self.uri(label, pin=None), "--passphrase-file", "pin")):
                service.run(*sign, *arguments)
                service.run("assay", "attest", "verify", "signed.json", "--key", f"{label}.pub")
        for uri, says in ((self.uri("none"), "no such object"), (self.uri("p256", pin="wrong-pin"), "PIN"),
                          (self.uri("p256", pin=None), "terminal"),
                          (self.uri("p256") + f"&pin-value={PIN}", "pin-source")):
            done = service.run(*sign, uri, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertNotIn(PIN, done.stdout + done.stderr)

    def test_service_signs_decisions_with_a_token(self):
        if not FRAIL.exists():
            self.skipTest("the test module was not built")
        service = self.service()
        service.config["service_key_file"] = self.uri("p256", FRAIL)
        service.__enter__()
        ask = json.dumps({"point": "create", "workload": {"namespace": "a"}})
        status, answer = service.request("POST", "/v1/decisions", ask)
        self.assertIn(status, (200, 201), answer)
        done = service.run("assay", "get", answer["decision"]["id"], "--envelope", token="ci")
        (self.dir / "decision.json").write_text(done.stdout)
        keys = service.request("GET", "/.well-known/jwks.json", token=None)[1]
        (self.dir / "jwks.json").write_text(json.dumps(keys))
        self.assertEqual([(key["kty"], key["alg"]) for key in keys["keys"]], [("EC", "ES256")])
        service.run("assay", "decision", "verify", "decision.json", "--jwks", "jwks.json")
        envelope = json.loads(done.stdout)
        payload = base64.b64decode(envelope["payload"])
        self.assertIn(b'"allowed":false', payload)
        envelope["payload"] = base64.b64encode(
            payload.replace(b'"allowed":false', b'"allowed":true')).decode()
        (self.dir / "forged.json").write_text(json.dumps(envelope))
        self.assertEqual(service.run("assay", "decision", "verify", "forged.json", "--jwks", "jwks.json",
                                     check=False).returncode, 1)  # fmt: skip

        (self.dir / "gone").touch()
        harness.wait_until("not ready", lambda: self.ready(service) == 503, 30)
        status, answer = service.request("POST", "/v1/decisions", ask)
        self.assertEqual((status, answer["code"]), (503, "unavailable"), answer)
        (self.dir / "gone").unlink()
        harness.wait_until("ready", lambda: self.ready(service) == 200, 30)
        self.assertIn(service.request("POST", "/v1/decisions", ask)[0], (200, 201))

    def ready(self, service):
        return service.request("GET", "/readyz", token=None)[0]

    def test_service_does_not_start_without_its_key(self):
        service = self.service()
        service.__enter__()
        service.stop()
        for uri, says in ((self.uri("rsa"), "service key"), (self.uri("none"), "no such object"),
                          (self.uri("p256", pin="wrong-pin"), "PIN")):
            service.config["service_key_file"] = uri
            (self.dir / "service/assayd.json").write_text(json.dumps(service.config))
            done = service.run("assayd", "run", "--config", "service/assayd.json", check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
        service.config["service_key_file"] = "service.pem"
        service.config["log"] = {**service.config["log"], "key_file": self.uri("p256")}
        (self.dir / "service/assayd.json").write_text(json.dumps(service.config))
        done = service.run("assayd", "check-config", "--config", "service/assayd.json", check=False)
        self.assertIn("Ed25519", done.stderr)

    def test_service_moves_from_a_file_to_a_token(self):
        service = self.service()
        service.__enter__()
        service.stop()
        uri = self.uri("rsa")
        service.run("assayd", "rotate", "service", "--config", "service/assayd.json", "--new-key", uri)
        service.config["service_key_file"] = uri
        (self.dir / "service/assayd.json").write_text(json.dumps(service.config))
        service.start()
        keys = service.request("GET", "/.well-known/jwks.json", token=None)[1]["keys"]
        self.assertEqual([key["alg"] for key in keys], ["PS256", "EdDSA"])


if __name__ == "__main__":
    unittest.main()
