# SPDX-License-Identifier: Apache-2.0
"""docs/limits.md says what the code does: each value is that of its constant, each test exists."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/limits.md"
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def value_of(text, file):
    """The value of a C++ constant expression of numbers and of constants of the same file's folder."""
    expression = re.sub(r"std::(?:u?int\w*|size_t)\{(\w+)\}", r"\1", text.strip()).replace("'", "")
    expression = re.sub(r"\b(0x[0-9A-Fa-f]+|\d+)[uUlL]+\b", r"\1", expression)
    for name in set(re.findall(r"\bk[A-Z]\w+", expression)):
        found = [constant(path, name) for path in sorted(file.parent.glob("*.h"))]
        value = next((one for one in found if one is not None), None)
        if value is None:
            return None
        expression = re.sub(rf"\b{name}\b", str(value), expression)
    expression = expression.replace("/", "//")
    return eval(expression) if re.fullmatch(r"[\d\s<>*/+()-]+", expression) else None


def constant(file, name):
    match = re.search(rf"\b{name}\s*(?:=\s*([^;]+);|\{{([^;]+)\}};)", file.read_text())
    return value_of(match[1] or match[2], file) if match else None


def check_row(cells, say):
    what, limit, cited, _, test = cells
    size = re.fullmatch(r"([\d,]+)(?: ([KMG]iB))?", limit)
    path, _, name = cited.strip("`").partition(":")
    file = ROOT / path
    if not size or not name or not file.is_file():
        say(f"{what}: a value and `file:constant` are needed")
        return
    value = int(size[1].replace(",", "")) * UNITS[size[2] or ""]
    actual = constant(file, name)
    if actual != value:
        say(f"{what}: {limit} here, {actual} in {path}:{name}")
    path, _, name = test.strip("`").partition(":")
    if not (ROOT / path).is_file() or name not in (ROOT / path).read_text():
        say(f"{what}: there is no test {test}")


def check(page, say):
    rows = 0
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 5 and cells[0] not in ("what", "---"):
            check_row(cells, say)
            rows += 1
    if rows < 20:
        say(f"only {rows} rows were read")


def main():
    errors = []
    check((ROOT / PAGE).read_text(), errors.append)
    for error in errors:
        print(f"{PAGE}: {error}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
