# SPDX-License-Identifier: Apache-2.0
"""Shared by the lint checks: the files of the checkout, findings, and C++ text with its comments apart."""

import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = (".h", ".def")
CPP = (".h", ".cc", ".def")


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


def list_files(root):
    """Paths of tracked and new files below root, relative and sorted; ignored files are left out."""
    if (root / ".git").exists():
        out = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
            check=True, capture_output=True).stdout.decode()
        paths = set(filter(None, out.split("\0")))
    else:
        paths = {os.path.relpath(os.path.join(folder, name), root)
                 for folder, _, names in os.walk(root) for name in names}
    return sorted(p for p in paths if (root / p).is_file() and not (root / p).is_symlink())


@functools.lru_cache(maxsize=None)
def read(path):
    """Text of a file, or None when it is not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        return None


_LEXICAL = re.compile(
    r'//(?:[^\n\\]|\\.|\\\n)*'                            # line comment
    r'|/\*.*?\*/'                                         # block comment
    r'|(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"'  # raw string
    r'|"(?:\\.|[^"\\\n])*"'                               # string
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",              # character, not a digit separator
    re.DOTALL)


def blank_comments(text, strings=False):
    """C++ text with comments blanked (strings as well when asked); lines keep their numbers."""
    def replace(match):
        piece = match.group(0)
        newlines = "\n" * piece.count("\n")
        if piece.startswith("/"):
            return " " + newlines
        if strings:
            return ('""' if piece[-1] == '"' else "'0'") + newlines
        return piece
    return _LEXICAL.sub(replace, text)


def comments(text):
    """(offset, comment) of each comment of a C++ text."""
    for match in _LEXICAL.finditer(text):
        if match.group(0).startswith("/"):
            yield match.start(), match.group(0)


def report(findings):
    """Prints findings; the exit status of a check."""
    for finding in sorted(set(findings)):
        print(finding, file=sys.stderr)
    return 1 if findings else 0


def main(check):
    """Runs check(root) over the checkout, or over the folder named on the command line."""
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    sys.exit(report(list(check(root))))
