# SPDX-License-Identifier: Apache-2.0
"""Moves CPU tensors into memory files, storage by storage, without changing any tensor object.

A storage is moved only where every tensor that shows it is known: a view that stayed behind would
go on showing bytes that nobody checks.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Dict, List, Tuple

from . import _memory, _model

ARENA = 1 << 30  # bytes; a larger storage has an arena of its own
_ALIGN = 64  # bytes, as PyTorch aligns storages


class _Storage:
    def __init__(self, storage: Any) -> None:
        self.storage = storage
        self.tensors: List[Any] = []
        self.used = 0  # bytes from its start

    def add(self, tensor: Any) -> None:
        if any(tensor is known for known in self.tensors):
            return
        self.tensors.append(tensor)
        last = sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))
        self.used = max(self.used, (tensor.storage_offset() + last + 1) * tensor.element_size())


def move_to_memory_files(t: Any, inventory: _model.Inventory) -> Dict[int, str]:
    """Moves what can be moved; says of each other storage, by address, why it cannot."""
    found: Dict[int, _Storage] = {}
    tensors = [tensor for entry in inventory.tensors for tensor in entry.objects]
    registered = len(tensors)
    tensors += [tensor for _, tensor in inventory.others]
    for at, tensor in enumerate(tensors):
        if tensor.device.type != "cpu" or not tensor.numel() or tensor.layout != t.strided:
            continue
        storage = tensor.untyped_storage()
        if _memory.find(storage.data_ptr(), storage.nbytes()) is not None:
            continue
        if at < registered or storage.data_ptr() in found:
            found.setdefault(storage.data_ptr(), _Storage(storage)).add(tensor)
        del storage
    causes: Dict[int, str] = {}
    movable: List[_Storage] = []
    files = _memory.PrivateFiles() if found else None
    for address, one in found.items():
        cause = _why_not(t, one, files)
        if cause:
            causes[address] = cause
        else:
            movable.append(one)
    found.clear()
    del tensors
    movable.reverse()
    while movable:
        _fill_arena(t, movable, causes)
    return causes


def _why_not(t: Any, one: _Storage, files: Any) -> str:
    """Why a storage must stay where it is; or ""."""
    storage = one.storage
    if storage.is_shared():
        return "shared with other processes"
    if t.cuda.is_initialized() and storage.is_pinned():
        return "pinned memory"
    if not storage.resizable() and not files.has(storage.data_ptr()):
        return "memory that PyTorch did not allocate"
    count = getattr(t._C, "_storage_Use_Count", None)
    if count is None:
        return "this PyTorch does not count the uses of a storage"
    if count(storage._cdata) > _own_uses(t, count) + len(one.tensors) + _bases(t, one.tensors):
        return "tensors outside of the model show it"
    return ""


def _own_uses(t: Any, count: Any) -> int:
    """Uses of a storage that a Python object for it makes, beside those by tensors."""
    probe = t.empty(1)
    storage = probe.untyped_storage()
    return int(count(storage._cdata)) - 1


def _bases(t: Any, tensors: List[Any]) -> int:
    """Tensors that views were made from and that nothing else refers to."""
    # How many references PyTorch itself holds differs between versions: a base that surely has no
    # other tells.
    probe = t.empty(1).view(1)
    seen: List[Any] = [probe._base]
    for tensor in tensors:
        base = tensor._base
        if base is not None and all(base is not known for known in seen + tensors):
            seen.append(base)
        del base
    references = [sys.getrefcount(base) for base in seen]
    return sum(1 for count in references[1:] if count <= references[0])


def _fill_arena(t: Any, movable: List[_Storage], causes: Dict[int, str]) -> None:
    """Takes storages from the end of the list into one arena."""
    batch: List[Tuple[_Storage, int]] = []
    size = 0
    while movable and (not batch or size + movable[-1].used <= ARENA):
        batch.append((movable.pop(), size))
        size += -(-batch[-1][0].used // _ALIGN) * _ALIGN
    try:
        mapping = _memory.new_arena(size)
    except OSError as error:
        for one, _ in batch:
            causes[one.storage.data_ptr()] = f"no memory file: {error.strerror}"
        return
    base = _memory.address_of(mapping)
    batch.reverse()
    while batch:
        one, offset = batch.pop()
        ctypes.memmove(base + offset, one.storage.data_ptr(), one.used)
        room = t.frombuffer(mapping, dtype=t.uint8, offset=offset, count=one.used).untyped_storage()
        try:
            _replace(t, one, room)
        except RuntimeError as error:
            causes[one.storage.data_ptr()] = f"PyTorch refused: {str(error).splitlines()[0]}"[:200]


def _replace(t: Any, one: _Storage, room: Any) -> None:
    """Points the tensors at the new storage: all of them or none."""
    done: List[Tuple[Any, Any]] = []
    try:
        for tensor in one.tensors:
            before = tensor.detach()
            now = t.empty(0, dtype=tensor.dtype).set_(room, tensor.storage_offset(), tensor.size(),
                                                     tensor.stride())
            tensor.data = now
            done.append((tensor, before))
    except BaseException:
        for tensor, before in done:
            tensor.data = before
        raise
