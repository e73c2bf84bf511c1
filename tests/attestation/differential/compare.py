#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares verdicts of `assay evidence verify` and of go-tdx-guest on the same evidence.

Usage: compare.py ASSAY OTHER

Evidence: the real quotes of tests/vectors/tdx, and where the vectors beside the repository are
($ASSAY_SHARED_VECTORS, or ../shared/vectors), real quotes with one change. Of the first, those that
both accept are taken with one bit changed, 40 times in each of their parts (ASSAY_SEED=N for other
bits). The two must agree whether the evidence is accepted, except where differences.txt says why they
do not. A difference that is listed and no longer there is a failure, too. Simulated machines and those
of a test PKI are no case: go-tdx-guest wants certificates with the six extensions of Intel's.
"""

import base64
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parents[1] / "vectors" / "tdx"
SHARED = pathlib.Path(os.environ.get("ASSAY_SHARED_VECTORS",
                                     HERE.parents[2].parent / "shared" / "vectors")) / "tdx"
CHANGES = 40
PARTS = ("tcb_info", "tcb_info_signature", "qe_identity", "qe_identity_signature", "pck_crl",
         "root_ca_crl", "tcb_info_issuer_chain", "qe_identity_issuer_chain", "pck_crl_issuer_chain")
# Quote, collateral, time, appraisal policy. The other implementation has no policy about the TD.
QUOTES = [
    ("v4-2023-07-debug", "2023-07", "2023-07-01T01:00:00Z", {"allow_debug": True}),
    ("v4-2025-06", "2025-06", "2025-06-25T00:00:00Z", {}),
    ("v4-2025-07", "2025-07", "2025-07-01T00:00:00Z", {}),
    ("v5-2026-03", "2026-03", "2026-03-01T00:00:00Z", {}),
    ("v5-2026-03-low-tcb", "2026-03", "2026-03-01T00:00:00Z", {}),
    ("v5-sandbox-root", "2026-03", "2026-03-01T00:00:00Z", {}),
]


class Case:
    def __init__(self, name, kind, quote, collateral, time, policy, root=None, report_data=None):
        self.name, self.kind = name, kind
        self.quote, self.collateral, self.time, self.policy = quote, collateral, time, policy
        self.root = root  # a file; None: Intel's
        self.report_data = report_data

    def changed(self, name, kind, quote=None, **parts):
        return Case(f"{self.name}/{name}", kind, quote or self.quote, {**self.collateral, **parts},
                    self.time, self.policy, self.root, self.report_data)


def real_cases():
    for quote, collateral, time, policy in QUOTES:
        yield Case(quote, quote, (VECTORS / f"{quote}.quote").read_bytes(),
                   json.loads((VECTORS / f"{collateral}.collateral.json").read_text()), time, policy)


def shared_cases():
    """Real quotes with one change."""
    folder = SHARED / "mutations"
    if not folder.exists():
        return
    for one in json.loads((folder / "manifest.json").read_text())["cases"]:
        root = one["root"]
        yield Case(one["id"], one["id"], (folder / one["quote"]).read_bytes(),
                   json.loads((folder / one["collateral"]).read_text()), one["time"], one["policy"],
                   None if root == "intel" else folder / root, one["report_data"])


def end_of_version_4(quote):
    """Behind the signature data. What follows is padding."""
    return 636 + int.from_bytes(quote[632:636], "little")


def flip_bit(data, rng, begin=0, end=None):
    changed = bytearray(data)
    place = rng.randrange(begin, end or len(changed))
    changed[place] ^= 1 << rng.randrange(8)
    return bytes(changed), place


PEM = re.compile(r"-----BEGIN CERTIFICATE-----\n(.*?)-----END CERTIFICATE-----", re.DOTALL)


def flip_in_chain(text, rng):
    """One bit of one of the certificates; the text keeps its form."""
    blocks = list(PEM.finditer(text))
    block = blocks[rng.randrange(len(blocks))]
    der, place = flip_bit(base64.b64decode(block.group(1)), rng)
    lines = re.findall(".{1,64}", base64.b64encode(der).decode())
    return text[:block.start(1)] + "\n".join(lines) + "\n" + text[block.end(1):], place


def flip_in_part(part, text, rng):
    """None where what comes out is no text, and could not stand in JSON."""
    if part.endswith("_chain"):
        return flip_in_chain(text, rng)
    if part not in ("tcb_info", "qe_identity"):
        changed, place = flip_bit(bytes.fromhex(text), rng)
        return changed.hex(), place
    changed, place = flip_bit(text.encode(), rng)
    return (changed.decode("ascii"), place) if changed.isascii() else None


def changed_cases(base, rng):
    """One bit each, in the quote and in each part of the collateral that is signed or signs."""
    end = end_of_version_4(base.quote)
    for kind, first, last in (("quote", 0, end), ("padding", end, len(base.quote))):
        for number in range(CHANGES if first < last else 0):
            quote, place = flip_bit(base.quote, rng, first, last)
            yield base.changed(f"{kind}/{number}@{place}", kind, quote=quote)
    for part in PARTS:
        for number in range(CHANGES):
            made = flip_in_part(part, base.collateral[part], rng)
            if made:
                yield base.changed(f"{part}/{number}@{made[1]}", part, **{part: made[0]})


def verdicts_of_assay(assay, cases, folder):
    verdicts = {}
    for case in cases:
        (folder / "q").write_bytes(case.quote)
        (folder / "c").write_text(json.dumps(case.collateral))
        (folder / "p").write_text(json.dumps(case.policy))
        more = ["--root", case.root] if case.root else []
        more += ["--report-data", case.report_data] if case.report_data else []
        done = subprocess.run(
            [assay, "evidence", "verify", "--type", "tdx", "--collateral", folder / "c", "--at",
             case.time, "--policy", folder / "p", "-o", "json", *more, folder / "q"],
            capture_output=True, check=False)
        if done.returncode not in (0, 1, 2):
            sys.exit(f"{case.name}: assay ended with {done.returncode}")
        # 2: the collateral is no JSON that could be read at all
        verdict = json.loads(done.stdout) if done.returncode != 2 else {"error": "INPUT"}
        verdicts[case.name] = (done.returncode == 0, verdict["error"] or "accepted")
    return verdicts


def der_of(root, folder):
    """The other program reads roots in DER."""
    data = root.read_bytes()
    if not data.startswith(b"-----"):
        return root
    der = folder / f"anchor-{root.stem}.der"
    der.write_bytes(base64.b64decode(PEM.search(data.decode()).group(1)))
    return der


def verdicts_of_other(other, cases, root, folder):
    lines = []
    for number, case in enumerate(cases):
        quote, collateral = folder / f"{number}.q", folder / f"{number}.c"
        quote.write_bytes(case.quote)
        collateral.write_text(json.dumps(case.collateral))
        lines.append(json.dumps({"id": case.name, "quote": str(quote), "time": case.time,
                                 "collateral": str(collateral),
                                 "root": str(der_of(case.root, folder) if case.root else root)}))
    done = subprocess.run([other], input="\n".join(lines), capture_output=True, text=True,
                          check=True)
    answers = (line.split("\t", 1) for line in done.stdout.splitlines())
    return {name: (verdict == "accepted", verdict) for name, verdict in answers}


def known_differences():
    """Kind of case, who accepts, reason."""
    known = {}
    for line in (HERE / "differences.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            kind, who, reason = line.split(None, 2)
            known[kind, who] = reason
    return known


def write_root(folder):
    """The anchor is the last certificate of the real chains, which both are given."""
    collateral = json.loads((VECTORS / "2025-07.collateral.json").read_text())
    block = collateral["tcb_info_issuer_chain"].strip().rsplit("-----BEGIN", 1)[1]
    root = folder / "root.der"
    subprocess.run(["openssl", "x509", "-outform", "DER", "-out", root],
                   input="-----BEGIN" + block, text=True, check=True)
    return root


def judge(cases, ours, theirs):
    """Counts the verdicts that agree, and returns the kinds that differ as listed, and the others."""
    known, met, wrong, agreed = known_differences(), set(), [], 0
    for case in cases:
        if ours[case.name][0] == theirs[case.name][0]:
            agreed += 1
            continue
        who = "assay" if ours[case.name][0] else "go-tdx-guest"
        if (case.kind, who) in known:
            met.add((case.kind, who))
        else:
            wrong.append(f"{case.name}: assay {ours[case.name][1]}; "
                         f"go-tdx-guest {theirs[case.name][1]}")
    # Differences of changed evidence depend on which bits were drawn.
    names = {case.name for case in cases}
    wrong += [f"{kind}: listed, but {who} does not accept it alone"
              for kind, who in known if (kind, who) not in met and kind in names]
    return agreed, met, wrong


def main():
    assay, other = sys.argv[1:]
    seed = int(os.environ.get("ASSAY_SEED", "1"))
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        root = write_root(folder)
        real = list(real_cases())
        cases = real + list(shared_cases())
        ours = verdicts_of_assay(assay, cases, folder)
        theirs = verdicts_of_other(other, cases, root, folder)
        both = [c for c in cases if ours[c.name][0] and theirs[c.name][0]]
        changed = [one for base in both if base in real for one in changed_cases(base, rng)]
        ours.update(verdicts_of_assay(assay, changed, folder))
        theirs.update(verdicts_of_other(other, changed, root, folder))
    agreed, met, wrong = judge(cases + changed, ours, theirs)
    print("\n".join(wrong))
    print(f"{len(cases) + len(changed)} cases (seed {seed}), {len(both)} accepted by both as they "
          f"are, {agreed} verdicts agree, {len(met)} kinds differ as listed, {len(wrong)} wrong")
    return 1 if wrong or not both else 0


if __name__ == "__main__":
    sys.exit(main())
