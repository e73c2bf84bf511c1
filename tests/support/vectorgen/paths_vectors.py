# SPDX-License-Identifier: Apache-2.0
"""tests/vectors/paths.json: path rules and ignore patterns."""
from reference import tree

GOOD = [
    b"a", b"a/b", b"model-00001-of-00002.safetensors", b".hidden", b".git", b"a/.git/b", b"...", b"a/...",
    b"..a", b"a..", b".a.", b"a b", b" ", b"a/ /b", b"a\\b", b"C:/x", b"C:\\x", b"~", b"-rf", b"a*b", b"a?b",
    b"\x01", b"tab\there", b"new\nline", b"\x7f", "\u00e9".encode(), "e\u0301".encode(),
    "\u202e".encode(), "\ufeff".encode(), "\ufffd".encode(), "\uffff".encode(), "\U0001f600".encode(),
    "\U0010ffff".encode(), "\u2025".encode(), "\uff0e\uff0e/\uff0f".encode(), b"x" * 255, b"/".join([b"d"] * 200),
]  # fmt: skip
BAD = [
    (b"", "path-empty-part"), (b"/", "path-empty-part"), (b"/a", "path-empty-part"), (b"//a", "path-empty-part"),
    (b"a/", "path-empty-part"), (b"a//b", "path-empty-part"), (b".", "path-dot-part"), (b"..", "path-dot-part"),
    (b"./a", "path-dot-part"), (b"a/.", "path-dot-part"), (b"a/./b", "path-dot-part"), (b"../a", "path-dot-part"),
    (b"a/..", "path-dot-part"), (b"a/../b", "path-dot-part"), (b"\0", "path-nul"), (b"a\0b", "path-nul"),
    (b"a\0", "path-nul"), (b"\xff", "path-utf8"), (b"a/\x80", "path-utf8"), (b"\xc3", "path-utf8"),
    (b"\xc0\xaf", "path-utf8"), (b"\xc0\x80", "path-utf8"), (b"\xe0\x80\xaf", "path-utf8"),
    (b"\xf0\x80\x80\xaf", "path-utf8"), (b"\xc1\xbf", "path-utf8"), (b"\xed\xa0\x80", "path-utf8"),
    (b"\xed\xbf\xbf", "path-utf8"), (b"\xed\xa0\xbd\xed\xb8\x80", "path-utf8"), (b"\xf4\x90\x80\x80", "path-utf8"),
    (b"\xf8\x88\x80\x80\x80", "path-utf8"), (b"\xe2\x82", "path-utf8"), (b"\xe9", "path-utf8"),
]  # fmt: skip

# pattern, path of a file or directory, ignored
IGNORED = [
    ("a", "a", True), ("a", "x/a", True), ("a", "x/y/a", True), ("a", "ab", False), ("a", "A", False),
    ("a", "a/b", False), ("/a", "a", True), ("/a", "x/a", False), ("a/b", "a/b", True), ("a/b", "x/a/b", False),
    ("/a/b", "a/b", True), ("*.tmp", "x.tmp", True), ("*.tmp", "d/x.tmp", True), ("*.tmp", ".tmp", True),
    ("*.tmp", "x.tmp2", False), ("*", "anything", True), ("*", "a/b", True), ("/*", "a", True), ("/*", "a/b", False),
    ("*/x", "a/x", True), ("*/x", "x", False), ("*/x", "a/b/x", False), ("a*b*c", "aXXbYYc", True),
    ("a*b*c", "abc", True), ("a*b*c", "acb", False), ("a**c", "abc", True), ("a**c", "a/c", False),
    ("?", "a", True), ("?", "", False), ("?", "ab", False), ("?", "\u00e9", True), ("?", "e\u0301", False),
    ("?", "\U0001f600", True), ("??", "\u00e9", False), ("a?c", "a/c", False), ("**", "a", True),
    ("**", "a/b/c", True), ("a/**", "a/b", True), ("a/**", "a/b/c", True), ("a/**", "a", True),
    ("a/**", "b/a/c", False), ("**/b", "b", True), ("**/b", "a/b", True), ("**/b", "a/x/b", True),
    ("**/b", "ab", False), ("a/**/b", "a/b", True), ("a/**/b", "a/x/y/b", True), ("a/**/b", "x/a/b", False),
    ("a/**/b/**/c", "a/b/c", True), ("a/**/b/**/c", "a/1/b/2/3/c", True), ("a/**/b/**/c", "a/1/2/c", False),
    ("[ab]", "a", False), ("[ab]", "[ab]", True), ("!a", "a", False), ("!a", "!a", True), ("\\*", "*", False),
    ("\\*", "\\x", True), ("a.b", "axb", False), ("\u00e9", "\u00e9", True), ("\u00e9", "e\u0301", False),
    ("*.log", "a\nb.log", True), ("", ".git", False), ("/.git", ".git", True), ("/.git", "a/.git", False),
    ("/.git", ".gitignore", False), ("/.git", ".GIT", False),
]  # fmt: skip
REFUSED = ["", "/", "//", "a/", "/a/", "a//b", "//a", ".", "..", "./a", "../a", "a/..", "a/./b", "a\0b",
           "x" * 513]  # fmt: skip


def build():
    paths = []
    for path in GOOD:
        tree.check_path(path)
        paths.append({"hex": path.hex(), "want": "accept"})
    for path, reason in BAD:
        try:
            tree.check_path(path)
        except tree.TreeError as error:
            assert error.reason == reason, (path, error)
        else:
            raise AssertionError(path)
        paths.append({"hex": path.hex(), "want": "reject", "reason": reason})
    ignored = []
    for pattern, path, want in IGNORED:
        patterns = [pattern] if pattern else []
        if path:
            assert tree.is_ignored(path, patterns) == want, (pattern, path)
            ignored.append({"patterns": patterns, "path": path, "ignored": want})
    for pattern in REFUSED:
        try:
            tree.check_pattern(pattern)
        except tree.TreeError:
            continue
        raise AssertionError(pattern)
    return {
        "what": "paths: bytes of a path in hexadecimal, accept or reject (schemas/tree.md section "
        "4.1). ignored: is this one path ignored by these patterns (section 4.3); that a match on a directory leaves out what is below it is not part of this "
        "table. refused_patterns: patterns that are refused.",
        "source": "written for this project; UTF-8 cases after RFC 3629",
        "paths": paths,
        "ignored": ignored,
        "refused_patterns": REFUSED,
    }
