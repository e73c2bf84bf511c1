# SPDX-License-Identifier: Apache-2.0
"""docs/reasons.md is the table of reasons (schemas/reason_codes.def), written for people.

The page is made from the table: change the table, then `check_reasons.py --write`.
"""

import re
import sys

import sources
from sources import Finding

TABLE = "schemas/reason_codes.def"
PAGE = "docs/reasons.md"

_HEAD = """\
<!-- Made from schemas/reason_codes.def by tests/lint/check_reasons.py --write: change the table. -->
# Reasons

A decision says of every condition whether it passes, and if not, why. Each reason has a code, which never changes its meaning. `kubectl` shows a sentence and the code for each condition that stands in the way; `assay decision show ID` shows everything that was compared; `assay explain CODE` shows what stands here, and explains the codes of errors as well. In a decision the reasons come in the order of the conditions: first those about the reference to a model, then policy by policy and model by model.
"""

_ROW = re.compile(r'ASSAY_REASON\((\w+), "([^"]*)",\s*"((?:[^"\\]|\\.)*)",'
                  r'\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)"\)')


def page_of(table):
    """The page for the text of a table; ValueError when the table is written in another way."""
    parts = [_HEAD]
    rows = 0
    for group in re.split(r"^// --- ", table, flags=re.MULTILINE)[1:]:
        title, _, body = group.partition("\n")
        parts.append(f"\n## {title.strip()}\n")
        for _, code, sentence, explanation, step in _ROW.findall(body):
            rows += 1
            parts.append(f"\n### {code}\n**{sentence}.** {explanation}\n\nWhat to do: {step}\n")
    if rows == 0 or rows != len(re.findall(r"^ASSAY_REASON\(", table, re.MULTILINE)):
        raise ValueError("rows that cannot be read: write them as the others are written")
    return "".join(parts)


def _findings(root):
    if not (root / TABLE).is_file():
        return
    try:
        wanted = page_of(sources.read(root / TABLE))
    except ValueError as error:
        yield Finding(TABLE, 1, str(error))
        return
    there = sources.read(root / PAGE) if (root / PAGE).is_file() else ""
    if there != wanted:
        lines = zip((there or "").splitlines() + [""], wanted.splitlines() + [""])
        line = next((i for i, (a, b) in enumerate(lines, 1) if a != b), 1)
        yield Finding(PAGE, line, "is not what the table says (check_reasons.py --write)")


def check(root):
    return list(_findings(root))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        (sources.ROOT / PAGE).write_text(page_of(sources.read(sources.ROOT / TABLE)))
    else:
        sources.main(check)
