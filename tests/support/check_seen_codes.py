# SPDX-License-Identifier: Apache-2.0
"""Every error code and every reason is produced by some test's run, or listed with why not.

Usage: check_seen_codes.py FILE     FILE: what ASSAY_SEEN_CODES named while all tests ran

A line of the file is "error ROW", "reason ROW" (rows of the tables, from 0) or "text CODE", which
counts in both tables. The list is tests/support/codes_not_seen.txt: "KIND CODE: why not".
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = {"error": "schemas/core/error_codes.def", "reason": "schemas/reason_codes.def"}
LIST = "tests/support/codes_not_seen.txt"


def codes_of(root, kind):
    return re.findall(rf'^ASSAY_{kind.upper()}\(\w+, "([^"]+)"', (root / TABLES[kind]).read_text(),
                      re.MULTILINE)


def problems(root, seen_text):
    """What is wrong, one line each."""
    tables = {kind: codes_of(root, kind) for kind in TABLES}
    seen, of_one_table = set(), set()
    for line in seen_text.splitlines():
        kind, _, value = line.partition(" ")
        if kind == "text":
            seen.update((k, value) for k in tables if value in tables[k])
        elif kind in tables and value.isdigit() and int(value) < len(tables[kind]):
            of_one_table.add((kind, tables[kind][int(value)]))
    seen |= of_one_table
    listed = {}
    for line in (root / LIST).read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"(error|reason) ([a-z0-9-]+): (\S.{9,})", line)
            if not match or match[2] not in tables[match[1]]:
                yield f"{LIST}: not 'KIND CODE: why not', or no such code: {line}"
                continue
            listed[match[1], match[2]] = match[3]
    for kind, codes in tables.items():
        for code in codes:
            if (kind, code) not in seen and (kind, code) not in listed:
                yield f"{kind} {code}: no test saw it; write one, or say why not in {LIST}"
            if (kind, code) in of_one_table and (kind, code) in listed:
                yield f"{kind} {code}: a test sees it by now; take it out of {LIST}"


def main():
    path = pathlib.Path(sys.argv[1])
    found = list(problems(ROOT, path.read_text() if path.exists() else ""))
    print("\n".join(found) if found else "Every code was produced by a test, or is listed with why not.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
