# SPDX-License-Identifier: Apache-2.0
"""Signs and verifies models with assay and with model_signing, each what the other one made.

Usage: compare.py ASSAY      with a Python that has model_signing

Prints a line for each comparison and the number of those that came out, and fails when one did not.
What model_signing cannot do is a row of KNOWN: it must stay so, or the row goes.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from model_signing import hashing, signing, verifying

ASSAY = os.path.abspath(sys.argv[1])
SHARD = 1000

# What model_signing 1.1.1 refuses although it is as the specification says.
KNOWN = {
    ("theirs verifies ours", "shards", "colon"): "splits names of shards at every colon",
}

MODELS = {
    "plain": {"a": b"1" * 2500, "b": b""},
    "tree": {"a/x": b"1" * 2500, "a-b/x": b"2" * 1000, "sub/n": b"3" * 3001, "z": b"4"},
    "names": {"a b": b"1", "m\u00fcsli": b"2", "\u6a21\u578b/x": b"3", "q?*[x]": b"4",
              "back\\slash": b"5", ".hidden": b"6"},
    "colon": {"a:1:2": b"1", "b": b"2"},
    "git": {"a": b"1", ".git/x": b"2", ".gitignore": b"3", "d/.git/x": b"4"},
}


def run(*command):
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


def how(method, algorithm):
    config = hashing.Config()
    if method == "files":
        return config.use_file_serialization(hashing_algorithm=algorithm)
    return config.use_shard_serialization(hashing_algorithm=algorithm, shard_size=SHARD)


def attempt(function):
    try:
        function()
        return True, ""
    except Exception as error:  # whatever a foreign library raises
        return False, f"{type(error).__name__}: {error}"


class Comparison:
    def __init__(self):
        self.passed = self.failed = self.known = 0

    def note(self, what, method, model, detail, came_out, text):
        known = KNOWN.get((what, method, model))
        if came_out != (known is None):
            self.failed += 1
            print(f"FAILED {what}: {method} {model} {detail}\n{text}")
        elif known:
            self.known += 1
        else:
            self.passed += 1


class Party:
    """A way to sign: options of assay, and the configurations of model_signing."""

    def __init__(self, name, sign, verify, ours, theirs):
        self.name, self.sign, self.verify, self.ours, self.theirs = name, sign, verify, ours, theirs


def parties(folder):
    for curve in ("p256", "p384", "p521"):
        key = folder / f"{curve}.pem"
        assert run(ASSAY, "key", "new", "--algorithm", f"ecdsa-{curve}", "--out", key)[0]
        yield Party(curve, ["--key", key], ["--key", f"{key}.pub"],
                    lambda key=key: signing.Config().use_elliptic_key_signer(private_key=key),
                    lambda key=key: verifying.Config().use_elliptic_key_verifier(
                        public_key=f"{key}.pub"))
    key, leaf, ca = (folder / name for name in ("leaf.pem", "leaf.crt", "ca.crt"))
    certificates(folder)
    yield Party("certificate", ["--key", key, "--certificate", leaf],
                ["--certificate-root", ca],
                lambda: signing.Config().use_certificate_signer(
                    private_key=key, signing_certificate=leaf, certificate_chain=[ca]),
                lambda: verifying.Config().use_certificate_verifier(certificate_chain=[ca]))


def certificates(folder):
    """A leaf for code signing below a root of its own."""
    for name, lines in (("ca", "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n"),
                        ("leaf", "basicConstraints=critical,CA:FALSE\n"
                                 "keyUsage=critical,digitalSignature\n"
                                 "extendedKeyUsage=codeSigning\n")):  # fmt: skip
        assert run(ASSAY, "key", "new", "--algorithm", "ecdsa-p384", "--out",
                   folder / f"{name}.pem")[0]
        (folder / "extensions").write_text(lines)
        assert run("openssl", "req", "-new", "-key", folder / f"{name}.pem", "-subj", f"/CN={name}",
                   "-out", folder / "request")[0]
        by = (["-signkey", folder / "ca.pem"] if name == "ca" else
              ["-CA", folder / "ca.crt", "-CAkey", folder / "ca.pem", "-set_serial", "2"])
        done, text = run("openssl", "x509", "-req", "-in", folder / "request", *by, "-days", "9",
                         "-sha256", "-extfile", folder / "extensions", "-out",
                         folder / f"{name}.crt")
        assert done, text


def compare(folder, party, model, method, algorithm, result):
    path = folder / model
    detail = f"{algorithm} {party.name}"
    theirs, ours = folder / "theirs.sig", folder / "ours.sig"
    done, text = attempt(lambda: party.ours().set_hashing_config(how(method, algorithm)).sign(
        path, theirs))
    assert done, text
    done, text = run(ASSAY, "verify", path, theirs, *party.verify)
    result.note("ours verifies theirs", method, model, detail, done, text)
    done, text = run(ASSAY, "manifest", "import", path, theirs, *party.verify, "--name", "x/y",
                     "--out", folder / "manifest.json")
    result.note("ours imports theirs", method, model, detail, done, text)
    options = ["--hash", "blake2b"] if algorithm == "blake2" else []
    options += ["--shard-size", SHARD] if method == "shards" else []
    done, text = run(ASSAY, "sign", "--format", "oms", path, *party.sign, "--out", ours, *options)
    assert done, text
    done, text = attempt(lambda: party.theirs().set_hashing_config(how(method, algorithm)).verify(
        path, ours))
    result.note("theirs verifies ours", method, model, detail, done, text)


def compare_only_file(folder, party, result):
    path = folder / "plain/a"
    theirs, ours = folder / "theirs.sig", folder / "ours.sig"
    party.ours().sign(path, theirs)
    done, text = run(ASSAY, "verify", path, theirs, *party.verify)
    result.note("ours verifies theirs", "files", "one file", party.name, done, text)
    done, text = run(ASSAY, "sign", "--format", "oms", path, *party.sign, "--out", ours)
    assert done, text
    done, text = attempt(lambda: party.theirs().verify(path, ours))
    result.note("theirs verifies ours", "files", "one file", party.name, done, text)


def compare_command(folder, result):
    """Their program, as its users call it, with the signature beside the weights."""
    program = pathlib.Path(sys.executable).parent / "model_signing"
    path, key = folder / "tree", folder / "p384.pem"
    done, text = run(program, "sign", "key", path, "--private_key", key, "--signature",
                     path / "model.sig")
    assert done, text
    done, text = run(ASSAY, "verify", path, path / "model.sig", "--key", f"{key}.pub")
    result.note("ours verifies theirs", "files", "command", "", done, text)
    done, text = run(ASSAY, "sign", "--format", "oms", path, "--key", key, "--out",
                     path / "model.sig")
    assert done, text
    done, text = run(program, "verify", "key", path, "--public_key", f"{key}.pub", "--signature",
                     path / "model.sig")
    result.note("theirs verifies ours", "files", "command", "", done, text)
    os.remove(path / "model.sig")
    (path / "z").write_bytes(b"5")
    for what, command in (("ours", (ASSAY, "verify", path, folder / "theirs.sig", "--key",
                                    f"{key}.pub")),):
        done, _ = run(*command)
        result.note(f"{what} refuses a change", "files", "command", "", not done, "")


def main():
    result = Comparison()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        os.umask(0o077)
        for model, files in MODELS.items():
            for name, content in files.items():
                target = folder / model / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        for party in list(parties(folder)):
            for model in MODELS:
                for method in ("files", "shards"):
                    for algorithm in ("sha256", "blake2"):
                        compare(folder, party, model, method, algorithm, result)
            compare_only_file(folder, party, result)
        compare_command(folder, result)
    print(json.dumps({"came out": result.passed, "known": result.known, "failed": result.failed}))
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
