# SPDX-License-Identifier: Apache-2.0
"""Models with signatures of OpenSSF Model Signing, and certificates: what the tests of them share."""
import base64
import datetime
import hashlib
import json
import os
import subprocess

import harness
from harness import YES

KEYLESS = ["--certificate-identity", "a@example.com", "--certificate-oidc-issuer",
           "https://issuer.example", "--trusted-root", "trusted_root.json"]


def in_days(days):
    """An RFC 3339 time so many days from now."""
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=days)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


# --- changes of a model

def add_file(model):
    (model / "added").write_bytes(b"1")


def remove_file(model):
    os.remove(model / "config.json")


def change_file(model):
    path = model / "weights.bin"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def link(name, target):
    """A link in the folder `model` of a directory."""
    return lambda directory: os.symlink(target, directory / "model" / name)


# --- changes of a bundle (text to text) and of a statement (in place)

def in_bundle(value, *path):
    def change(text):
        bundle = json.loads(text)
        _at(bundle, path[:-1])[path[-1]] = value
        return json.dumps(bundle)
    return change


def without(member):
    def change(text):
        bundle = json.loads(text)
        del bundle[member]
        return json.dumps(bundle)
    return change


def put(value, *path):
    def change(statement):
        _at(statement, path[:-1])[path[-1]] = value
        return with_root(statement)
    return change


def drop(*path):
    def change(statement):
        del _at(statement, path[:-1])[path[-1]]
        return with_root(statement)
    return change


def with_root(statement):
    """Makes the root that of the resources as they stand."""
    digests = b"".join(bytes.fromhex(r["digest"]) for r in statement["predicate"]["resources"])
    statement["subject"][0]["digest"]["sha256"] = hashlib.sha256(digests).hexdigest()
    return statement


def _at(value, path):
    for step in path:
        value = value[step]
    return value


class Case(harness.TestCase):
    def make_model(self, files, name="model"):
        (self.dir / name).mkdir()
        for path, content in files.items():
            self.write(f"{name}/{path}", content)

    def sign(self, path, key, signature, *options):
        return self.assay("sign", "--format", "oms", path, "--key", f"{key}.pem", "--out", signature,
                          *options)

    def verify(self, path, signature, *options, code=YES):
        return self.assay("verify", path, signature, *options, "-o", "json", code=code).json()

    def statement(self, signature):
        return json.loads(base64.b64decode(self.read_json(signature)["dsseEnvelope"]["payload"]))

    def resources(self, signature):
        return [resource["name"] for resource in self.statement(signature)["predicate"]["resources"]]

    def sign_anew(self, signature, change, key):
        """Changes the statement of a bundle, and signs that with the same key."""
        bundle = self.read_json(signature)
        payload = json.dumps(change(self.statement(signature)), ensure_ascii=False).encode()
        kind = b"application/vnd.in-toto+json"
        message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
        self.write("message", message)
        public = self.openssl("pkey", "-in", f"{key}.pem", "-pubout", "-text", "-noout")
        digest = "-sha384" if b"P-384" in public else "-sha256"
        raw = self.openssl("dgst", digest, "-sign", f"{key}.pem", "message")
        envelope = bundle["dsseEnvelope"]
        envelope["payload"] = base64.b64encode(payload).decode()
        envelope["signatures"][0]["sig"] = base64.b64encode(raw).decode()
        self.write_json(signature, bundle)

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.dir, capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    # --- certificates

    def make_authorities(self):
        """ca > middle > leaf and others, other-ca, and self; keys are NAME.pem, certificates NAME.crt."""
        self.certificate("ca", None, "CA:TRUE", 2000, usage="keyCertSign")
        self.certificate("other-ca", None, "CA:TRUE", 2000, usage="keyCertSign")
        self.certificate("middle", "ca", "CA:TRUE", 4000, usage="keyCertSign")
        self.certificate("short-ca", "ca", "CA:TRUE", 2, usage="keyCertSign")
        self.certificate("leaf", "middle", "CA:FALSE", 4000)
        self.certificate("short", "middle", "CA:FALSE", 2)
        self.certificate("below-short", "short-ca", "CA:FALSE", 4000)
        self.certificate("no-eku", "middle", "CA:FALSE", 4000, purpose=None)
        self.certificate("self", None, "CA:FALSE", 2000)

    def certificate(self, name, issuer, constraints, days, usage="digitalSignature",
                    purpose="codeSigning"):
        self.key(name, "ecdsa-p256")
        lines = [f"basicConstraints=critical,{constraints}", f"keyUsage=critical,{usage}",
                 "subjectKeyIdentifier=hash"]
        if purpose and "TRUE" not in constraints:
            lines.append(f"extendedKeyUsage={purpose}")
        self.write("extensions", "\n".join(lines) + "\n")
        self.openssl("req", "-new", "-key", f"{name}.pem", "-subj", f"/CN={name}", "-out",
                     f"{name}.csr")
        by = ["-CA", f"{issuer}.crt", "-CAkey", f"{issuer}.pem"] if issuer else [
            "-signkey", f"{name}.pem"]
        self.openssl("x509", "-req", "-in", f"{name}.csr", *by, "-days", str(days), "-sha256",
                     "-set_serial", str(int.from_bytes(os.urandom(8), "big") >> 1), "-extfile",
                     "extensions", "-out", f"{name}.crt")

    def trusted_root(self):
        """A trusted root of sigstore with nothing in it that the tests need."""
        self.write_json("trusted_root.json", {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [], "certificateAuthorities": [], "ctlogs": [], "timestampAuthorities": []})
