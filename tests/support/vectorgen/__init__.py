# SPDX-License-Identifier: Apache-2.0
"""Builders of the golden vectors, one module per file in tests/vectors."""
import importlib
import json

FILES = ("tree", "artifact", "safetensors", "gguf", "paths", "jcs", "dsse", "log", "nodes", "casts")


def render(name):
    """The bytes of tests/vectors/NAME.json: one line per member, one line per list item."""
    document = importlib.import_module("vectorgen." + name + "_vectors").build()
    comment = {
        "what": document.pop("what"),
        "source": document.pop("source"),
        "generator": "python3 tests/support/make_vectors.py " + name,
        "licence": "Apache-2.0",
    }
    lines = ["{", ' "_comment": ' + _text(comment)]
    for key, value in document.items():
        lines[-1] += ","
        if isinstance(value, list) and value:
            lines.append(f" {_text(key)}: [")
            lines += ["  " + _text(item) + "," for item in value]
            lines[-1] = lines[-1][:-1]
            lines.append(" ]")
        else:
            lines.append(f" {_text(key)}: {_text(value)}")
    lines.append("}")
    return ("\n".join(lines) + "\n").encode("ascii")


def _text(value):
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def painted(size):
    """The pattern of the vectors: byte i is i mod 251."""
    period = bytes(range(251))
    return (period * (size // 251 + 1))[:size]
