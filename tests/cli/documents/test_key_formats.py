# SPDX-License-Identifier: Apache-2.0
"""Keys as other programs write them: the message names the format and the command, which works."""
import json
import os
import shutil
import subprocess
import unittest

import harness
from harness import NO, TROUBLE

STATEMENT = {"_type": "https://in-toto.io/Statement/v1",
             "subject": [{"name": "acme/x", "digest": {"sha256": "ab" * 32}}],
             "predicateType": "https://example.com/train/v1", "predicate": {"a": 1}}  # fmt: skip


class KeyFormats(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write_json("statement.json", STATEMENT)
        self.key("first")
        self.assay(*self.sign("first.pem"))

    def run_there(self, command):
        done = subprocess.run(["sh", "-c", "umask 077; " + command], cwd=self.dir, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False, timeout=harness.SLOW)  # fmt: skip
        self.assertEqual(done.returncode, 0, command + "\n" + done.stderr.decode())

    def refused(self, *arguments):
        """What the message says after the code, without the place."""
        result = self.assay(*arguments, "-o", "json", code=None)
        self.assertIn(result.code, (NO, TROUBLE), str(result))
        return json.loads(result.err.strip().splitlines()[-1])["error"]["detail"]

    def sign(self, key):
        return ("sign", "statement.json", "--key", key, "--yes", "--out", "signed.json")

    def verify(self, key):
        return ("attest", "verify", "signed.json", "--key", key)

    def converted(self, message, made):
        """Types the command of the message, which makes the file `made`."""
        before = {path.name for path in self.dir.iterdir()}
        self.run_there(message.split("type: ", 1)[1])
        self.assertIn(made, {path.name for path in self.dir.iterdir()} - before, message)

    def check_private(self, key, format_name, made):
        message = self.refused(*self.sign(key))
        self.assertIn(format_name, message)
        self.converted(message, made)
        self.assay(*self.sign(made))

    def test_sec1(self):
        self.run_there("openssl ecparam -name prime256v1 -genkey -noout -out bare.pem")
        self.run_there("openssl ecparam -name secp384r1 -genkey -out parameters.pem")
        self.run_there("openssl ecparam -name prime256v1 -genkey -noout -out 'odd name.pem'")
        for name in ("bare.pem", "parameters.pem", "odd name.pem"):
            self.check_private(name, "SEC1", name + ".pkcs8")

    def test_text_before_the_key_der_and_pkcs12(self):
        self.run_there("openssl genpkey -algorithm ed25519 -out k.pem")
        self.run_there("(echo 'Bag Attributes'; cat k.pem) >text.pem")
        self.check_private("text.pem", "text before", "text.pem.pkcs8")
        self.run_there("openssl pkcs8 -topk8 -nocrypt -in k.pem -outform DER -out k.der")
        self.check_private("k.der", "DER", "k.der.pem")
        self.run_there("openssl req -x509 -key k.pem -subj /CN=x -days 9 -out k.crt && openssl pkcs12 -export "
                       "-in k.crt -inkey k.pem -passout pass: -out k.p12")  # fmt: skip
        self.assertIn("PKCS#12", self.refused(*self.sign("k.p12")))
        self.assertIn("openssl pkcs12 -nocerts -nodes -in k.p12 | openssl pkcs8",
                      self.refused(*self.sign("k.p12")))  # fmt: skip

    @unittest.skipUnless(shutil.which("ssh-keygen"), "ssh-keygen is not installed")
    def test_openssh(self):
        self.run_there("ssh-keygen -q -t ecdsa -b 256 -N '' -f ec && ssh-keygen -q -t ed25519 -N '' -f ed")
        self.run_there("ssh-keygen -q -t rsa -b 2048 -N '' -f rsa && ssh-keygen -q -t ecdsa -b 521 -N '' -f big")
        for name in ("ec", "ed", "rsa", "big"):
            self.check_private(name, "OpenSSH", name + ".pkcs8")
            message = self.refused(*self.verify(name + ".pub"))
            self.assertIn("OpenSSH", message)
            self.converted(message, name + ".pub.pem")
            self.assay(*self.sign(name + ".pkcs8"))
            self.assay(*self.verify(name + ".pub.pem"))
            self.assertIn(name + ".pub", self.refused(*self.verify(name)))
            self.assay(*self.sign(name + ".pkcs8"), "--keyid", "ssh")
            self.run_there(f"ssh-keygen -lf {name}.pub >{name}.finger")
            keyid = self.read_json("signed.json")["signatures"][0]["keyid"]
            self.assertIn(f" {keyid} ", (self.dir / f"{name}.finger").read_text())

    def test_cosign(self):
        for label in ("COSIGN", "SIGSTORE"):
            self.write("cosign.key", f"-----BEGIN ENCRYPTED {label} PRIVATE KEY-----\neyJrZGYi\n"
                                     f"-----END ENCRYPTED {label} PRIVATE KEY-----\n").chmod(0o600)  # fmt: skip
            message = self.refused(*self.sign("cosign.key"))
            self.assertIn("cosign import-key-pair --key key.pem", message)
            self.assertIn("cosign.pub", self.refused(*self.verify("cosign.key")))
        # The key that the message tells to make.
        self.run_there(f"{harness.PROGRAM} key new --algorithm ecdsa-p256 --out key.pem")
        self.assay(*self.sign("key.pem"))

    def test_encrypted(self):
        self.write("pass", "x\n").chmod(0o600)
        self.run_there("openssl genpkey -algorithm ed25519 -aes256 -pass pass:x -out new.pem")
        self.assertIn("--passphrase-file", self.refused(*self.sign("new.pem")))
        self.assay(*self.sign("new.pem"), "--passphrase-file", "pass")
        self.run_there("openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -v1 PBE-SHA1-3DES "
                       "-passout pass:x -out old.pem")  # fmt: skip
        message = self.refused(*self.sign("old.pem"), "--passphrase-file", "pass")
        self.assertIn("openssl pkcs8 -topk8 -scrypt -in OLD -out NEW", message)
        self.run_there("openssl pkcs8 -topk8 -scrypt -in old.pem -out newer.pem -passin pass:x -passout pass:x")
        self.assay(*self.sign("newer.pem"), "--passphrase-file", "pass")

    def test_another_thing_than_the_key(self):
        self.key("k")
        self.assay(*self.sign("k.pem"))
        self.run_there("openssl req -x509 -key k.pem -subj /CN=x -days 9 -out k.crt")
        self.run_there("openssl req -new -key k.pem -subj /CN=x -out k.csr")
        (self.dir / "k.crt").chmod(0o644)
        self.assertIn("this is a certificate", self.refused(*self.sign("k.crt")))
        self.assertIn("give k.pem", self.refused(*self.sign("k.pem.pub")))
        for name, made in (("k.crt", "k.crt.pub"), ("k.csr", "k.csr.pub")):
            self.converted(self.refused(*self.verify(name)), made)
            self.assay(*self.verify(made))
        (self.dir / "k.pem.pub").unlink()
        for verb in (self.verify("k.pem"), ("key", "show", "k.pem")):
            message = self.refused(*verb)
            self.assertIn("this is a private key", message)
            self.converted(message, "k.pem.pub")
            self.assay(*self.verify("k.pem.pub"))
            (self.dir / "k.pem.pub").unlink()
        self.run_there("openssl pkey -in k.pem -pubout -outform DER -out k.der")
        self.converted(self.refused(*self.verify("k.der")), "k.der.pem")
        self.assay(*self.verify("k.der.pem"))

    def test_rsa(self):
        self.run_there("openssl genrsa -traditional -out r.pem 2048 && openssl rsa -in r.pem -RSAPublicKey_out -out r.pub")
        self.check_private("r.pem", "PKCS#1", "r.pem.pkcs8")
        message = self.refused(*self.verify("r.pub"))
        self.assertIn("PKCS#1", message)
        self.converted(message, "r.pub.pem")
        self.assay(*self.verify("r.pub.pem"))
        self.run_there("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:1024 -out short.pem")
        self.assertIn("2048 to 4096", self.refused(*self.sign("short.pem")))
        self.converted(self.refused(*self.verify("r.pem")), "r.pem.pub")

    def test_links_to_private_keys(self):
        """As a Secret of Kubernetes is mounted: key.pem -> ..data/key.pem, ..data -> ..v1."""
        (self.dir / "..v1").mkdir()
        self.assay("key", "new", "--out", "..v1/key.pem")
        (self.dir / "..v1/key.pem").chmod(0o400)
        (self.dir / "..data").symlink_to("..v1")
        (self.dir / "key.pem").symlink_to("..data/key.pem")
        self.assay(*self.sign("key.pem"))
        (self.dir / "..v1/key.pem").chmod(0o444)
        self.assertIn("chmod 600", self.refused(*self.sign("key.pem")))

    def test_a_pipe_in_place_of_a_private_key(self):
        """Nobody writes to it, and nobody waits for a writer."""
        os.mkfifo(self.dir / "pipe.pem", 0o600)
        self.assertIn("regular file", self.refused(*self.sign("pipe.pem")))


if __name__ == "__main__":
    harness.main()
