# SPDX-License-Identifier: Apache-2.0
"""Coroutines: where they may stand, and the forms that GCC 12.2 compiles wrongly.

GCC 12.2 destroys some temporaries twice when the full-expression that makes them also holds
co_await: lambdas that capture by value, temporaries of aggregates (braced, designated, std::array,
default arguments) and operands of ?:. See CONTRIBUTING.md, "Coroutines", and the two canaries
beside this file, which notice a compiler that behaves differently.
"""

import re

import cpp
import sources
from sources import Finding

# The only files that may hold coroutines: the TLS/HTTP session and the listener.
FILES_LIST = "tests/lint/coroutine_files.txt"
BAD_CANARY = "tests/lint/canary_bad.cc"

_KEYWORDS = {"co_await", "co_return", "co_yield"}
_CONDITIONS = {"if", "while", "for", "switch"}
_FORBIDDEN = {
    "awaitable_operators": "awaitable operators race with cancellation; close the stream instead",
    "parallel_group": "parallel_group races with cancellation; close the stream instead",
    "make_parallel_group": "parallel_group races with cancellation; close the stream instead",
    "detached": "detached drops exceptions; pass a handler that logs the exception",
    "co_yield": "co_yield is not used in this project",
}


def _captures_by_value(captures):
    """Whether a lambda introducer copies, moves or makes something: anything but &, &x and this."""
    items, depth = [[]], 0
    for text in captures:
        depth += (text in "([{<") - (text in ")]}>") if len(text) == 1 else 0
        if text == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(text)
    return any(item and item[0] != "&" and item != ["this"] or "=" in item for item in items)


def _check_statement(path, statement):
    texts = [t.text for t in statement]
    awaits = [t for t in statement if t.text == "co_await"]
    if not awaits:
        return
    line = awaits[0].line

    def finding(text):
        return Finding(path, line, text)

    if len(awaits) > 1:
        yield finding("several co_await in one statement; give each its own")
    if any(t.captures is not None and _captures_by_value(t.captures) for t in statement):
        yield finding("capturing lambda in a co_await expression; name it on the line above")
    if "{" in texts:
        if texts[texts.index("{") - 1] == "(":
            yield finding("statement expression or braced temporary in a co_await expression")
        else:
            yield finding("braced temporary in a co_await expression; name it on the line above")
    if "?" in texts:
        yield finding("?: in a co_await expression; decide before it")
    if texts[0] in _CONDITIONS and any(t.depth > 0 for t in awaits):
        yield finding("co_await in a condition; bind its result to a name first")
    if re.search(r"\bauto (?:const )?(?:& |&& )?\[ \w", " ".join(texts)):
        yield finding("structured binding of a co_await; bind to a name, then unpack")
    if "co_spawn" in texts[:texts.index("co_await")]:
        yield finding("co_await inside co_spawn(...); name the executor first")


_LITERAL = re.compile(r"-? ?\d\w*|true|false|nullptr|(?:\w+ :: )*k[A-Z]\w*")


def _check_defaults(path, statement):
    """Default arguments of class type on a function that returns an awaitable."""
    texts = [t.text for t in statement]
    if "awaitable" not in texts or texts[0] in ("return", "co_return", "using"):
        return
    start = texts.index("awaitable")
    if "(" not in texts[start:]:
        return
    start = texts.index("(", start)
    depth, default, begun = 0, [], False
    for token in statement[start:]:
        depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
        if begun and (depth == 0 or token.text == "," and depth == 1):
            if not _LITERAL.fullmatch(" ".join(default)):
                yield Finding(path, token.line,
                              "default argument of class type on a coroutine; add an overload")
            default, begun = [], False
        elif begun:
            default.append(token.text)
        elif token.text == "=" and depth == 1:
            begun = True
        if depth == 0:
            return


def _allowed_files(root):
    path = root / FILES_LIST
    if not path.exists():
        return set()
    lines = path.read_text().splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def check(root):
    allowed = _allowed_files(root)
    findings = []
    for path in sources.list_files(root):
        if not path.endswith(sources.CPP):
            continue
        text = sources.read(root / path)
        # "awaitable" alone is a declaration: it is checked as well, but may stand in any server file.
        if text is None or not re.search(r"\bco_(?:await|return|yield)\b|\bawaitable\b", text):
            continue
        reader = cpp.Reader(text)
        keywords = [t for t in reader.tokens if t.text in _KEYWORDS]
        if keywords and path not in allowed:
            findings.append(Finding(path, keywords[0].line,
                                    f"coroutine outside of the files in {FILES_LIST}"))
        if keywords or "awaitable" in {t.text for t in reader.tokens}:
            findings += [Finding(path, t.line, _FORBIDDEN[t.text])
                         for t in reader.tokens if t.text in _FORBIDDEN]
        if path == BAD_CANARY:
            continue
        for statement in reader.statements:
            findings += _check_statement(path, statement)
            findings += _check_defaults(path, statement)
    return findings


if __name__ == "__main__":
    sources.main(check)
