# SPDX-License-Identifier: Apache-2.0
"""Which files an artifact has, and under which paths: schemas/tree.md section 4."""
import os
import re
import stat

MAX_PATTERN = 512


class TreeError(ValueError):
    """Something that is refused; `reason` is one short stable word."""

    def __init__(self, reason, detail=""):
        super().__init__(reason + (": " + detail if detail else ""))
        self.reason = reason


def check_path(path):
    """Section 4.1. `path` is bytes; returns it as text."""
    try:
        text = path.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise TreeError("path-utf8", repr(path)) from None
    if "\0" in text:
        raise TreeError("path-nul", repr(text))
    for part in text.split("/"):
        if part == "":
            raise TreeError("path-empty-part", repr(text))
        if part in (".", ".."):
            raise TreeError("path-dot-part", repr(text))
    return text


def _match_part(pattern, name):
    """Section 4.3: `*` is any run of characters, `?` exactly one; all else stands for itself."""
    if pattern == "":
        return name == ""
    if pattern[0] == "*":
        return any(_match_part(pattern[1:], name[i:]) for i in range(len(name) + 1))
    return name != "" and pattern[0] in ("?", name[0]) and _match_part(pattern[1:], name[1:])


def _match_parts(patterns, parts):
    """Section 4.3: part by part; `**` as a whole part is any number of parts, also none."""
    if not patterns:
        return not parts
    if patterns[0] == "**":
        return any(_match_parts(patterns[1:], parts[i:]) for i in range(len(parts) + 1))
    return bool(parts) and _match_part(patterns[0], parts[0]) and _match_parts(patterns[1:], parts[1:])


def check_pattern(pattern):
    """Section 4.3: what an ignore pattern may look like; returns its parts, anchored."""
    body = pattern[1:] if pattern.startswith("/") else pattern
    if body == "" or "\0" in body or any(part in ("", ".", "..") for part in body.split("/")):
        raise TreeError("pattern", repr(pattern))
    if len(pattern) > MAX_PATTERN:
        raise TreeError("pattern", "too long")
    if "/" not in pattern:
        return ["**", body]
    return body.split("/")


def is_ignored(path, patterns):
    """Section 4.3: is this file or directory (text path) ignored by one of the patterns?"""
    return any(_match_parts(check_pattern(p), path.split("/")) for p in patterns)


def walk(top, patterns=(), follow=False):
    """Section 4.2: {path text: file name} of the regular files below a directory."""
    real_top = os.path.realpath(os.fsencode(top))
    found = {}
    repository = None if follow else repository_of(real_top)
    _walk_into(real_top, b"", real_top, [real_top], patterns, follow, found, repository)
    return found


def repository_of(top):
    """Section 4.2: the repository in a Hugging Face cache of which a directory is a snapshot."""
    snapshots = os.path.dirname(top)
    repository = os.path.dirname(snapshots)
    if (os.path.basename(snapshots) == b"snapshots"
            and re.fullmatch(rb"(models|datasets)--.+", os.path.basename(repository), re.DOTALL)
            and stat.S_ISDIR(_mode(os.path.join(repository, b"blobs")))):  # fmt: skip
        return repository
    return None


def _mode(path):
    """Of what is there, a link itself; 0 when nothing is."""
    try:
        return os.lstat(path).st_mode
    except OSError:
        return 0


def _blob(link, repository, text):
    """Section 4.2: the regular file that a link of a snapshot stands for."""
    up = os.path.relpath(repository, os.path.dirname(link)) + b"/blobs/"
    target = os.readlink(link)
    blob = os.path.join(repository, b"blobs", target[len(up):])
    if not target.startswith(up) or target[len(up):] in (b"", b".", b"..") or b"/" in target[len(up):]:
        raise TreeError("symlink-outside", text)
    if stat.S_ISLNK(_mode(blob)):
        cache = os.path.dirname(repository)
        stored = re.fullmatch(rb"\.\./\.\./blobs/([0-9a-f]{2})/(\1[0-9a-f]*)", os.readlink(blob))
        if not stored or not all(stat.S_ISDIR(_mode(os.path.join(cache, *parts))) for parts in
                                 ((b"blobs",), (b"blobs", stored[1]))):  # fmt: skip
            raise TreeError("symlink-outside", text)
        blob = os.path.join(cache, b"blobs", stored[1], stored[2])
    if not stat.S_ISREG(_mode(blob)):
        raise TreeError("symlink-broken", text)
    return blob


def _stays_beneath(full, real_top):
    """Section 4.2: no link on the way is absolute or leads out, even when it leads in again."""
    at = []
    left = os.path.relpath(full, real_top).split(b"/")
    for _ in range(10000):
        if not left:
            return True
        part = left.pop(0)
        here = os.path.join(real_top, *at, part)
        if part == b"..":
            if not at:
                return False
            at.pop()
        elif part in (b"", b"."):
            continue
        elif os.path.islink(here):
            target = os.readlink(here)
            if target.startswith(b"/"):
                return False
            left = target.split(b"/") + left
        else:
            at.append(part)
    return False


def _walk_into(directory, prefix, real_top, open_directories, patterns, follow, found, repository):
    for name in sorted(os.listdir(directory)):
        text = check_path(prefix + name)
        if is_ignored(text, patterns):
            continue
        full = os.path.join(directory, name)
        mode = os.lstat(full).st_mode
        real = os.path.join(directory, name)
        if stat.S_ISLNK(mode):
            if repository:
                found[text] = _blob(full, repository, text)
                continue
            if not follow:
                raise TreeError("symlink", text)
            real = os.path.realpath(full)
            if real != real_top and not real.startswith(real_top.rstrip(b"/") + b"/"):
                raise TreeError("symlink-outside", text)
            if not _stays_beneath(full, real_top):
                raise TreeError("symlink-outside", text)
            try:
                mode = os.stat(real).st_mode
            except OSError:
                raise TreeError("symlink-broken", text) from None
        if stat.S_ISDIR(mode):
            if real in open_directories:
                raise TreeError("symlink-loop", text)
            _walk_into(real, prefix + name + b"/", real_top, open_directories + [real],
                       patterns, follow, found, repository)  # fmt: skip
        elif stat.S_ISREG(mode):
            found[text] = real
        else:
            raise TreeError("special-file", text)
