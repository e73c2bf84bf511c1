# SPDX-License-Identifier: Apache-2.0
"""Pages that describe the tree are held to it.

In docs/architecture.md and docs/design.md every path in backticks is a file or a folder of the
checkout, and every source file is named by its whole path. In all pages links lead to files that
exist. No file cites a design that is not here: what is agreed stands in docs/design.md, and a section
of it that is cited is there.
"""

import posixpath
import re

import sources
from sources import Finding

PAGES = ("docs/architecture.md", "docs/design.md")
SOURCE_ENDINGS = (".h", ".cc", ".cl", ".def", ".md", ".json", ".py", ".sh", ".sql", ".yaml", ".txt")
_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_WORD = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")
_LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)")
# "design section 5", "(design: ...)", or a page design.md that is not in docs.
_CITATION = re.compile(
    r"\bdesign(?: page)?(?: section\b|:[ \n])|(?<!docs/)\bdesign\.md", re.IGNORECASE)


# docs/design.md, "Nodes": a section that the page has.
_SECTION = re.compile(r'docs/design\.md,\s+(?:(?://|#)\s+)?"([^"\n]+)"')


def _line(text, offset):
    return text.count("\n", 0, offset) + 1


def _blank(match):
    return "\n" * match.group(0).count("\n")


def _paths(paths, page, text):
    folders = {posixpath.dirname(p) for p in paths}
    folders |= {f[:i] for f in folders for i, c in enumerate(f) if c == "/"}
    tops = {p.split("/")[0] for p in paths if "/" in p}
    known = set(paths) | folders
    text = _FENCE.sub(_blank, text)
    for match in _CODE.finditer(text):
        word = match.group(1).strip()
        if not _WORD.fullmatch(word):
            continue
        path = word.rstrip("/")
        line = _line(text, match.start())
        is_source = path.endswith(SOURCE_ENDINGS)
        if path in known:
            continue
        if "/" in path and (path.split("/")[0] in tops or is_source):
            yield Finding(page, line, f"`{word}` is no file or folder of the checkout")
        elif is_source and any(posixpath.basename(p) == path for p in paths):
            yield Finding(page, line, f"`{word}`: write the whole path")


def _links(paths, page, text):
    known = set(paths) | {posixpath.dirname(p) for p in paths}
    text = _FENCE.sub(_blank, text)
    for match in _LINK.finditer(text):
        target = match.group(1)
        if re.match(r"[a-z]+:", target):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if path not in known:
            yield Finding(page, _line(text, match.start()),
                          f"link to {target}, which is no file of the checkout")


def check(root):
    findings = []
    paths = sources.list_files(root)
    design = sources.read(root / PAGES[1]) if PAGES[1] in paths else ""
    sections = set(re.findall(r"^#+ (.+?)\s*$", design or "", re.MULTILINE))
    for path in paths:
        if path.startswith(("tests/vectors/", "tests/lint/")) or path == "LICENSE":
            continue
        text = sources.read(root / path)
        if text is None:
            continue
        if path in PAGES:
            findings += _paths(paths, path, text)
        if path.endswith(".md"):
            findings += _links(paths, path, text)
        for match in _SECTION.finditer(text):
            if match.group(1) not in sections:
                findings.append(Finding(path, _line(text, match.start()),
                                        f'docs/design.md has no section "{match.group(1)}"'))
        for match in _CITATION.finditer(text):
            if path.startswith("docs/") and match.group(0) == "design.md":
                continue  # a link beside it, which _links follows
            findings.append(Finding(path, _line(text, match.start()),
                                    f'"{match.group(0).strip()}": cite docs/design.md or a standard'))
    for page in PAGES:
        if page not in paths and any(p.startswith("docs/") for p in paths):
            findings.append(Finding(page, 1, "the page is missing"))
    return findings


if __name__ == "__main__":
    sources.main(check)
