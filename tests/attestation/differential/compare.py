#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares verdicts of `assay evidence verify` and of go-tdx-guest on the same evidence.

Usage: compare.py ASSAY OTHER

Evidence: the real quotes of tests/vectors/tdx as they are, and each that both accept with one bit
changed, 40 times in each of its parts (ASSAY_SEED=N for other bits). The two must agree whether the
evidence is accepted, except where differences.txt says why they do not. A difference that is listed
and no longer there is a failure, too.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parents[1] / "vectors" / "tdx"
CHANGES = 40
PARTS = ("tcb_info", "tcb_info_signature", "qe_identity", "qe_identity_signature", "pck_crl",
         "root_ca_crl")
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
    def __init__(self, name, kind, quote, collateral, time, policy):
        self.name, self.kind = name, kind
        self.quote, self.collateral, self.time, self.policy = quote, collateral, time, policy


def real_cases():
    for quote, collateral, time, policy in QUOTES:
        yield Case(quote, quote, (VECTORS / f"{quote}.quote").read_bytes(),
                   json.loads((VECTORS / f"{collateral}.collateral.json").read_text()), time, policy)


def end_of_version_4(quote):
    """Behind the signature data. What follows is padding."""
    return 636 + int.from_bytes(quote[632:636], "little")


def flip_bit(data, rng, begin=0, end=None):
    changed = bytearray(data)
    place = rng.randrange(begin, end or len(changed))
    changed[place] ^= 1 << rng.randrange(8)
    return bytes(changed), place


def changed_cases(base, rng):
    """One bit each, in the quote and in each part of the collateral that is signed or signs."""
    end = end_of_version_4(base.quote)
    for kind, first, last in (("quote", 0, end), ("padding", end, len(base.quote))):
        for number in range(CHANGES if first < last else 0):
            quote, place = flip_bit(base.quote, rng, first, last)
            yield Case(f"{base.name}/{kind}/{number}@{place}", kind, quote, base.collateral,
                       base.time, base.policy)
    for part in PARTS:
        for number in range(CHANGES):
            text = base.collateral[part]
            if part in ("tcb_info", "qe_identity"):
                changed, place = flip_bit(text.encode(), rng)
                try:
                    changed = changed.decode("ascii")
                except UnicodeDecodeError:
                    continue  # no text: it could not stand in JSON
            else:
                changed, place = flip_bit(bytes.fromhex(text), rng)
                changed = changed.hex()
            yield Case(f"{base.name}/{part}/{number}@{place}", part, base.quote,
                       {**base.collateral, part: changed}, base.time, base.policy)


def verdicts_of_assay(assay, cases, folder):
    verdicts = {}
    for case in cases:
        (folder / "q").write_bytes(case.quote)
        (folder / "c").write_text(json.dumps(case.collateral))
        (folder / "p").write_text(json.dumps(case.policy))
        done = subprocess.run(
            [assay, "evidence", "verify", "--type", "tdx", "--collateral", folder / "c", "--at",
             case.time, "--policy", folder / "p", "-o", "json", folder / "q"],
            capture_output=True, check=False)
        if done.returncode not in (0, 1, 2):
            sys.exit(f"{case.name}: assay ended with {done.returncode}")
        # 2: the collateral is no JSON that could be read at all
        verdict = json.loads(done.stdout) if done.returncode != 2 else {"error": "INPUT"}
        verdicts[case.name] = (done.returncode == 0, verdict["error"] or "accepted")
    return verdicts


def verdicts_of_other(other, cases, root, folder):
    lines = []
    for number, case in enumerate(cases):
        quote, collateral = folder / f"{number}.q", folder / f"{number}.c"
        quote.write_bytes(case.quote)
        collateral.write_text(json.dumps(case.collateral))
        lines.append(json.dumps({"id": case.name, "quote": str(quote), "time": case.time,
                                 "collateral": str(collateral), "root": str(root)}))
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


def main():
    assay, other = sys.argv[1:]
    seed = int(os.environ.get("ASSAY_SEED", "1"))
    rng = random.Random(seed)
    known, met, wrong, agreed = known_differences(), set(), [], 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        root = write_root(folder)
        cases = list(real_cases())
        ours = verdicts_of_assay(assay, cases, folder)
        theirs = verdicts_of_other(other, cases, root, folder)
        both = [c for c in cases if ours[c.name][0] and theirs[c.name][0]]
        changed = [one for base in both for one in changed_cases(base, rng)]
        ours.update(verdicts_of_assay(assay, changed, folder))
        theirs.update(verdicts_of_other(other, changed, root, folder))
        for case in cases + changed:
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
    wrong += [f"{kind}: listed, but {who} does not accept it alone"
              for kind, who in known if (kind, who) not in met and kind in {q[0] for q in QUOTES}]
    print("\n".join(wrong))
    print(f"{len(cases) + len(changed)} cases (seed {seed}), {len(both)} accepted by both as they "
          f"are, {agreed} verdicts agree, {len(met)} kinds differ as listed, {len(wrong)} wrong")
    return 1 if wrong or not both else 0


if __name__ == "__main__":
    sys.exit(main())
