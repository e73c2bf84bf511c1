# SPDX-License-Identifier: Apache-2.0
"""Proposals of layouts (schemas/layout.md): how the tensors of a model follow from those of its files.

A proposal is made of names, dtypes and shapes alone, and is only this process's word: the node agent computes the bytes
that must lie in memory, and a policy says which layouts count. Tried for each tensor, in this order: the entry of its
name, the rows of the closed table (section 5 of the page).
"""
from __future__ import annotations

import collections
import json
import os
import pathlib
import re
import struct
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import ModelError
from ._model import Inventory

_MAX_HEADER = 100_000_000  # bytes, as safetensors bounds its own
_CASTS = {("F32", "BF16"), ("F32", "F16")}
_JOINED = {"qkv_proj": (("q_proj", "k_proj", "v_proj"), ("query", "key", "value")),
           "gate_up_proj": (("gate_proj", "up_proj"),)}
_STACKED = {"gate_up_proj": (("gate_proj", "up_proj"), ("w1", "w3")),
            "w13_weight": (("gate_proj", "up_proj"), ("w1", "w3")),
            "down_proj": (("down_proj",), ("w2",)), "w2_weight": (("down_proj",), ("w2",))}
_EXPERT = re.compile(r"(?:.*\.)?experts\.")


@dataclass(frozen=True)
class Entry:
    """A tensor of the files."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    file: str


Expression = Dict[str, Any]
_Made = Tuple[Expression, str, Tuple[int, ...], List[Entry]]  # what it is, dtype, shape, entries that it uses


def _short(name: str) -> str:
    """The name without what the table lets a program rename."""
    name = name[len("model."):] if name.startswith("model.") else name
    return ".".join("mlp" if part == "block_sparse_moe" else part for part in name.split("."))


def read_entries(files: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]]) -> List[Entry]:
    """The tensors of safetensors files, or of those in a folder. Errors: ModelError, OSError."""
    paths = [pathlib.Path(files)] if isinstance(files, (str, os.PathLike)) else [pathlib.Path(file) for file in files]
    found: List[Entry] = []
    for path in paths:
        root = path if path.is_dir() else path.parent
        for file in sorted(path.rglob("*.safetensors")) if path.is_dir() else [path]:
            found += _header(file, file.relative_to(root).as_posix())
    if not found:
        raise ModelError(f"no tensors in {', '.join(map(str, paths))}: give *.safetensors files, or their folder")
    return found


def _header(path: pathlib.Path, file: str) -> Iterator[Entry]:
    with open(path, "rb") as opened:
        size = struct.unpack("<Q", opened.read(8).ljust(8, b"\xff"))[0]
        if size > _MAX_HEADER:
            raise ModelError(f"{path} is no safetensors file")
        try:
            text = opened.read(size)
            if len(text) != size:
                raise ValueError("its header is cut")
            header = json.loads(text)
            for name, said in header.items():
                if name != "__metadata__":
                    yield Entry(name, str(said["dtype"]), tuple(int(one) for one in said["shape"]), file)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{path} is no safetensors file: {error}") from error


class _Entries:
    def __init__(self, entries: Sequence[Entry]) -> None:
        self.all = list(entries)
        self._by_short: Dict[str, List[Entry]] = {}
        for entry in entries:
            self._by_short.setdefault(_short(entry.name), []).append(entry)
        self._names = collections.Counter(entry.name for entry in entries)

    def of(self, short: str) -> Optional[Entry]:
        found = self._by_short.get(short, [])
        return found[0] if len(found) == 1 else None

    def expression(self, entry: Entry) -> Expression:
        return {"entry": entry.name, **({"file": entry.file} if self._names[entry.name] > 1 else {})}


def _join(parts: Sequence[_Made], axis: int, stacked: bool) -> Optional[_Made]:
    """Parts one behind the other, or along a new axis; None where their forms do not fit."""
    (_, dtype, shape, _), rest = parts[0], parts[1:]

    def others(one: Tuple[int, ...]) -> Tuple[int, ...]:
        return one if stacked else one[:axis] + one[axis + 1:]
    if any(one[1] != dtype or others(one[2]) != others(shape) for one in rest) or axis > len(shape) - (not stacked):
        return None
    size = len(parts) if stacked else sum(one[2][axis] for one in parts)
    made = shape[:axis] + (size,) + shape[axis + (not stacked):]
    operation = "stack" if stacked else "concat"
    return {operation: [one[0] for one in parts], "axis": axis}, dtype, made, [e for one in parts for e in one[3]]


class _Proposer:
    def __init__(self, entries: Sequence[Entry], rank: int = 0, world: int = 1) -> None:
        self._entries = _Entries(entries)
        self._rank, self._world = rank, world
        self._axis: Optional[int] = None  # along which entries are cut into `world` equal parts

    def _entry(self, short: str) -> Optional[_Made]:
        entry = self._entries.of(short)
        if entry is None:
            return None
        whole: Expression = self._entries.expression(entry)
        axis = self._axis
        if axis is None:
            return whole, entry.dtype, entry.shape, [entry]
        if axis >= len(entry.shape) or entry.shape[axis] % self._world:
            return None
        size = entry.shape[axis] // self._world
        return ({"slice": whole, "axis": axis, "start": self._rank * size, "size": size}, entry.dtype,
                entry.shape[:axis] + (size,) + entry.shape[axis + 1:], [entry])

    def _cuts(self) -> Sequence[Optional[int]]:
        """How a rank may hold entries: whole, by rows, by columns."""
        return (None,) if self._world == 1 else (None, 0, 1)

    def _candidates(self, short: str) -> Iterator[_Made]:
        whole = self._entry(short)
        if whole is not None:
            yield whole
        outer, _, last = short.rpartition(".")
        before, _, module = outer.rpartition(".")
        for modules in _JOINED.get(module, ()):
            prefix = before + "." if before else ""
            parts = [self._entry(f"{prefix}{one}.{last}") for one in modules]
            joined = None if None in parts else _join([part for part in parts if part], 0, False)
            if joined:
                yield joined
        if _EXPERT.fullmatch(outer + "."):
            for modules in _STACKED.get(last, ()):
                stacks = [self._experts(outer, one) for one in modules]
                if None not in stacks:
                    whole_stacks = [stack for stack in stacks if stack]
                    fused = whole_stacks[0] if len(stacks) == 1 else _join(whole_stacks, 1, False)
                    if fused:
                        yield fused

    def _experts(self, outer: str, module: str) -> Optional[_Made]:
        parts: List[_Made] = []
        while True:
            one = self._entry(f"{outer}.{len(parts)}.{module}.weight")
            if one is None:
                return _join(parts, 0, True) if parts else None
            parts.append(one)

    def tensor(self, names: Sequence[str], dtype: str, shape: Tuple[int, ...]) -> Tuple[str, Expression, List[Entry]]:
        tried = []
        for name, self._axis in ((name, axis) for name in names for axis in self._cuts()):
            for expression, made, form, used in self._candidates(_short(name)):
                if form == shape and made == dtype:
                    return name, expression, used
                if form == shape and (made, dtype) in _CASTS:
                    return name, {"cast": expression, "to": dtype}, used
                tried.append(f"{made} {list(form)} follows from {', '.join(entry.name for entry in used[:3])}")
        seen = "; ".join(tried) or "no entry has its name, and no row of the table makes it"
        raise ModelError(f"tensor {names[0]!r} ({dtype} {list(shape)}): {seen}")


def propose(inventory: Inventory, entries: Sequence[Entry], artifact: str,
            world: int = 1) -> Optional[Mapping[str, Any]]:
    """A layout of a model; None where each tensor is its entry. Errors: ModelError names the tensor.

    Of `world` ranks each holds tensors of these names and shapes: whole entries, or its share of their rows or columns.
    Entries in no tensor are `dropped`, and entries in several are `replicated`: such a layout counts only where a policy
    pins its digest, or a trusted signer signed it.
    """
    uses: "collections.Counter[Entry]" = collections.Counter()
    whole: "collections.Counter[Entry]" = collections.Counter()
    ranks, plain = [], world == 1
    for rank in range(world):
        tensors, held, cut, same = _of_rank(_Proposer(entries, rank, world), inventory)
        ranks.append({"tensors": tensors})
        uses.update(held)
        whole.update(held - cut)
        plain = plain and same
    if plain:
        return None
    expression = _Entries(entries).expression
    layout: Dict[str, Any] = {"artifact": artifact, "ranks": ranks}
    listed = {"dropped": [one for one in entries if one not in uses],
              "replicated": [one for one, count in whole.items() if count > 1]}
    for member, some in listed.items():
        if some:
            layout[member] = sorted((expression(one) for one in some),
                                    key=lambda one: (one["entry"].encode(), one.get("file", "").encode()))
    return layout


def _of_rank(proposer: _Proposer, inventory: Inventory) -> Tuple[
        List[Dict[str, Any]], "collections.Counter[Entry]", "collections.Counter[Entry]", bool]:
    """The tensors of one rank, the entries in them, those of which it has a share, and whether each is its entry."""
    tensors: List[Dict[str, Any]] = []
    uses: "collections.Counter[Entry]" = collections.Counter()
    cut: "collections.Counter[Entry]" = collections.Counter()
    plain = True
    for tensor in inventory.tensors:
        shape = tuple(tensor.tensor.shape)
        name, expression, used = proposer.tensor(tensor.names, tensor.dtype, shape)
        plain = plain and expression.get("entry") == name
        tensors.append({"name": name, "dtype": tensor.dtype, "shape": list(shape), "from": expression})
        uses.update(used)
        if proposer._axis is not None:
            cut.update(used)
    # Tied weights whose files have each of their names: all of these entries are in memory.
    taken = {one["name"] for one in tensors}
    for tensor in inventory.tensors:
        for name in tensor.names:
            entry = proposer._entries.of(_short(name))
            if name not in taken and entry is not None and entry not in uses:
                _, expression, used = proposer.tensor([name], tensor.dtype, tuple(tensor.tensor.shape))
                tensors.append({"name": name, "dtype": tensor.dtype, "shape": list(tensor.tensor.shape),
                                "from": expression})
                uses.update(used)
                if proposer._axis is not None:
                    cut.update(used)
    return sorted(tensors, key=lambda one: str(one["name"]).encode()), uses, cut, plain
