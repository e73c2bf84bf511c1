# SPDX-License-Identifier: Apache-2.0
"""docs/python.md does what it says: its Python blocks run, one after the other, in one namespace."""
import pathlib
import re

import assay
from assay import _hints, _registration
from conftest import manifest_of, needs_torch

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"


@needs_torch
def test_examples_run(agent, monkeypatch):
    monkeypatch.setitem(_registration.register.__kwdefaults__, "socket", agent.path)
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 8
    namespace = {}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"docs/python.md, block {number}", "exec"), namespace)
        if number == 1:
            agent.manifest = manifest_of(namespace["model"].state_dict())
    assert len(agent.of("register")) == 6 and agent.states[-1][0] == "verified"


def test_every_error_is_on_the_page():
    text = PAGE.read_text()
    kinds = [name for name in assay.__all__ if isinstance(getattr(assay, name), type) and
             issubclass(getattr(assay, name), Exception)]
    assert len(kinds) > 8
    for name in kinds:
        assert f"`{name}`" in text, name


def test_the_layout_of_hints_is_that_of_the_page():
    text = PAGE.read_text()
    assert f"{_hints.SIZE} bytes" in text
    words = re.findall(r"uint64_t (\w+);", text)
    assert words == ["magic", "version", "begun", "ended", "idle_until"]
    assert [_hints._WORD_MAGIC, _hints._WORD_VERSION, _hints._WORD_BEGUN, _hints._WORD_ENDED,
            _hints._WORD_IDLE_UNTIL] == list(range(5))
