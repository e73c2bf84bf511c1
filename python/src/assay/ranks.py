# SPDX-License-Identifier: Apache-2.0
"""Whether the ranks of a training run hold the same weights: a root of each rank, compared every so many steps.

    check = assay.ranks.check(model, every=100)       # on every rank, after the process group was made

Silent corruption, a rank that missed a step or loaded another checkpoint: named by rank and tensor. Bytes are compared,
never casts. Plain tensors are compared over `group` (all ranks), a DTensor along each dimension of its mesh on which it
is replicated (HSDP: the replicate dimension).
"""
from __future__ import annotations

import collections
import hashlib
import os
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Sequence

from . import _model, _tags
from ._errors import AssayError, Finding, ModelError

__all__ = ["Check", "Difference", "Outcome", "RanksDiffer", "check", "publish", "received"]


@dataclass(frozen=True)
class Difference:
    """One tensor that is not the same on all ranks of a group."""

    tensor: str
    digests: Mapping[str, str]  # by rank, such as "rank 3 (dp 1, tp 1)": SHA-256 of its bytes, in hex
    suspects: Sequence[str]  # ranks with other bytes than most; all, where no bytes have most ranks
    again: bool  # False: the tags differed, but the bytes did not when they were read again


@dataclass(frozen=True)
class Outcome:
    """What one check found."""

    step: int
    seconds: float
    differences: Sequence[Difference]


class RanksDiffer(AssayError):
    """Ranks that should hold the same weights do not."""

    def __init__(self, outcome: Outcome) -> None:
        lines = [f"ranks differ after step {outcome.step}"]
        for one in outcome.differences:
            reading = "" if one.again else " (once: the bytes are equal when read again)"
            lines.append(f"tensor {one.tensor!r}: {', '.join(one.suspects)}{reading}")
        super().__init__("\n  ".join(lines))
        self.outcome = outcome


class _Set:
    """Tensors that a group of ranks shares."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self.names: list[str] = []
        self.seed = b""
        self.tagger: Any = None
        self.ranks: list[str] = []  # how each rank of the group is called


def _local(tensor: Any) -> Any:
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def _groups_of(tensor: Any, group: Any) -> list[Any]:
    if not hasattr(tensor, "placements"):
        return [group]
    mesh = tensor.device_mesh
    return [mesh.get_group(dimension) for dimension, placement in enumerate(tensor.placements)
            if placement.is_replicate() and mesh.size(dimension) > 1]


def _suspects(values: Mapping[str, Any]) -> list[str]:
    counted = collections.Counter(values.values()).most_common(2)
    most, count = counted[0]
    if len(counted) > 1 and counted[1][1] == count:
        return list(values)
    return [rank for rank, value in values.items() if value != most]


class Check:
    """Made by check(). All ranks of each group call now() together, as they call an all-reduce."""

    def __init__(self, model: Any, every: int, group: Any, buffers: bool, coordinates: Mapping[str, int],
                 on_difference: Optional[Callable[[Outcome], None]]) -> None:
        self._torch = _model.torch()
        self._distributed = self._torch.distributed
        if not self._distributed.is_available() or not self._distributed.is_initialized():
            raise AssayError("ranks are compared over a process group: call torch.distributed.init_process_group first")
        if every < 1:
            raise AssayError(f"every={every}: a check comes after 1 step or more")
        self._model, self._every, self._buffers = model, every, buffers
        self._on_difference = on_difference
        self._optimizers: dict[int, bool] = {}
        self.step = 0
        self.checks = 0
        self._handle: Any = None
        tensors = self._tensors()
        self._sets = self._make_sets(tensors, group)
        for one in self._sets:
            self._agree(one, tensors, coordinates)

    def _tensors(self) -> dict[str, Any]:
        found = dict(self._model.named_parameters())
        if self._buffers:
            found.update(self._model.named_buffers())
        return found

    def _make_sets(self, tensors: Mapping[str, Any], group: Any) -> list[_Set]:
        sets: dict[Any, _Set] = {}
        for name, tensor in tensors.items():
            for one in _groups_of(tensor, group or self._distributed.group.WORLD):
                sets.setdefault(one, _Set(one)).names.append(name)
        return list(sets.values())

    def _agree(self, one: _Set, tensors: Mapping[str, Any], coordinates: Mapping[str, int]) -> None:
        """The ranks of a group learn each other's names and one seed. Errors: ModelError for other tensors."""
        local = [_local(tensors[name]) for name in one.names]
        one.tagger = _tags.tagger_for(local)
        shapes = [(name, str(tensor.dtype), tuple(tensor.shape)) for name, tensor in zip(one.names, local)]
        rank = f"rank {self._distributed.get_rank()}"
        if coordinates:
            rank += " (" + ", ".join(f"{name} {place}" for name, place in coordinates.items()) + ")"
        told: list[Any] = [None] * self._distributed.get_world_size(one.group)
        self._distributed.all_gather_object(told, (rank, one.tagger.name, shapes, os.urandom(32)), group=one.group)
        one.ranks = [entry[0] for entry in told]
        one.seed = told[0][3]
        for other, name, theirs, _ in told:
            if name != one.tagger.name:
                raise ModelError(f"{other} tags with {name}, {rank} with {one.tagger.name}: other devices")
            for place, (wanted, found) in enumerate(zip(shapes, theirs)):
                if wanted != found:
                    raise ModelError(f"tensor {place} is {found} on {other}, {wanted} on {rank}")
            if len(shapes) != len(theirs):
                raise ModelError(f"{other} has {len(theirs)} tensors, {rank} {len(shapes)}")

    # --- a check

    def now(self) -> Outcome:
        """Compares now. Collective. Raises RanksDiffer, or calls `on_difference` and returns."""
        start = time.perf_counter()
        tensors = self._tensors()
        self.checks += 1
        differences = [found for one in self._sets for found in self._compare(one, tensors)]
        outcome = Outcome(self.step, time.perf_counter() - start, differences)
        if differences and self._on_difference is None:
            raise RanksDiffer(outcome)
        if differences and self._on_difference is not None:
            self._on_difference(outcome)
        return outcome

    def _compare(self, one: _Set, tensors: Mapping[str, Any]) -> list[Difference]:
        local = [_local(tensors[name]) for name in one.names]
        tags = one.tagger.tags(local, hashlib.sha256(one.seed + self.checks.to_bytes(8, "little")).digest())
        described = [f"{name} {tensor.dtype} {tuple(tensor.shape)}" for name, tensor in zip(one.names, local)]
        root = hashlib.sha256(repr(described).encode() + b"".join(tags)).digest()
        if len(set(self._gather_roots(one, root, local))) == 1:
            return []
        return self._differences(one, local, [text.encode() + tag for text, tag in zip(described, tags)])

    def _gather_roots(self, one: _Set, root: bytes, local: Sequence[Any]) -> list[bytes]:
        """The only exchange of a check that finds nothing: 32 bytes of each rank."""
        t = self._torch
        on_device = bool(local) and local[0].device.type == "cuda" and "nccl" in self._distributed.get_backend(one.group)
        mine = t.tensor(list(root), dtype=t.uint8, device=local[0].device if on_device else "cpu")
        every = [t.empty_like(mine) for _ in one.ranks]
        self._distributed.all_gather(every, mine, group=one.group)
        return [bytes(row) for row in t.stack(every).cpu().tolist()]

    def _differences(self, one: _Set, local: Sequence[Any], tags: list[bytes]) -> list[Difference]:
        told: list[Any] = [None] * len(one.ranks)
        read: list[Any] = [None] * len(one.ranks)
        self._distributed.all_gather_object(told, tags, group=one.group)
        apart = [place for place in range(len(tags)) if len({theirs[place] for theirs in told}) > 1]
        self._distributed.all_gather_object(read, [_tags.sha256(local[place]) for place in apart], group=one.group)
        found = []
        for number, place in enumerate(apart):
            digests = {rank: str(theirs[number]) for rank, theirs in zip(one.ranks, read)}
            again = len(set(digests.values())) > 1
            by_tag = dict(zip(one.ranks, (theirs[place] for theirs in told)))
            found.append(Difference(one.names[place], digests, _suspects(digests if again else by_tag), again))
        return found

    # --- when

    def follow(self, optimizer: Any) -> None:
        """Counts steps of this optimizer, or of all that hold parameters of the model (None)."""
        if optimizer is not None:
            self._handle = optimizer.register_step_post_hook(self._stepped)
            return
        from torch.optim.optimizer import register_optimizer_step_post_hook
        mine = {id(parameter) for parameter in self._model.parameters()}

        def stepped(any_optimizer: Any, *_: Any) -> None:
            holds = self._optimizers.get(id(any_optimizer))
            if holds is None:
                holds = any(id(parameter) in mine for group in any_optimizer.param_groups for parameter in group["params"])
                self._optimizers[id(any_optimizer)] = holds
            if holds:
                self._stepped()
        self._handle = register_optimizer_step_post_hook(stepped)

    def _stepped(self, *_: Any) -> None:
        self.step += 1
        if self.step % self._every == 0:
            self.now()

    def remove(self) -> None:
        """Checks no more."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    # --- what is kept of it

    def attest(self, subject: str, *, key: str, out: str, name: str = "", program: str = "assay") -> Optional[str]:
        """Checks now; where nothing differs, the first rank writes a signed `train` statement about `subject` (an
        artifact, or the file of its manifest) with step and root, and returns its root. Others return None.

        The root is SHA-256 over the names, dtypes, shapes and SHA-256 of all tensors of the first rank, in their order:
        its bytes are copied to the host, which takes seconds for some gigabytes.
        Errors: RanksDiffer; CalledProcessError when `program` fails.
        """
        outcome = self.now()
        if outcome.differences or self._distributed.get_rank() != 0:
            return None
        root = hashlib.sha256()
        for tensor_name, tensor in self._tensors().items():
            one = _local(tensor)
            root.update(repr((tensor_name, str(one.dtype), tuple(one.shape), _tags.sha256(one))).encode())
        ranks = max(len(one.ranks) for one in self._sets)
        subprocess.run([program, "attest", "create", "--stage", "train", "--subject", subject,
                        *(["--name", name] if name else []), "--metric", f"step={self.step}", "--metric",
                        f"equal_ranks={ranks}", "--parameter", f"root=sha256:{root.hexdigest()}", "--key", key,
                        "--out", out], check=True)
        return f"sha256:{root.hexdigest()}"


def check(model: Any, *, every: int = 100, optimizer: Any = None, group: Any = None, buffers: bool = False,
          coordinates: Optional[Mapping[str, int]] = None,
          on_difference: Optional[Callable[[Outcome], None]] = None) -> Check:
    """Compares the ranks after every `every` steps of `optimizer` (any that holds parameters of `model`).

    group          process group over which plain tensors are equal: that of data parallelism (default: all ranks)
    buffers        compares buffers, too; those of BatchNorm may differ by design
    coordinates    what this rank is called, such as {"dp": 1, "tp": 0}
    on_difference  is called with an Outcome on every rank, in place of RanksDiffer

    Call it on every rank after wrappers (DDP, fully_shard) were put on. Errors: AssayError without a process group;
    ModelError when ranks of a group have other names, dtypes or shapes; TorchMissing.
    """
    made = Check(model, every, group, buffers, dict(coordinates or {}), on_difference)
    made.follow(optimizer)
    return made


# --- a trainer and those who receive its weights


def _described(model: Any) -> dict[str, Any]:
    return {name: _local(tensor) for name, tensor in model.named_parameters()}


def publish(model: Any) -> dict[str, Any]:
    """What a trainer sends along with its weights, as JSON can hold it: keyed tags under a key of this call.

    They find what went wrong on the way. Whoever knows the key can make other weights with the same tags: against
    intent, register the model with the node agent.
    """
    tensors = _described(model)
    tagger, key = _tags.tagger_for(list(tensors.values())), os.urandom(32)
    return {"tagger": tagger.name, "key": key.hex(), "tensors": {
        name: [str(tensor.dtype), list(tensor.shape), tag.hex()]
        for (name, tensor), tag in zip(tensors.items(), tagger.tags(list(tensors.values()), key))}}


def received(model: Any, published: Mapping[str, Any]) -> list[Finding]:
    """How a model with the same names differs from what was published: `missing`, `extra` and `mismatch`, by tensor.

    Errors: ModelError when it lies on another kind of device than the trainer's, or `published` is none.
    """
    tensors = _described(model)
    tagger = _tags.tagger_for(list(tensors.values()))
    try:
        name, key, theirs = str(published["tagger"]), bytes.fromhex(published["key"]), dict(published["tensors"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"this is not what assay.ranks.publish() returns: {error!r}") from error
    if name != tagger.name:
        raise ModelError(f"the trainer tags with {name!r}, this process with {tagger.name!r}: other devices")
    found = [Finding("missing", name, "was published") for name in theirs.keys() - tensors.keys()]
    for (name, tensor), tag in zip(tensors.items(), tagger.tags(list(tensors.values()), key)):
        mine = [str(tensor.dtype), list(tensor.shape), tag.hex()]
        if name not in theirs:
            found.append(Finding("extra", name, "was not published"))
        elif list(theirs[name]) != mine:
            same_form = list(theirs[name])[:2] == mine[:2]
            found.append(Finding("mismatch", name, "other bytes" if same_form else f"{theirs[name][:2]} was published"))
    return sorted(found, key=lambda one: one.tensor)
