#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The simulator of evidence is part of assay and not of assayd.

Usage: simulate_linkage.py ASSAYD ASSAY

The keys of a simulation are derived under labels, which stand in each program that links it (stripped
or not).
"""

import pathlib
import re
import sys

KEY_SOURCE = pathlib.Path(__file__).resolve().parents[2] / "attestation/simulate/key.cc"


def main():
    labels = re.findall(r'as_bytes\("(assay simulated \w+)"\)', KEY_SOURCE.read_text())
    if not labels:
        sys.exit(f"{KEY_SOURCE}: no labels; adapt this test")
    service, client = (pathlib.Path(path).read_bytes() for path in sys.argv[1:3])
    inside = [label for label in labels if label.encode() in service]
    missing = [label for label in labels if label.encode() not in client]
    if inside:
        sys.exit(f"assayd links attestation/simulate: it holds {inside}")
    if missing:
        sys.exit(f"assay lacks {missing}: this test would not see the simulator either")
    print(f"assayd holds none of {labels}, assay all of them")


if __name__ == "__main__":
    main()
