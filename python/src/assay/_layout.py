# SPDX-License-Identifier: Apache-2.0
"""From a model to a registration: pieces of memory, and each tensor as parts of them."""
from __future__ import annotations

import bisect
import ctypes
import os
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _cuda, _memory, _model
from ._errors import ModelError, NonContiguous
from ._hints import PAGE, Hints
from ._move import move_to_memory_files
from ._shared import SharedTensors
from ._wire import MAX_CAUSE, MAX_PARTS, MAX_PIECES, MAX_TEXT, WINDOW

MAX_RUNS = 65536  # of one tensor


class Moved(Exception):
    """A piece is no longer the memory that was registered."""


class Piece:
    """Memory that the node agent reads as one. Bytes [start, start + size) of a space of addresses."""

    kind = ""
    cause = ""

    def __init__(self, start: int, size: int) -> None:
        self.start, self.size = start, size

    def touch(self, address: int, size: int) -> None:
        """Bytes of a tensor lie here."""

    def export(self, maps: Optional[_memory.Mappings]) -> int:
        """A fresh descriptor. Errors: Moved, OSError."""
        raise NotImplementedError

    def check(self, maps: Optional[_memory.Mappings]) -> bool:
        """Whether it is still the memory that was registered."""
        return True

    def read(self, destination: int, offset: int, size: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class HostPiece(Piece):
    kind = "host"

    def __init__(self, arena: _memory.Arena) -> None:
        super().__init__(arena.base, arena.size)
        self.arena = arena
        self._mapping = arena.mapping()  # keeps it mapped

    def check(self, maps: Optional[_memory.Mappings]) -> bool:
        return maps is not None and self.arena.mapped_at(maps)

    def export(self, maps: Optional[_memory.Mappings]) -> int:
        if not self.check(maps):
            raise Moved
        return _memory.reopen(self.arena.fd)


class DevicePiece(Piece):
    """An allocation that the driver exports. Its handle is held, so that no other gets its value."""

    kind = "device"

    def __init__(self, driver: Any, start: int, size: int, handle: int) -> None:
        super().__init__(start, size)
        self._driver, self._handle = driver, handle

    def _now(self) -> int:
        try:
            return int(self._driver.retain(self.start))
        except _cuda.DriverError:
            raise Moved from None

    def check(self, maps: Optional[_memory.Mappings]) -> bool:
        try:
            now = self._now()
        except Moved:
            return False
        self._driver.release(now)
        return now == self._handle

    def export(self, maps: Optional[_memory.Mappings]) -> int:
        now = self._now()
        try:
            if now != self._handle:
                raise Moved
            return int(self._driver.export(now))
        finally:
            self._driver.release(now)

    def close(self) -> None:
        try:
            self._driver.release(self._handle)
        except _cuda.DriverError:
            pass  # the driver has shut down


class StagedPiece(Piece):
    """What cannot be exported: of its memory the part that tensors lie in."""

    kind = "staged"

    def __init__(self, cause: str) -> None:
        super().__init__(0, 0)
        self.cause = cause

    def touch(self, address: int, size: int) -> None:
        end = max(self.start + self.size, address + size)
        self.start = min(self.start, address) if self.size else address
        self.size = end - self.start


class StagedHost(StagedPiece):
    def read(self, destination: int, offset: int, size: int) -> None:
        ctypes.memmove(destination, self.start + offset, size)


class StagedCuda(StagedPiece):
    def __init__(self, cause: str, driver: Any, ordinal: int) -> None:
        super().__init__(cause)
        self._driver, self._ordinal = driver, ordinal

    def read(self, destination: int, offset: int, size: int) -> None:
        self._driver.copy_to_host(self._ordinal, destination, self.start + offset, size)


class StagedTorch(StagedPiece):
    """Memory of any other device: PyTorch copies it. Addresses count from the start of the storage."""

    def __init__(self, cause: str, storage: Any) -> None:
        super().__init__(cause)
        t = _model.torch()
        self._bytes = t.empty(0, dtype=t.uint8, device=storage.device).set_(storage)

    def read(self, destination: int, offset: int, size: int) -> None:
        copy = self._bytes[self.start + offset:self.start + offset + size].cpu()
        ctypes.memmove(destination, copy.data_ptr(), size)


def runs(name: str, shape: Sequence[int], stride: Sequence[int], width: int) -> Iterator[Tuple[int, int]]:
    """(offset, size) in bytes of what lies together, row-major. Errors: NonContiguous."""
    outer = [(n, s * width) for n, s in zip(shape, stride) if n != 1]
    size = width
    while outer and outer[-1][1] == size:
        size *= outer.pop()[0]
    count = 1
    for n, _ in outer:
        count *= n
    if count > MAX_RUNS:
        raise NonContiguous(f"tensor {name!r} of shape {tuple(shape)} lies in memory with strides "
                            f"{tuple(stride)}, in {count} pieces. Store it with .contiguous()")
    at = [0] * len(outer)
    offset = 0
    for _ in range(count):
        yield offset, size
        for axis in range(len(outer) - 1, -1, -1):
            at[axis] += 1
            offset += outer[axis][1]
            if at[axis] < outer[axis][0]:
                break
            offset -= at[axis] * outer[axis][1]
            at[axis] = 0


@dataclass
class Plan:
    """A registration, and what is needed to answer for it."""

    inventory: _model.Inventory
    pieces: List[Piece]
    tensors: List[Dict[str, Any]]  # as in the frame `register`
    device: str
    driver: Any  # None: no memory of CUDA
    home: int  # number of the CUDA device
    _storages: List[Any]  # kept alive
    window: Optional[Tuple[int, Any, int]] = None  # descriptor, mapping, address
    hints: Optional[Hints] = None  # the page that goes with it; not closed with the plan
    layout: Union[None, str, Mapping[str, Any]] = None  # "published:...", or how the tensors follow from those of the files

    def exportable(self) -> List[int]:
        """Numbers of the pieces that have a descriptor; then of the window and the page of hints."""
        numbers = [number for number, piece in enumerate(self.pieces) if piece.kind != "staged"]
        extra = (self.window is not None) + (self.hints is not None)
        return numbers + [len(self.pieces) + number for number in range(extra)]

    def maps(self) -> Optional[_memory.Mappings]:
        """What piece.check() and piece.export() compare with, if there is a piece that needs it."""
        return _memory.Mappings() if any(p.kind == "host" for p in self.pieces) else None

    def export(self, number: int, maps: Optional[_memory.Mappings]) -> int:
        if number == len(self.pieces) and self.window:
            return _memory.reopen(self.window[0])
        if number >= len(self.pieces) and self.hints is not None:
            return _memory.reopen(self.hints.fileno())
        return self.pieces[number].export(maps)

    def names_in(self, number: int) -> List[str]:
        return [entry["names"][0] for entry in self.tensors
                if any(part[0] == number for part in entry["parts"])]

    def _names_below(self, path: str) -> List[str]:
        """Names of the tensors of a module; the path itself if it is new."""
        found = [slot.name for slot in self.inventory.slots
                 if slot.tensor is not None and slot.path.startswith(path + ".")]
        return found or [path[:MAX_TEXT]]

    def frame(self, artifact: str, instance: str, rank: int, world: int) -> Dict[str, Any]:
        return {
            "type": "register", "artifact": artifact, "instance": instance, "rank": rank,
            "world": world, "device": self.device,
            "pieces": [{"size": p.size, "kind": p.kind, "cause": p.cause[:MAX_CAUSE]} for p in self.pieces],
            "tensors": self.tensors,
            "uncovered": {"count": self.inventory.uncovered_count,
                          "bytes": self.inventory.uncovered_bytes},
            "window": WINDOW if self.window else 0,
            **({"hints": PAGE} if self.hints is not None else {}),
            **self._laid_out(),
        }

    def _laid_out(self) -> Dict[str, Any]:
        if self.layout is None:
            return {}
        if isinstance(self.layout, str):
            return {"published": self.layout[len("published:"):]}
        return {"layout": self.layout}

    def check(self) -> Iterator[List[str]]:
        """One look at everything, in small steps; yields the names of what changed in each."""
        for at in range(0, len(self.inventory.slots), 128):
            yield [slot.name for slot in self.inventory.slots[at:at + 128] if not slot.same()]
        for at in range(0, len(self.inventory.shape), 128):
            yield [name for keys in self.inventory.shape[at:at + 128] for path in keys.changes()
                   for name in self._names_below(path)]
        maps = self.maps()
        for at in range(0, len(self.pieces), 64):
            bad = [n for n in range(at, min(at + 64, len(self.pieces))) if not self.pieces[n].check(maps)]
            yield [name for number in bad for name in self.names_in(number)]

    def close(self) -> None:
        for piece in self.pieces:
            piece.close()
        if self.window:
            fd, mapping, _ = self.window
            self.window = None
            mapping.close()
            os.close(fd)
        self.pieces, self._storages = [], []


def device_of(tensor: Any) -> Tuple[str, int]:
    """Kind and number of the device that a tensor lies on."""
    return tensor.device.type, tensor.device.index or 0


class _Builder:
    def __init__(self, causes: Dict[int, str]) -> None:
        self._causes = causes  # of CPU storages that were not moved, by address
        self.pieces: Dict[Any, Piece] = {}
        self._starts: List[int] = []  # of CUDA mappings, ascending
        self._mapped: List[Piece] = []  # beside _starts
        self._ends: List[int] = []
        self._exports: Dict[Any, str] = {}  # by kind of allocation: why it cannot be exported
        self.driver: Any = None
        self.no_driver = ""
        self.home = 0  # number of the CUDA device that most bytes lie on
        self.ordinals: List[int] = []

    def choose_device(self, tensors: Sequence[_model.Tensor]) -> None:
        sizes: Dict[int, int] = {}
        for entry in tensors:
            kind, ordinal = device_of(entry.tensor)
            if kind == "cuda":
                bytes_ = entry.tensor.numel() * entry.tensor.element_size()
                sizes[ordinal] = sizes.get(ordinal, 0) + bytes_
        if not sizes:
            return
        self.ordinals = sorted(sizes)
        self.home = max(sizes, key=lambda ordinal: sizes[ordinal])
        try:
            self.driver = _cuda.load()
        except OSError as error:
            self.no_driver = f"no CUDA driver: {error}"

    def segments(self, tensor: Any, offset: int, size: int) -> Iterator[Tuple[Piece, int, int]]:
        """(piece, address, size) of a run that begins this far into a tensor."""
        kind, ordinal = device_of(tensor)
        address = tensor.data_ptr() + offset
        if kind == "cuda" and self.driver is not None:
            yield from self._cuda(ordinal, address, size)
            return
        if kind == "cpu":
            piece = self._host(tensor, address, size)
        else:
            cause = self.no_driver if kind == "cuda" else f"memory of a device {kind}"
            storage = tensor.untyped_storage()
            piece = self._once((kind, ordinal, storage.data_ptr()), lambda: StagedTorch(cause, storage))
            address -= storage.data_ptr()
        piece.touch(address, size)
        yield piece, address, size

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self.pieces:
            self.pieces[key] = make()
        return self.pieces[key]

    def _host(self, tensor: Any, address: int, size: int) -> Piece:
        arena = _memory.find(address, size)
        if arena is not None:
            return self._once(("arena", arena.base), lambda: HostPiece(arena))  # type: ignore[no-any-return]
        storage = tensor.untyped_storage().data_ptr()
        cause = self._causes.get(storage, "not in a memory file")
        return self._once(("host", storage), lambda: StagedHost(cause))  # type: ignore[no-any-return]

    def _cuda(self, ordinal: int, address: int, size: int) -> Iterator[Tuple[Piece, int, int]]:
        while size > 0:
            at = bisect.bisect_right(self._starts, address) - 1
            if at < 0 or address >= self._ends[at]:
                self.driver.enter(ordinal)
                start, length = self.driver.address_range(address)
                piece = self._once(("cuda", start), lambda: self._cuda_piece(ordinal, start, length))
                self._starts.insert(at + 1, start)
                self._ends.insert(at + 1, start + length)
                self._mapped.insert(at + 1, piece)
                continue
            piece, taken = self._mapped[at], min(size, self._ends[at] - address)
            piece.touch(address, taken)
            yield piece, address, taken
            address += taken
            size -= taken

    def _cuda_piece(self, ordinal: int, start: int, size: int) -> Piece:
        if ordinal != self.home:
            return StagedCuda(f"on another device (cuda:{ordinal})", self.driver, ordinal)
        try:
            handle = self.driver.retain(start)
        except _cuda.DriverError:
            return StagedCuda("cudaMalloc", self.driver, ordinal)
        cause = self._why_not(handle)
        if cause:
            self.driver.release(handle)
            return StagedCuda(cause, self.driver, ordinal)
        return DevicePiece(self.driver, start, size, handle)

    def _why_not(self, handle: int) -> str:
        """Why an allocation cannot be exported, found out by exporting one of its kind; or ""."""
        try:
            kind: Any = self.driver.handle_types(handle)
        except _cuda.DriverError:
            kind = handle
        if kind not in self._exports:
            try:
                os.close(self.driver.export(handle))
                self._exports[kind] = ""
            except _cuda.DriverError as error:
                self._exports[kind] = _cuda.why_not_exportable(self.driver, handle, error)
        return self._exports[kind]


def _of_shared(shared: SharedTensors) -> Plan:
    """Without PyTorch."""
    arena = _memory.find(_memory.address_of(shared.mapping), len(shared.mapping))
    assert arena is not None  # it lives as long as the mapping
    tensors = [{"names": [name], "dtype": dtype, "shape": shape,
                "parts": [[0, offset, size]] if size else []}
               for name, (dtype, shape, offset, size) in shared.layout.items()]
    return Plan(_model.Inventory(), [HostPiece(arena)], tensors, device="", driver=None, home=0,
                _storages=[shared])


def build(model: Any, names: Optional[Mapping[str, str]] = None) -> Plan:
    """Plans a registration; moves CPU tensors into memory files. Errors: ModelError and its kinds."""
    if isinstance(model, SharedTensors):
        if names:
            raise ModelError("names= is for models of PyTorch: SharedTensors have the manifest's names")
        return _of_shared(model)
    t = _model.torch()
    inventory = _model.take(model, names)
    causes = move_to_memory_files(t, inventory)
    for slot in inventory.slots:
        if slot.tensor is not None:
            slot.seen = _model.look(slot.tensor)
    builder = _Builder(causes)
    builder.choose_device(inventory.tensors)
    if t.cuda.is_initialized():
        for ordinal in builder.ordinals:
            t.cuda.synchronize(ordinal)
    try:
        return _finish(builder, inventory)
    except BaseException:
        for piece in builder.pieces.values():
            piece.close()
        raise


def _finish(builder: _Builder, inventory: _model.Inventory) -> Plan:
    segments = []
    for entry in inventory.tensors:
        tensor = entry.tensor
        found: List[Tuple[Piece, int, int]] = []
        if tensor.numel():
            for offset, size in runs(entry.names[0], tensor.shape, tensor.stride(), tensor.element_size()):
                for piece, address, taken in builder.segments(tensor, offset, size):
                    if found and found[-1][0] is piece and found[-1][1] + found[-1][2] == address:
                        found[-1] = (piece, found[-1][1], found[-1][2] + taken)
                    else:
                        found.append((piece, address, taken))
        segments.append(found)
    pieces = list(builder.pieces.values())
    if len(pieces) > MAX_PIECES or sum(map(len, segments)) > MAX_PARTS:
        raise ModelError(f"the weights lie in {len(pieces)} pieces of memory and "
                         f"{sum(map(len, segments))} parts, at most {MAX_PIECES} and {MAX_PARTS}")
    number = {id(piece): at for at, piece in enumerate(pieces)}
    tensors = [{
        "names": entry.names, "dtype": entry.dtype, "shape": list(entry.tensor.shape),
        "parts": [[number[id(piece)], address - piece.start, size] for piece, address, size in found],
    } for entry, found in zip(inventory.tensors, segments)]
    _refuse_overlaps(tensors)
    window = None
    if any(piece.kind == "staged" for piece in pieces):
        fd, mapping = _memory.create(WINDOW)
        window = fd, mapping, _memory.address_of(mapping)
    return Plan(
        inventory, pieces, tensors,
        device=builder.driver.uuid(builder.home) if any(p.kind == "device" for p in pieces) else "",
        driver=builder.driver, home=builder.home,
        _storages=[entry.tensor.untyped_storage() for entry in inventory.tensors], window=window)


def _refuse_overlaps(tensors: Sequence[Dict[str, Any]]) -> None:
    rows = sorted((part[0], part[1], part[1] + part[2], at)
                  for at, tensor in enumerate(tensors) for part in tensor["parts"])
    for before, after in zip(rows, rows[1:]):
        if before[0] == after[0] and after[1] < before[2]:
            one, two = tensors[before[3]]["names"][0], tensors[after[3]]["names"][0]
            if one == two:
                raise NonContiguous(f"tensor {one!r} shows the same bytes several times, as expand() does. "
                                    "Store it with .contiguous()")
            raise ModelError(f"tensors {one!r} and {two!r} share some of their bytes and are not the same")
