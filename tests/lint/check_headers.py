# SPDX-License-Identifier: Apache-2.0
"""Every header compiles alone, with the flags that its folder's sources are built with, but without
precompiled headers.

A header that is the first include of a source is proven where each source is compiled alone and
without precompiled headers: by the presets dev, tsan and tidy, the latter two in `make ci-long`. The
others are compiled here, each in a translation unit of its own. Headers marked "multi-include" are
parts of the sources that include them, and only make sense there.

Usage: check_headers.py BUILD_DIR   (a configured build folder: it holds compile_commands.json)

Results are kept in BUILD_DIR/lint/headers: a header is compiled again when it, or anything that it
includes, changed.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import check_includes
import sources
from sources import Finding

FOLDERS = ("schemas/", "gpu_hash/", "attestation/", "policy/", "storage/", "server/",
           "client/", "worker/", "cli/", "tests/", "bench/")
_WITH_VALUE = ("-o", "-c", "-MF", "-MT", "-MQ")
_TOGETHER = re.compile(r'^#include "(.*)"$', re.MULTILINE)


def flags_of(command):
    """Compiler and flags of a compile command, without launcher, input, output, dependencies and
    precompiled header."""
    words = shlex.split(command)
    while words and os.path.basename(words[0]) in ("ccache", "distcc"):
        words.pop(0)
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif word.endswith("/cmake_pch.hxx") and kept[-1:] == ["-include"]:
            kept.pop()
        elif word not in ("-MD", "-MMD", "-MP") and not word.startswith("-fsanitize"):
            kept.append(word)
    return kept


def _sources_of(entry):
    """The files that a compile command compiles: one, or those that are compiled together."""
    file = pathlib.Path(entry["file"])
    if file.parent.name != "Unity" or not file.is_file():
        return [file]
    return [pathlib.Path(path) for path in _TOGETHER.findall(file.read_text())]


def read_commands(build, root):
    """({folder: flags}, headers that the build compiles first): what the build tells about headers.

    The first source of each folder speaks for its headers.
    """
    commands, proven = {}, set()
    entries = json.loads((build / "compile_commands.json").read_text())
    for file, entry in ((file, entry) for entry in entries for file in _sources_of(entry)):
        try:
            source = file.resolve().relative_to(root)
        except ValueError:
            continue
        if source.parts[0] == "build" or not (root / source).is_file():
            continue
        for folder in [source.parent, *source.parent.parents]:
            commands.setdefault(str(folder), flags_of(entry["command"]))
        first = check_includes.includes(sources.read(root / source) or "")[:1]
        proven.update(operand.strip('"') for _, operand in first)
    return commands, proven


def _nearest(header, commands):
    for folder in pathlib.PurePath(header).parents:
        if str(folder) in commands:
            return commands[str(folder)]
    return None


def _is_fresh(unit, depfile, flags_file, flags):
    """Whether the last success is newer than everything that it read."""
    try:
        stamp = depfile.stat().st_mtime_ns
        if flags_file.read_text() != flags:
            return False
        # The rule, without its target and without the empty rules that name each header.
        rule = depfile.read_text().replace("\\\n", " ").split("\n")[0].split(": ", 1)[1]
        return all(os.stat(path).st_mtime_ns < stamp for path in rule.split() if path != str(unit))
    except (OSError, IndexError):
        return False


def compile_header(root, build, header, flags):
    """Findings about one header; empty when it compiles, or did and nothing changed since."""
    base = build / "lint" / "headers" / header
    base.parent.mkdir(parents=True, exist_ok=True)
    unit, depfile = base.with_suffix(".h.cc"), base.with_suffix(".h.d")
    flags_file = base.with_suffix(".h.flags")
    line = f'#include "{header}"\n'
    if not unit.exists() or unit.read_text() != line:
        unit.write_text(line)
    if _is_fresh(unit, depfile, flags_file, " ".join(flags)):
        return []
    depfile.unlink(missing_ok=True)
    fresh = depfile.with_suffix(".new")
    done = subprocess.run([*flags, "-fsyntax-only", "-MD", "-MF", str(fresh), str(unit)],
                          cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        first = re.search(r"^.*\b(?:error|Error)\b.*$", done.stderr, re.MULTILINE)
        return [Finding(header, 1, "does not compile alone: " + (first.group(0) if first else done.stderr))]
    flags_file.write_text(" ".join(flags))
    fresh.rename(depfile)
    os.utime(depfile)
    return []


def check(root, build):
    commands, proven = read_commands(build, root)
    headers = [p for p in sources.list_files(root)
               if p.endswith(".h") and p.startswith(FOLDERS) and p not in proven
               and "\n// multi-include: " not in (sources.read(root / p) or "")]
    jobs = [(h, _nearest(h, commands)) for h in headers]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = pool.map(lambda job: compile_header(root, build, *job),
                           [job for job in jobs if job[1] is not None])
        return [finding for result in results for finding in result]


if __name__ == "__main__":
    sys.exit(sources.report(check(sources.ROOT, pathlib.Path(sys.argv[1]).resolve())))
