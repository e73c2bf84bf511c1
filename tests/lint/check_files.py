# SPDX-License-Identifier: Apache-2.0
"""Plain rules for files: names, sizes, licence lines, characters, stray paths, open tasks, keys.

A file over its limit says why on line 2 (`// long-file: why`), a function over its limit on the line
above it (`// long-function: why`).
"""

import os
import re

import cpp
import sources
from sources import Finding

LICENCE = "SPDX-License-Identifier: Apache-2.0"
MAX_LINES = {".h": 250, ".cc": 500, ".cl": 500}
MAX_TEST_LINES = 600
MAX_FUNCTION_LINES = 60

_CPP = (".h", ".cc", ".cl", ".def")
_SCRIPTS = (".py", ".sh", ".cmake")
_FOREIGN_CPP = (".cpp", ".cxx", ".c++", ".C", ".hpp", ".hxx", ".hh", ".inl")
_SNAKE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*\.(h|cc|cl|def)")
_OPEN_TASK = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b(?!\(#\d+\))")
# Absolute paths of one machine: the first anywhere, homes only where a path starts.
_LOCAL_PATH = re.compile(r"/wo" r"rk/|(?<![\w.$})\]-])/(?:home|ro" r"ot)/")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*\n[A-Za-z0-9+/=]{16}")
# Stored bytes: inputs and recorded material, left exactly as they are.
_DATA_FOLDERS = ("tests/vectors/", "tests/fuzz/corpus/")
_DATA_SUFFIXES = (".bin", ".der", ".dat", ".pem", ".patch", ".svg", ".txt.golden")

# (path, text of the line) -> why this local path may stand.
LOCAL_PATH_EXCEPTIONS = {}


def _is_script(path, text):
    return (path.endswith(_SCRIPTS) or os.path.basename(path) in ("CMakeLists.txt", "Makefile") or
            text.startswith("#!"))


def _is_data(path):
    return path.startswith(_DATA_FOLDERS) or path.endswith(_DATA_SUFFIXES)


def _check_name(path):
    name = os.path.basename(path)
    if name.endswith(_FOREIGN_CPP):
        yield Finding(path, 1, "C++ files end in .h or .cc")
    elif name.endswith(_CPP) and not _SNAKE.fullmatch(name):
        yield Finding(path, 1, "file names are snake_case")
    elif path.startswith("tests/") and name.endswith(("_tests.cc", "_unittest.cc")):
        yield Finding(path, 1, "tests are named <unit>_test.cc")


def _check_licence(root, path, text, lines):
    if path.endswith(_CPP):
        # The header describes the .cc beside it.
        described = path.endswith(".cc") and (root / path).with_suffix(".h").exists()
        if not lines or lines[0] != "// " + LICENCE:
            yield Finding(path, 1, f"line 1 must be: // {LICENCE}")
        elif not described and (len(lines) < 2 or not re.match(r"// \S", lines[1])):
            yield Finding(path, 2, "line 2 must start the description of the file")
    elif _is_script(path, text):
        if not any(line == "# " + LICENCE for line in lines[:2]):
            yield Finding(path, 1, f"line 1 (2 after #!) must be: # {LICENCE}")


def _check_text(path, text, lines):
    is_code = path.endswith(_CPP) or _is_script(path, text)
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield Finding(path, number, "trailing whitespace")
        if is_code and not line.isascii():
            yield Finding(path, number, "code is ASCII; write \\u escapes in strings")
        if is_code and _OPEN_TASK.search(line):
            yield Finding(path, number, "open tasks name their issue: TO" "DO(#123)")
        if _LOCAL_PATH.search(line) and (path, line.strip()) not in LOCAL_PATH_EXCEPTIONS:
            yield Finding(path, number, "path of one machine")
    if text and not text.endswith("\n"):
        yield Finding(path, len(lines), "no newline at the end of the file")
    if not path.startswith("tests/"):
        for match in _PRIVATE_KEY.finditer(text):
            yield Finding(path, text.count("\n", 0, match.start()) + 1, "private key")


def _check_sizes(path, text, lines):
    limit = MAX_LINES.get(os.path.splitext(path)[1])
    if limit is None:
        return
    if path.startswith("tests/") and path.endswith(".cc"):
        limit = MAX_TEST_LINES
    if len(lines) > limit and not (len(lines) > 1 and "long-file: " in lines[1]):
        yield Finding(path, limit, f"{len(lines)} lines, at most {limit}: split it, or give the reason on "
                                   "line 2 (long-file: why)")
    if len(lines) <= MAX_FUNCTION_LINES:
        return
    for function in cpp.Reader(text).functions:
        if function.lines <= MAX_FUNCTION_LINES:
            continue
        above = lines[function.first_line - 2] if function.first_line > 1 else ""
        if "long-function: " not in above:
            yield Finding(path, function.first_line,
                          f"function of {function.lines} lines, at most {MAX_FUNCTION_LINES}: split it, or "
                          "give the reason above it (long-function: why)")


def check(root):
    findings = []
    for path in sources.list_files(root):
        findings += _check_name(path)
        if _is_data(path):
            continue
        text = sources.read(root / path)
        if text is None or "\0" in text:
            continue
        lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
        findings += _check_licence(root, path, text, lines)
        findings += _check_text(path, text, lines)
        findings += _check_sizes(path, text, lines)
        if text.startswith("#!") and not os.access(root / path, os.X_OK):
            findings.append(Finding(path, 1, "a file that begins with #! is executable (chmod +x)"))
        if path.endswith(".h") and not re.search(r"^(#pragma once|// multi-include: .+)$", text, re.M):
            findings.append(Finding(path, 1, "header without #pragma once (or // multi-include: why)"))
    return findings


if __name__ == "__main__":
    sources.main(check)
