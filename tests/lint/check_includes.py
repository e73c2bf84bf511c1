# SPDX-License-Identifier: Apache-2.0
"""The table of allowed includes (dependencies.json): folders, third-party owners, no cycles.

Refused as well: relative includes, includes that are not literal, headers that nobody lists, folders
without a policy, and link edges in CMakeLists.txt that the table does not allow.

A folder may be a house with rooms (`room_of` in the table): its own headers are its face, and the rooms
are included by name only, and from inside the house. A folder of a house that is no room, a room without
a short README.md, and product code outside that names a room are refused.
"""

import json
import os
import re

import sources
from sources import Finding

TABLE = "tests/lint/dependencies.json"
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_LITERAL = re.compile(r'"([^"]+)"|<([^>]+)>')
_PROJECT_FOLDERS = ("schemas", "gpu_hash", "attestation", "policy", "storage", "server", "client", "worker",
                    "cli")
# C headers and compiler intrinsics, free for all.
_C_HEADERS = re.compile(
    r"(assert|complex|ctype|fenv|float|inttypes|limits|locale|math|setjmp|stdarg|stddef|stdint|stdio|"
    r"stdlib|string|time|uchar|wchar|cpuid|[a-z]*intrin)\.h")


def _matches(name, patterns):
    return any(name.startswith(p) if p.endswith("/") else name == p for p in patterns)


def _below(path, prefixes):
    """The longest of the prefixes (folders or files) that holds the path, or None."""
    found = [p for p in prefixes if path == p or path.startswith(p + "/")]
    return max(found, key=len, default=None)


class Table:
    def __init__(self, text):
        data = json.loads(text)
        self.folders = data["folders"]
        self.third_party = data["third_party"]
        self.system = data["system"]
        self.denied = data["denied"]

    def folder(self, path):
        return _below(path, self.folders)

    def house(self, folder):
        """The house that the folder is a room of, or None."""
        return self.folders[folder].get("room_of") if folder in self.folders else None

    def is_free(self, folder):
        """True for tests and benchmarks, which are no part of the product."""
        return not {"*", "**"}.isdisjoint(self.folders[folder]["may_include"])

    def allows(self, source, target):
        may = self.folders[source]["may_include"]
        return (source == target or target in may or "**" in may
                or ("*" in may and not self.house(target)))

    def cycle(self):
        """Folders on a cycle of the table itself (free folders aside), or an empty list."""
        edges = {f: [t for t in entry["may_include"] if not t.startswith("*")]
                 for f, entry in self.folders.items()}
        return find_cycle(edges)

    def intruders(self):
        """(folder, room) of each row that names a room of another house."""
        return [(folder, room) for folder, entry in self.folders.items() if not self.is_free(folder)
                for room in entry["may_include"]
                if self.house(room) and _below(folder, [self.house(room)]) is None]


def find_cycle(edges):
    """Nodes of one cycle in a graph {node: [nodes]}, or an empty list."""
    state = {}

    def visit(node, trail):
        state[node] = "open"
        for after in edges.get(node, ()):
            if state.get(after) == "open":
                return trail[trail.index(after):] + [after] if after in trail else [node, after]
            if after not in state:
                found = visit(after, trail + [after])
                if found:
                    return found
        state[node] = "done"
        return []

    for node in sorted(edges):
        if node not in state:
            found = visit(node, [node])
            if found:
                return found
    return []


def includes(text):
    """(line, operand) of each include directive."""
    blanked = sources.blank_comments(text)
    return [(blanked.count("\n", 0, m.start()) + 1, m.group(1)) for m in _INCLUDE.finditer(blanked)]


def _check_project(table, root, path, line, name):
    if name.startswith("embedded/"):
        return  # made by assay_embed
    if name.startswith(".") or "/../" in name:
        yield Finding(path, line, f'relative include "{name}"; write the path from the root')
        return
    if not (root / name).is_file():
        yield Finding(path, line, f'"{name}" is no file below the root (third-party goes in <>)')
        return
    source, target = table.folder(path), table.folder(name)
    if target is None:
        yield Finding(path, line, f'"{name}" lies in a folder without a policy in {TABLE}')
    elif not table.allows(source, target):
        yield Finding(path, line, f'{source} may not include {target} ("{name}")')


def _check_external(table, path, line, name):
    folder = table.folder(path)
    denied = _below(path, table.denied)
    if denied and _matches(name, table.denied[denied]["headers"]):
        yield Finding(path, line, f"{denied} may not include <{name}>: {table.denied[denied]['reason']}")
        return
    if re.fullmatch(r"[a-z0-9_]+", name) or _C_HEADERS.fullmatch(name):
        return
    if _matches(name, table.system["headers"]):
        closed = _below(path, table.system["not_in"])
        if closed:
            reason = table.system["not_in"][closed]
            yield Finding(path, line, f"{closed} may not include <{name}>: {reason}")
        return
    for library, entry in table.third_party.items():
        if not _matches(name, entry["headers"]):
            continue
        if table.is_free(folder):
            return
        if _below(path, entry["owners"]) is None:
            yield Finding(path, line, f"{folder} does not own {library} (<{name}>)")
        elif path.endswith(sources.HEADERS) and _below(path, entry.get("not_in_headers_of", ())):
            yield Finding(path, line, f"{library} stays out of headers here (<{name}>)")
        return
    yield Finding(path, line, f"<{name}> is not listed in {TABLE}")


def _check_links(table, root, paths):
    """Link edges: a library may link only what its folder may include."""
    owners = {}
    uses = []
    for path in paths:
        if not path.endswith("CMakeLists.txt") or not path.startswith(_PROJECT_FOLDERS):
            continue
        folder = os.path.dirname(path)
        text = re.sub(r"#[^\n]*", "", sources.read(root / path) or "")
        for match in re.finditer(r"\bassay_(?:library|program)\(\s*(\w+)(.*?)\)", text, re.DOTALL):
            name, body = match.groups()
            first = re.search(r"([\w/]+)\.cc", body)
            place = f"{folder}/{first.group(1)}.cc" if first else f"{folder}/x.cc"
            owner = table.folder(place)
            if owner is None:
                continue
            owners[name] = owner
            line = text.count("\n", 0, match.start()) + 1
            uses += [(path, line, owner, used) for used in re.findall(r"\bassay::(\w+)", body)]
    for path, line, owner, used in uses:
        if used in owners and not table.allows(owner, owners[used]):
            yield Finding(path, line, f"{owner} may not link {owners[used]} (assay::{used})")


_README_LINES = range(2, 6)


def _check_rooms(table, root, paths):
    """Rows, folders and README.md files of houses and their rooms."""
    for folder, room in table.intruders():
        yield Finding(TABLE, 1, f"{folder} lies outside of {table.house(room)} and may not name its room {room}")
    houses = {table.house(folder) for folder in table.folders} - {None}
    rooms = set()
    for path in paths:
        if not path.endswith(sources.CPP):
            continue
        folder = table.folder(path)
        if table.house(folder):
            rooms.add(folder)
        elif folder in houses and os.path.dirname(path) != folder:
            yield Finding(path, 1, f"{os.path.dirname(path)} is no room of {folder} in {TABLE}")
    for room in sorted(rooms):
        readme = root / room / "README.md"
        text = sources.read(readme) if readme.is_file() else None
        lines = [line for line in (text or "").splitlines() if line and not line.startswith("#")]
        if len(lines) not in _README_LINES:
            yield Finding(f"{room}/README.md", 1, "a room says its rule in two to five lines")


def check(root):
    table = Table((root / TABLE).read_text())
    findings = []
    cycle = table.cycle()
    if cycle:
        findings.append(Finding(TABLE, 1, "cycle in the table: " + " -> ".join(cycle)))
    paths = sources.list_files(root)
    graph = {}
    for path in paths:
        if not path.endswith(sources.CPP):
            continue
        if table.folder(path) is None:
            findings.append(Finding(path, 1, f"folder without a policy in {TABLE}"))
            continue
        for line, operand in includes(sources.read(root / path) or ""):
            match = _LITERAL.fullmatch(operand)
            if not match:
                findings.append(Finding(path, line, f"include is not literal: {operand}"))
            elif match.group(1):
                findings += _check_project(table, root, path, line, match.group(1))
                graph.setdefault(path, []).append(match.group(1))
            else:
                findings += _check_external(table, path, line, match.group(2))
    cycle = find_cycle(graph)
    if cycle:
        findings.append(Finding(cycle[0], 1, "include cycle: " + " -> ".join(cycle)))
    findings += _check_links(table, root, paths)
    findings += _check_rooms(table, root, paths)
    return findings


if __name__ == "__main__":
    sources.main(check)
