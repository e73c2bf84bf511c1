# SPDX-License-Identifier: Apache-2.0
"""Weights of programs that have no PyTorch."""
from __future__ import annotations

from typing import Iterator, Mapping, Sequence, Tuple

from . import _memory
from ._errors import ModelError
from ._wire import MAX_TENSORS, MAX_TEXT

_ALIGN = 64  # bytes


class SharedTensors(Mapping[str, memoryview]):
    """Tensors in one memory file, which the node agent maps: for runtimes other than PyTorch.

    `tensors`: name -> (dtype as safetensors names it, such as "BF16"; shape; content, row-major).
    The contents are copied. self[name] are the bytes of a tensor, writable: what is written there
    is what the node agent sees, so that a program has to compute with these bytes. Errors: ModelError.
    """

    def __init__(self, tensors: Mapping[str, Tuple[str, Sequence[int], bytes]]) -> None:
        if not 0 < len(tensors) <= MAX_TENSORS:
            raise ModelError(f"{len(tensors)} tensors, 1 to {MAX_TENSORS} expected")
        for name in tensors:
            if not isinstance(name, str) or not 0 < len(name) <= MAX_TEXT:
                raise ModelError(f"a tensor's name is text of 1 to {MAX_TEXT} characters, not {name!r:.80}")
        self.layout = {}  # name -> (dtype, shape, offset, size)
        size = 0
        for name, (dtype, shape, content) in tensors.items():
            self.layout[name] = (dtype, list(shape), size, len(content))
            size += -(-len(content) // _ALIGN) * _ALIGN
        self.mapping = _memory.new_arena(size)  # keeps the memory
        for name, (_, _, content) in tensors.items():
            self[name][:] = content

    def __getitem__(self, name: str) -> memoryview:
        _, _, offset, size = self.layout[name]
        return memoryview(self.mapping)[offset:offset + size]

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout)

    def __len__(self) -> int:
        return len(self.layout)
