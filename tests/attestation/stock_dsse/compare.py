# SPDX-License-Identifier: Apache-2.0
"""Which stock DSSE verifiers take what `assay sign` writes, for each form of keyid (docs/dsse.md).

Usage: compare.py ASSAY GO_PROGRAM

GO_PROGRAM is what main.go builds; "-": the verifiers in Go are left out. That of securesystemslib for
Python is left out where the module is not there. Whoever is asked must take what the table of
docs/dsse.md says, with keys of each algorithm, and nothing that was changed.
"""
import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "dsse.md"
OTHER = "any other text"
FORMS = ("none", "sha256", "ssh", "tuf", "Release 1")
GO = ("go-securesystemslib", "its-own-key", "sigstore")
PYTHON = ("securesystemslib", "securesystemslib-without-keyid")


def table(page):
    """Verifier -> the forms whose signatures it takes, and the same for two signatures. The rows of
    the page are GO and PYTHON in their order."""
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")]
            for line in page.splitlines() if line.startswith("| ")]
    head = next(at for at, row in enumerate(rows) if row[0] == "verifier")
    columns = ["Release 1" if name == OTHER else name for name in rows[head][1:]]
    body = rows[head + 2:head + 2 + len(GO + PYTHON)]
    words = {"takes", "takes one signature", "refuses"}
    if sorted(columns) != sorted(FORMS) or any(set(row[1:]) - words for row in body):
        raise ValueError("docs/dsse.md has another table")
    one, two = {}, {}
    for who, row in zip(GO + PYTHON, body, strict=True):
        one[who] = {form for form, word in zip(columns, row[1:], strict=True) if word != "refuses"}
        two[who] = {form for form, word in zip(columns, row[1:], strict=True) if word == "takes"}
    return one, two


TAKES, TAKES_TWO = table(PAGE.read_text(encoding="utf-8"))
ALGORITHMS = ("ed25519", "ecdsa-p256", "ecdsa-p384")


class Case:
    def __init__(self, name, envelope, keys, taken_by):
        self.name, self.envelope, self.keys, self.taken_by = name, envelope, keys, taken_by


class Maker:
    """Signs in a folder with keys of its own."""

    def __init__(self, assay, folder):
        self.assay, self.folder = assay, folder
        for name in (*ALGORITHMS, "second"):
            self.run("key", "new", "--algorithm", name if name in ALGORITHMS else "ed25519",
                     "--out", f"{name}.pem")
        (folder / "change.json").write_text(json.dumps(
            {"sequence": 1, "operations": [{"remove_principal": {"name": "x"}}]}))

    def run(self, *arguments):
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "LC_ALL": "C.UTF-8"}
        subprocess.run([self.assay, *arguments], cwd=self.folder, env=environment, check=True,
                       capture_output=True, timeout=120)

    def signed(self, form, *keys):
        """The name of an envelope."""
        name = f"{'-'.join(keys)}-{form.replace(' ', '_')}.json"
        options = [part for key in keys for part in ("--key", f"{key}.pem")]
        keyid = [] if form == "none" else ["--keyid", form]  # none is the default
        self.run("sign", "change.json", *options, *keyid, "--out", name)
        return name

    def changed(self, name):
        """The same with one letter of its payload changed."""
        envelope = json.loads((self.folder / name).read_text())
        payload = base64.b64decode(envelope["payload"]).replace(b'"x"', b'"y"')
        envelope["payload"] = base64.b64encode(payload).decode()
        (self.folder / f"changed-{name}").write_text(json.dumps(envelope))
        return f"changed-{name}"

    def cases(self):
        for form in FORMS:
            for key in ALGORITHMS:
                name = self.signed(form, key)
                takers = {who for who in TAKES if form in TAKES[who]}
                yield Case(f"{key}, --keyid {form}", name, [key], takers)
                yield Case(f"{key}, --keyid {form}, changed", self.changed(name), [key], set())
                yield Case(f"{key}, --keyid {form}, another key", name, ["second"], set())
            both = self.signed(form, "ed25519", "second")
            takers = {who for who in TAKES_TWO if form in TAKES_TWO[who]}
            # The other forms name the key, a text of one's own names two keys alike.
            yield Case(f"two keys, --keyid {form}", both, ["ed25519", "second"], takers)


def in_go(program, folder, cases):
    """(case, verifier) -> verdict."""
    lines = [json.dumps({"id": str(number), "envelope": str(folder / case.envelope),
                         "keys": [str(folder / f"{key}.pem.pub") for key in case.keys]})
             for number, case in enumerate(cases)]
    done = subprocess.run([program], input="\n".join(lines) + "\n", text=True, check=True,
                          stdout=subprocess.PIPE, timeout=300)
    said = (line.split("\t") for line in done.stdout.splitlines())
    return {(int(number), who): verdict for number, who, verdict in said}


def in_python(folder, cases):
    from cryptography.hazmat.primitives import serialization
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

    def keys_of(case, unnamed):
        for name in case.keys:
            pem = (folder / f"{name}.pem.pub").read_bytes()
            key = SSlibKey.from_crypto(serialization.load_pem_public_key(pem))
            if unnamed:
                key.keyid = ""
            yield key

    verdicts = {}
    for number, case in enumerate(cases):
        for who in PYTHON:
            try:
                envelope = Envelope.from_dict(json.loads((folder / case.envelope).read_text()))
                keys = list(keys_of(case, who == PYTHON[1]))
                envelope.verify(keys, len(keys))
                verdicts[number, who] = "accepted"
            except Exception as error:  # whatever it raises is a refusal
                verdicts[number, who] = f"rejected: {type(error).__name__}: {error}"
    return verdicts


def main():
    assay, program = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="assay-dsse-") as name:
        folder = pathlib.Path(name)
        cases = list(Maker(assay, folder).cases())
        verdicts = {} if program == "-" else in_go(program, folder, cases)
        try:
            verdicts.update(in_python(folder, cases))
        except ImportError:
            print("tests/attestation/stock_dsse: no securesystemslib for Python, left out")
    wrong = 0
    for (number, who), verdict in sorted(verdicts.items()):
        case = cases[number]
        if (verdict == "accepted") != (who in case.taken_by):
            wrong += 1
            print(f"{case.name}: {who}: {verdict}, against the table", file=sys.stderr)
    accepted = sum(verdict == "accepted" for verdict in verdicts.values())
    print(f"stock DSSE verifiers: {len(cases)} envelopes, {len(verdicts)} verdicts, {accepted} accepted, "
          f"{wrong} against the table")
    return 1 if wrong or not verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
