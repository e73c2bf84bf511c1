# SPDX-License-Identifier: Apache-2.0
"""Rules of the console (server/console): text stays text, the token stays in memory, small files.

A text of the service becomes HTML nowhere, so nothing that makes HTML, code or styles of text may be named;
only dom.js sets attributes of elements by a name that it is given. Only api.js talks to the service. The
page has nothing inline and nothing from elsewhere. Every module is embedded by server/CMakeLists.txt.
"""

import re

import sources
from sources import Finding

FOLDER = "server/console/"
BUILD = "server/CMakeLists.txt"
MAX_LINES = {".js": 350, ".css": 120, ".html": 60, ".svg": 20}
MAX_TOTAL = 3000
MAX_LINE = 130

# What is refused, why, and the one file that may.
_WORDS = [
    (r"\b(inner|outer)HTML\b|insertAdjacentHTML|createContextualFragment|DOMParser|setHTML|srcdoc|document\.write",
     "text becomes HTML: use textContent or dom.js", None),
    (r"\beval\b|\bnew Function\b|\bimport\(|(setTimeout|setInterval)\(\s*[\"'`]|javascript:", "text becomes code", None),
    (r"localStorage|sessionStorage|indexedDB|document\.cookie|\bcaches\b|serviceWorker|history\.(push|replace)State",
     "a store: the token and what is shown stay in memory", None),
    (r"\bsetAttribute\(\s*[^\"'\s]", "an attribute by a name that is not written here", "dom.js"),
    (r"\bsetAttribute\(\s*[\"'](on|style|src)", "an attribute that runs, styles or loads", None),
    (r"\.style\b|\.on[a-z]+\s*=[^=]", "inline style or handler", None),
    (r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource|sendBeacon", "only api.js talks to the service", "api.js"),
    (r"window\.open|location\.(href|assign|replace)|\.href\s*=", "a way out of the page", "dom.js"),
    (r"https?://(?!www\.w3\.org/2000/svg)", "an address of elsewhere", None),
]
_INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style\b|\sstyle=|\son[a-z]+=|(?:src|href)=\"(?!console/|#)", re.IGNORECASE)
_IMPORT = re.compile(r"from \"([^\"]*)\"")


def _ending(path):
    return path[path.rindex("."):]


def _head(path, lines):
    """The licence, then what the file is for."""
    first = " ".join(lines[:2])
    if "SPDX-License-Identifier: Apache-2.0" not in first:
        yield Finding(path, 1, "line 1 or 2 has the licence")
    if path.endswith(".js") and not (len(lines) > 1 and re.match(r"// \S", lines[1])):
        yield Finding(path, 2, "line 2 says what the file is for")


def _module(path, lines):
    name = path[len(FOLDER):]
    for number, line in enumerate(lines, 1):
        code = re.sub(r"(^|\s)//.*", "", line)
        for pattern, why, owner in _WORDS:
            if name != owner and re.search(pattern, code):
                yield Finding(path, number, why)
        for target in _IMPORT.findall(code):
            if not re.fullmatch(r"\./[a-z0-9_]+\.js", target):
                yield Finding(path, number, f"import of {target}: only modules beside it")


def check(root):
    findings = []
    paths = [p for p in sources.list_files(root) if p.startswith(FOLDER) and not p.endswith(".md")]
    build = sources.read(root / BUILD) if (root / BUILD).is_file() else ""
    total = 0
    for path in paths:
        text = sources.read(root / path)
        lines = text.split("\n")[:-1]
        total += len(lines)
        findings += _head(path, lines)
        if len(lines) > MAX_LINES.get(_ending(path), 0):
            findings.append(Finding(path, len(lines), f"{len(lines)} lines, at most {MAX_LINES.get(_ending(path), 0)}"))
        for number, line in enumerate(lines, 1):
            if len(line) > MAX_LINE:
                findings.append(Finding(path, number, f"{len(line)} characters, at most {MAX_LINE}"))
            if not line.isascii():
                findings.append(Finding(path, number, "code is ASCII; write \\u escapes in strings"))
            if path.endswith((".html", ".svg")) and _INLINE.search(line) and "xmlns" not in line:
                findings.append(Finding(path, number, "inline script, style or handler, or something from elsewhere"))
        if path.endswith(".js"):
            findings += _module(path, lines)
        if "console/" + path[len(FOLDER):] not in build:
            findings.append(Finding(path, 1, f"not embedded: name it in {BUILD}"))
    if total > MAX_TOTAL:
        findings.append(Finding(FOLDER, 1, f"{total} lines, at most {MAX_TOTAL}"))
    return findings


if __name__ == "__main__":
    sources.main(check)
