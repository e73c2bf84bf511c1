# SPDX-License-Identifier: Apache-2.0
"""Notes which codes the real programs print, as tests/support/seen_codes.h does inside of C++."""
import os
import re

# What the programs write: "error: CODE: ..." and "error: CODE" on a terminal, "code": "CODE" in JSON,
# [CODE] or [CODE, CODE] at the end of a line about a condition.
_SHAPES = (re.compile(r'^error: ([a-z0-9-]+)\b', re.MULTILINE),
           re.compile(r'"code":\s*"([a-z0-9-]+)"'),
           re.compile(r'\[([a-z0-9-]+(?:, [a-z0-9-]+)*)\](?:$|\\n|\n|")', re.MULTILINE))
_noted = set()


def note(text):
    path = os.environ.get("ASSAY_SEEN_CODES")
    if not path or not text:
        return
    found = {code for shape in _SHAPES for match in shape.findall(text) for code in match.split(", ")}
    new = found - _noted
    _noted.update(new)
    if new:
        with open(path, "a", encoding="ascii") as file:
            file.write("".join(f"text {code}\n" for code in sorted(new)))
