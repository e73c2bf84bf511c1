#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One local name, one meaning, within a library.

With ASSAY_TOGETHER several files of a library make one translation unit, so a name that two of them
define in unnamed namespaces must not differ between them: rename one, or list one of the files in
assay_apart() of its folder, or in assay_alone() when others there have the name, too. A local type
must not have the name of a type of a header either: beside a file that uses that header, the local one
would be meant. Two headers never define two types of one name in one namespace: a program that has both
would take the functions of one for the other's.
"""

import os
import re

import sources
from sources import Finding

_LIBRARY = re.compile(r"\bassay_library\(\s*(\w+)(.*?)\)", re.DOTALL)
_KIND = re.compile(r"\bassay_(alone|apart)\((.*?)\)", re.DOTALL)
_FILE = re.compile(r"[\w/]+\.cc")
_NAMESPACE = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
_TYPE = re.compile(r"^(?:struct|class|union|enum class|enum struct|enum) (\w+)\b(?!.*;\s*$)")
_VALUE = re.compile(r"^(?:static |inline |thread_local |const |constexpr )*[\w:<>, *&]+?[ &*](\w+)"
                    r"(?:\[[^\]]*\])?(?: = |\{|;)")
_ALIAS = re.compile(r"^using (\w+) = (.*)$")
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
_FUNCTION = re.compile(r"^(?!return\b|using\b|namespace\b|friend\b)[\w\[\]].*?[ &*](\w+)\((.*)\)"
                       r"(?: const)?(?: noexcept)?(?: -> [^{]*)? \{")


def _types(parameters):
    """The parameters without their names and defaults: two functions with other types may share a name."""
    found, depth, part = [], 0, ""
    for char in parameters + ",":
        depth += (char in "<([{") - (char in ">)]}")
        if char == "," and depth == 0:
            found.append(re.sub(r"(?<=[ &*])\w+$", "", re.sub(r"\s*=.*", "", part.strip())).strip())
            part = ""
        else:
            part += char
    return ", ".join(found)


def local_names(text):
    """(namespace, parameters, name): (line, meaning of an alias), of what a file defines in unnamed namespaces."""
    raw, lines = text.splitlines(), sources.blank_comments(text).splitlines()
    path, found = [], {}
    for number, line in enumerate(lines, 1):
        opened = _NAMESPACE.match(line)
        if opened:
            path.append(opened.group(1) or "")
            continue
        if raw[number - 1].startswith("}  // namespace") and path:
            path.pop()
            continue
        if "" not in path or not line or line[0] in " #}":
            continue
        space = "::".join(path)
        joined, end = line, number
        while not re.search(r"[;{]\s*$|\}\s*$", joined) and end < len(lines) and end - number < 12:
            joined = joined.rstrip() + " " + lines[end].strip()
            end += 1
        joined = re.sub(r"^template <.*?> ?(?=\w)|^\[\[\w+\]\] |^extern \"C\" ", "", joined)
        alias, kind = _ALIAS.match(joined), _TYPE.match(joined)
        function, value = _FUNCTION.match(joined), _VALUE.match(joined)
        if alias:
            found[(space, "", alias.group(1))] = (number, alias.group(2))
        elif kind:
            found[(space, "", kind.group(1))] = (number, None)
        elif function and not joined.rstrip().endswith(";"):
            found[(space, _types(function.group(2)), function.group(1))] = (number, None)
        elif value and not joined.startswith(("using ", "typedef ", "static_assert", "return ")):
            found[(space, "", value.group(1))] = (number, None)
    return found


def header_types(root, paths):
    """Types that headers define, at the first column, outside of unnamed namespaces: name to header."""
    found = {}
    for path in paths:
        if path.endswith(".h") and not path.startswith("tests/"):
            for line in sources.blank_comments(sources.read(root / path) or "").splitlines():
                kind = _TYPE.match(line)
                if kind:
                    found.setdefault(kind.group(1), path)
    return found


def doubled_types(root, paths):
    """Findings: types of one name that two headers define in one namespace."""
    first = {}
    for path in paths:
        if not path.endswith(".h") or path.startswith("tests/"):
            continue
        space = ""
        for number, line in enumerate(sources.blank_comments(sources.read(root / path) or "").splitlines(), 1):
            opened, kind = _NAMESPACE.match(line), _TYPE.match(line)
            if opened:
                space = opened.group(1) or ""
            elif kind and not line[kind.end():].startswith(("::", "<")):
                other = first.setdefault((space, kind.group(1)), path)
                if other != path:
                    yield Finding(path, number, f"{kind.group(1)} is a type of {other} as well: rename one")


def includes(root, path, seen):
    """All headers of the project that a file sees."""
    for header in _INCLUDE.findall(sources.read(root / path) or ""):
        if header not in seen and (root / header).is_file():
            seen.add(header)
            includes(root, header, seen)
    return seen


def hidden_types(root, library, types):
    """(file, line, name, user): a local type of one file that would hide a header's type from another file."""
    for file, (text, names) in library.items():
        for (_, parameters, name), (line, meaning) in names.items():
            if parameters or meaning is not None or name not in types:
                continue
            used = re.compile(rf"(?<![\w.>\"]){name}\b")
            for user, (other, known) in library.items():
                if (user != file and not any(key[2] == name for key in known) and used.search(other)
                        and types[name] in includes(root, user, set())):
                    yield file, line, name, user
                    break


def files_of(root, folder, library, kinds):
    """[{file: (text, local names)}] of a library: those that are compiled together, and those apart."""
    groups = {None: {}, "apart": {}}
    for name in _FILE.findall(library):
        if kinds.get(name) in groups and (root / folder / name).is_file():
            text = sources.read(root / folder / name) or ""
            groups[kinds.get(name)][os.path.join(folder, name)] = (sources.blank_comments(text), local_names(text))
    return groups.values()


def check_group(root, path, files, types):
    first = {}
    for place, (_, names) in files.items():
        for key, (line, meaning) in names.items():
            other, known = first.setdefault(key, (place, meaning))
            if other != place and (meaning is None or meaning != known):
                yield Finding(place, line, f"{key[2]} is a local name of {other} as well: "
                              f"rename one, or list one in assay_apart() or assay_alone() of {path}")
    for place, line, name, user in hidden_types(root, files, types):
        yield Finding(place, line, f"{name} is a type of {types[name]} that {user} uses: "
                      f"rename the local one, or list the file in assay_apart() or assay_alone() of {path}")


def check(root):
    paths = sources.list_files(root)
    types = header_types(root, paths)
    yield from doubled_types(root, paths)
    for path in paths:
        if os.path.basename(path) != "CMakeLists.txt" or path.startswith("tests/"):
            continue
        text = re.sub(r"#[^\n]*", "", sources.read(root / path) or "")
        kinds = {name: kind.group(1) for kind in _KIND.finditer(text) for name in _FILE.findall(kind.group(2))}
        for library in _LIBRARY.finditer(text):
            for files in files_of(root, os.path.dirname(path), library.group(2), kinds):
                yield from check_group(root, path, files, types)


if __name__ == "__main__":
    sources.main(check)
