# SPDX-License-Identifier: Apache-2.0
"""Memory files: sealed, mapped shared, found again by address.

CPU weights are moved into arenas, so that the node agent can map the bytes that the model computes
with. An arena lives as long as a tensor lies in it; its file is open for as long.
"""
from __future__ import annotations

import bisect
import ctypes
import errno
import fcntl
import itertools
import mmap
import os
import re
import weakref
from typing import Dict, Iterator, List, Optional, Tuple

_F_ADD_SEALS = 1033
# F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_FUTURE_WRITE (Linux 5.1). With the last one only mappings that
# are there already can write, and nobody punches holes.
_SEALS = 0x2 | 0x4 | 0x10
_MFD_NOEXEC_SEAL = 0x8  # Linux 6.3
NAME = "assay-memory"
_MAPPED = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S\S\S(\S) ([0-9a-f]+) ([0-9a-f]+):([0-9a-f]+) (\d+) +/memfd:"
                     + NAME.encode() + rb"\b", re.MULTILINE)
_FILE = re.compile(rb"^([0-9a-f]+)-([0-9a-f]+) \S\S\S(\S) \S+ \S+ (\d+) +(\S[^\n]*)$", re.MULTILINE)
_PAGE = mmap.PAGESIZE


def create(size: int) -> Tuple[int, mmap.mmap]:
    """A memory file of this size that can neither shrink nor grow nor get holes: its descriptor, and
    the only mapping that writes to it."""
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        fd = os.memfd_create(NAME, flags | _MFD_NOEXEC_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        fd = os.memfd_create(NAME, flags)
    try:
        os.ftruncate(fd, size)
        mapping = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        fcntl.fcntl(fd, _F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(fd)
        raise
    return fd, mapping


def reopen(fd: int) -> int:
    """A descriptor of the same file that can only be read; the caller closes it."""
    return os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)


def address_of(mapping: mmap.mmap) -> int:
    view = (ctypes.c_char * len(mapping)).from_buffer(mapping)
    return ctypes.addressof(view)


class Arena:
    """A memory file and where it is mapped. Does not keep the mapping alive."""

    def __init__(self, mapping: mmap.mmap, fd: int) -> None:
        self.fd = fd
        self.base = address_of(mapping)
        self.size = len(mapping)
        found = os.fstat(fd)
        self._identity = (os.major(found.st_dev), os.minor(found.st_dev), found.st_ino)
        self.mapping = weakref.ref(mapping)

    def mapped_at(self, maps: "Mappings") -> bool:
        """Whether all its addresses still show this very file, at the same offsets."""
        at, end = self.base, self.base + self.size
        for start, stop, offset, identity in maps.from_address(self.base):
            if start > at or at >= end:
                break
            if identity != self._identity or at - self.base != offset + (at - start):
                return False
            at = stop
        return at >= end


class Mappings:
    """What /proc/self/maps says about shared mappings of memory files of this module."""

    def __init__(self) -> None:
        with open("/proc/self/maps", "rb") as file:
            text = file.read()
        rows: List[Tuple[int, int, int, Tuple[int, int, int]]] = []
        for match in _MAPPED.finditer(text):
            start, stop, shared, offset, major, minor, inode = match.groups()
            if shared == b"s":
                rows.append((int(start, 16), int(stop, 16), int(offset, 16),
                             (int(major, 16), int(minor, 16), int(inode))))
        self._rows = rows  # the kernel lists them by address
        self._starts = [row[0] for row in rows]

    def from_address(self, address: int) -> Iterator[Tuple[int, int, int, Tuple[int, int, int]]]:
        first = max(bisect.bisect_right(self._starts, address) - 1, 0)
        return itertools.islice(self._rows, first, None)


class PrivateFiles:
    """What /proc/self/maps says about files mapped privately, as loaders of safetensors map them."""

    def __init__(self) -> None:
        with open("/proc/self/maps", "rb") as file:
            text = file.read()
        self._rows: List[Tuple[int, int]] = []
        for match in _FILE.finditer(text):
            start, stop, shared, inode, path = match.groups()
            if shared == b"p" and inode != b"0" and path.startswith(b"/"):
                self._rows.append((int(start, 16), int(stop, 16)))

    def has(self, address: int) -> bool:
        return any(start <= address < stop for start, stop in self._rows)


_live: Dict[int, Arena] = {}  # by address


def new_arena(size: int) -> mmap.mmap:
    """A mapping of a new memory file of at least this size; find() finds its arena."""
    size = max(_PAGE, -(-size // _PAGE) * _PAGE)
    fd, mapping = create(size)
    try:
        os.close(reopen(fd))  # fails here rather than when the node agent asks
        arena = Arena(mapping, fd)
    except BaseException:
        os.close(fd)
        raise
    _live[arena.base] = arena
    weakref.finalize(mapping, _forget, arena.base, fd).atexit = False
    return mapping


def _forget(base: int, fd: int) -> None:
    _live.pop(base, None)
    os.close(fd)


def find(address: int, size: int) -> Optional[Arena]:
    """The arena that these bytes lie in, if one does."""
    for arena in list(_live.values()):
        if arena.base <= address and address + size <= arena.base + arena.size:
            return arena
    return None
