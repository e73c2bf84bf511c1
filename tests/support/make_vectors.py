# SPDX-License-Identifier: Apache-2.0
"""Rebuild the golden vectors in tests/vectors from the reference implementation.

    python3 tests/support/make_vectors.py            write all files
    python3 tests/support/make_vectors.py --check    write nothing; exit 1 if a file would change
    python3 tests/support/make_vectors.py NAME...    only these (tree, artifact, ...)

The output depends on nothing but this folder: a rebuild is byte-identical.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

from vectorgen import FILES, render  # noqa: E402

TARGET = os.path.join(os.path.dirname(HERE), "vectors")


def main(argv):
    check = "--check" in argv
    names = [name for name in argv[1:] if name != "--check"] or list(FILES)
    if any(name not in FILES for name in names):
        print(__doc__, file=sys.stderr)
        return 2
    changed = 0
    for name in names:
        path = os.path.join(TARGET, name + ".json")
        wanted = render(name)
        present = None
        if os.path.exists(path):
            with open(path, "rb") as stream:
                present = stream.read()
        if present == wanted:
            continue
        changed += 1
        print(("differs: " if check else "wrote ") + os.path.relpath(path), file=sys.stderr)
        if not check:
            with open(path, "wb") as stream:
                stream.write(wanted)
    return 1 if check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
