# SPDX-License-Identifier: Apache-2.0
"""Hints: when a step runs and when the process is idle, in a page that the node agent reads."""
from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import Any, Iterator

from . import _memory
from ._errors import HintsError

SIZE = 64  # bytes used of the page
PAGE = 4096  # bytes of the page, whatever the machine's pages are
LONGEST = 3600.0  # seconds of idleness that count
_MAGIC = int.from_bytes(b"ASSAYHNT", "little")
_VERSION = 1
_WORD_MAGIC, _WORD_VERSION, _WORD_BEGUN, _WORD_ENDED, _WORD_IDLE_UNTIL = range(5)


_all: "weakref.WeakSet[Hints]" = weakref.WeakSet()


def _closed() -> HintsError:
    return HintsError("the page of hints is closed")


def _after_fork() -> None:
    """In a child process: the page is the parent's, who says there when its own steps run."""
    for hints in list(_all):
        hints._leave()


class Hints:
    """Counters in a sealed memory file; layout: docs/python.md. One thread writes.

    Each registration has one, `registration.hints`; several may share one (`hints=` of register()).

        with registration.hints:            # one step
            model(batch)
        registration.hints.idle_for(0.002)  # no step within 2 ms

    In a child process after fork() the page is out of reach, since it is the parent's: calls do
    nothing there, and what is registered there needs hints of its own.

    HintsError: end() without begin(), times that mean nothing, a page that is closed.
    """

    def __init__(self) -> None:
        self._fd, self._mapping = _memory.create(PAGE)
        # Aligned words of 8 bytes, which are stored whole.
        self._words = memoryview(self._mapping).cast("Q")
        self._words[_WORD_VERSION] = _VERSION
        self._words[_WORD_MAGIC] = _MAGIC
        self._inherited = False
        _all.add(self)

    def _leave(self) -> None:
        """Counts on in memory of this process, which nobody reads."""
        if self._fd >= 0:
            counted = bytearray(self._words.tobytes()[:SIZE])
            self.close()
            self._inherited, self._words = True, memoryview(counted).cast("Q")

    def begin(self) -> None:
        """A step begins; ends what idle_until() said. Steps may lie in one another."""
        words = self._words
        try:
            words[_WORD_IDLE_UNTIL] = 0
            words[_WORD_BEGUN] += 1
        except ValueError:
            raise _closed() from None

    def end(self) -> None:
        """A step ended."""
        words = self._words
        try:
            if words[_WORD_ENDED] < words[_WORD_BEGUN]:
                words[_WORD_ENDED] += 1
                return
        except ValueError:
            raise _closed() from None
        raise HintsError("end() without begin(): no step runs")

    def idle_until(self, monotonic_ns: int) -> None:
        """No step begins before this time (time.monotonic_ns()); 0: it is not known."""
        if not isinstance(monotonic_ns, int) or not 0 <= monotonic_ns < 1 << 63:
            raise HintsError(f"idle_until takes a time of time.monotonic_ns(), not {monotonic_ns!r}")
        try:
            self._words[_WORD_IDLE_UNTIL] = monotonic_ns
        except ValueError:
            raise _closed() from None

    def idle_for(self, seconds: float) -> None:
        """No step begins within so many seconds, an hour at most: say it again then."""
        if not 0 <= seconds <= LONGEST:
            raise HintsError(f"idle_for takes 0 to {LONGEST:.0f} seconds, not {seconds!r}")
        try:
            self._words[_WORD_IDLE_UNTIL] = time.monotonic_ns() + int(seconds * 1e9)
        except ValueError:
            raise _closed() from None

    @property
    def in_step(self) -> bool:
        """Whether a step has begun and not ended."""
        try:
            return self._words[_WORD_BEGUN] != self._words[_WORD_ENDED]
        except ValueError:
            raise _closed() from None

    @contextlib.contextmanager
    def follow(self, model: Any) -> Iterator[None]:
        """Within it each call of this torch.nn.Module is a step; other models are not followed.

        Calls may come from several threads. On a GPU a call ends before its work does: begin() and
        end() around what waits for the result say more.
        """
        lock, handles = threading.Lock(), []

        def begin(*_: Any) -> None:
            with lock:
                self.begin()

        def end(*_: Any) -> None:
            with lock, contextlib.suppress(HintsError):  # begin() failed, and said why
                self.end()

        try:
            with contextlib.suppress(AttributeError, NotImplementedError, RuntimeError):
                handles.append(model.register_forward_hook(end, always_call=True))
                handles.append(model.register_forward_pre_hook(begin))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def __enter__(self) -> "Hints":
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def fileno(self) -> int:
        """Descriptor of the page. HintsError when it is closed, or the page of a parent process."""
        if self._inherited:
            raise HintsError("the page of hints is that of the parent process: make one after fork()")
        if self._fd < 0:
            raise _closed()
        return self._fd

    def close(self) -> None:
        self._words.release()
        if self._fd >= 0:
            self._mapping.close()
            os.close(self._fd)
            self._fd = -1


os.register_at_fork(after_in_child=_after_fork)
