# SPDX-License-Identifier: Apache-2.0
"""Hints: when a step runs and when the process is idle, in a page that others can read."""
from __future__ import annotations

import mmap
import os
import time

from . import _memory

SIZE = 64  # bytes used of the page
_MAGIC = int.from_bytes(b"ASSAYHNT", "little")
_VERSION = 1
_WORD_MAGIC, _WORD_VERSION, _WORD_BEGUN, _WORD_ENDED, _WORD_IDLE_UNTIL = range(5)


class Hints:
    """Counters in a sealed memory file; layout: docs/python.md. One thread writes.

    Protocol version 1 has no frame that hands the page over, so no node agent reads it yet.

        hints = assay.Hints()
        with hints:            # one step
            model(batch)
        hints.idle_for(0.002)  # no step within 2 ms
    """

    def __init__(self) -> None:
        self._fd = _memory.create(mmap.PAGESIZE)
        self._mapping = mmap.mmap(self._fd, mmap.PAGESIZE, mmap.MAP_SHARED,
                                  mmap.PROT_READ | mmap.PROT_WRITE)
        # Aligned words of 8 bytes, which are stored whole.
        self._words = memoryview(self._mapping).cast("Q")
        self._words[_WORD_VERSION] = _VERSION
        self._words[_WORD_MAGIC] = _MAGIC

    def begin(self) -> None:
        """A step begins; ends what idle_until() said."""
        self._words[_WORD_IDLE_UNTIL] = 0
        self._words[_WORD_BEGUN] += 1

    def end(self) -> None:
        """A step ended."""
        self._words[_WORD_ENDED] += 1

    def idle_until(self, monotonic_ns: int) -> None:
        """No step begins before this time (time.monotonic_ns())."""
        self._words[_WORD_IDLE_UNTIL] = monotonic_ns

    def idle_for(self, seconds: float) -> None:
        self._words[_WORD_IDLE_UNTIL] = time.monotonic_ns() + int(seconds * 1e9)

    def __enter__(self) -> "Hints":
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def fileno(self) -> int:
        """Descriptor of the page, for whoever reads it."""
        return self._fd

    def close(self) -> None:
        if self._fd >= 0:
            self._words.release()
            self._mapping.close()
            os.close(self._fd)
            self._fd = -1
