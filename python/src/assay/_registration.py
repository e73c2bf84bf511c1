# SPDX-License-Identifier: Apache-2.0
"""Registrations, as users of the package see them."""
from __future__ import annotations

import atexit
import contextlib
import os
import re
import stat
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, ContextManager, Dict, Iterator, List, Mapping, Optional, Union

from . import _layout, _model, _proposal
from ._errors import (AgentTimeout, Finding, HintsError, ModelError, NotRegistered, NoWorker,
                      not_verified)
from ._hints import Hints
from ._link import HANDSHAKE, Link, describe
from ._version import __version__
from ._wire import MAX_WORLD, MAX_YIELD

SOCKET = "/run/assay/register.sock"
PERIOD = 2.0  # seconds
VERIFY = 600.0  # seconds: the whole model, perhaps through the window
RELEASE = 10.0  # seconds

_ARTIFACT = re.compile(r"assay-tree-v1-sha(256:[0-9a-f]{64}|384:[0-9a-f]{96})")
_PUBLISHED = re.compile("published:" + _ARTIFACT.pattern)
_INSTANCE = re.compile(r"[a-z0-9-]{1,63}")

_lock = threading.Lock()
_live: List["Registration"] = []


class Registration:
    """A model instance that the node agent checks. Made by register(); ends with close().

    Keeps the model and its memory alive. All methods may be called from any thread.
    """

    def __init__(self, model: Any, artifact: str, instance: str, rank: int, world: int, socket: str,
                 period: float, reconnect: bool, names: Optional[Mapping[str, str]],
                 hints: Optional[Hints] = None, layout: Union[None, str, Mapping[str, Any]] = None) -> None:
        self._layout = layout
        self._hints, self._own_hints = (Hints() if hints is None else hints), hints is None
        self._model, self._names = model, names
        self._artifact, self._instance, self._rank, self._world = artifact, instance, rank, world
        self._updating = threading.Lock()
        self._link = Link(socket, f"assay-torch/{__version__}", period, reconnect)

    @property
    def artifact(self) -> str:
        return self._artifact

    @property
    def instance(self) -> str:
        return self._instance

    @property
    def hints(self) -> Hints:
        """Where this process says when its steps run; the node agent reads it."""
        return self._hints

    @property
    def state(self) -> str:
        """`pending`, `verified`, `violated` or `unknown`, as the node agent says; `released`; `closed`."""
        with self._link.lock:
            return self._link.state

    @property
    def findings(self) -> List[Finding]:
        """What stands in the way of `verified`, as far as it was told (at most 16)."""
        with self._link.lock:
            return list(self._link.findings)

    @property
    def checked_at(self) -> Optional[str]:
        """When the node agent last finished a check, by its clock; None before the first."""
        with self._link.lock:
            return self._link.checked_at

    @property
    def violations(self) -> int:
        """How often the state became `violated`."""
        with self._link.lock:
            return self._link.violations

    @property
    def seen_as(self) -> Dict[str, str]:
        """`pod` and `container`, as the node agent has them from the kernel."""
        with self._link.lock:
            return dict(self._link.welcome)

    def verify_now(self, timeout: float = VERIFY) -> str:
        """Has everything checked now; the state that came of it.

        Errors: NoWorker, AgentTimeout, NotRegistered.
        """
        result: str = _wait(self._link.command(self._link.verify), timeout, "verify")
        return result

    def wait(self, timeout: float = VERIFY) -> str:
        """Waits while the state is `pending`, as it is until a job has looked at all ranks."""
        with self._link.lock:
            if not self._link.changed.wait_for(lambda: self._link.state != "pending", timeout):
                raise AgentTimeout(f"still pending after {timeout} s: no job was ordered, not all of "
                                   f"{self._world} ranks are registered, or the check takes longer")
            return self._link.state

    def require_verified(self, timeout: float = VERIFY) -> None:
        """Has everything checked now, once the job that looks first has ended.

        Errors: NotVerified, UnknownTensor, those of verify_now().
        """
        deadline = time.monotonic() + timeout
        self.wait(timeout)
        if self.verify_now(max(0.0, deadline - time.monotonic())) == "pending":
            self.wait(max(0.0, deadline - time.monotonic()))
        state, findings = self.state, self.findings
        if state != "verified":
            raise not_verified(state, findings)

    def yield_slice(self, max_ms: int = 50) -> int:
        """Now is a good moment: has the node agent look at what is due, and waits for that.

        Call it between two steps, when nothing runs on the device. Returns after at most `max_ms`
        milliseconds (1 to 10,000), and says how many slices ran; 0 when none was due, fits, or
        nobody looks. When nothing is due it costs less than a microsecond. All processes of an
        instance have to call it at about the same time.

        Errors: HintsError within a step, ValueError, NotRegistered.
        """
        offer = self._offer(max_ms)
        return 0 if offer is None else _slices(offer, time.monotonic() + max_ms / 1000)

    def _offer(self, max_ms: int) -> Optional[Future[Any]]:
        """Says so to the node agent; the future ends with the slices that ran. None: nothing is due."""
        if not 1 <= max_ms <= MAX_YIELD:
            raise ValueError(f"max_ms: 1 to {MAX_YIELD} milliseconds, not {max_ms!r}")
        if self._link.state == "closed":
            raise NotRegistered("the registration is closed")
        if self._hints.in_step:
            raise HintsError("yield_slice() within a step: call it after end()")
        if time.monotonic() < self._link.next_yield:
            return None
        return self._link.command(self._link.yield_slice, int(max_ms))

    def release(self, timeout: float = RELEASE) -> None:
        """Has the node agent let go of all memory: before weights are reloaded, freed, put to sleep.

        Until update() the instance is not verified. Errors: AgentTimeout.
        """
        _wait(self._link.command(self._link.release), timeout, "release")

    def update(self, artifact: str, model: Any = None, names: Optional[Mapping[str, str]] = None,
               layout: Union[None, str, Mapping[str, Any]] = None) -> None:
        """Registers the model as another artifact, or another model; releases first.

        Without `layout` its tensors are those of the files. Errors: as register().
        """
        _check_artifact(artifact)
        if isinstance(layout, str) and not _PUBLISHED.fullmatch(layout):
            raise ValueError(f'layout: a mapping, or "published:" and an artifact id, not {layout!r}')
        with self._updating:
            self.release()
            self._artifact = artifact
            self._model = self._model if model is None else model
            self._names = self._names if names is None else names
            self._layout = layout
            self._register()

    def close(self) -> None:
        """Ends the registration. Weights that were moved into memory files stay there."""
        self._link.close()
        if self._own_hints:
            self._hints.close()
        with _lock:
            if self in _live:
                _live.remove(self)

    def __enter__(self) -> "Registration":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"<assay.Registration {self._instance} rank {self._rank} of {self._world}, "
                f"{self._artifact}: {self.state}>")

    def _register(self) -> None:
        self._hints.fileno()  # not closed
        plan = _layout.build(self._model, self._names)
        plan.hints = self._hints
        plan.layout = self._layout
        identity = self._artifact, self._instance, self._rank, self._world
        try:
            future = self._link.command(self._link.register, plan, identity)
        except NotRegistered:
            plan.close()
            raise
        _wait(future, 2 * HANDSHAKE, "registration")


def _wait(future: Future[Any], timeout: float, what: str) -> Any:
    try:
        return future.result(timeout)
    except (FutureTimeout, TimeoutError) as error:
        if future.done():  # the node agent's own timeout
            raise
        raise AgentTimeout(f"no answer to {what} within {timeout} s") from error


def _slices(offer: Future[Any], deadline: float) -> int:
    """How many ran, as far as it is known at the deadline."""
    try:
        slices: int = offer.result(max(0.0, deadline - time.monotonic()))
    except (FutureTimeout, TimeoutError):
        return 0
    return slices


def _check_artifact(artifact: str) -> None:
    if not _ARTIFACT.fullmatch(artifact):
        raise ValueError(f"artifact: assay-tree-v1-sha256:<hex> expected, not {artifact!r}")


def register(model: Any, *, artifact: str, instance: str = "main", rank: int = 0, world: int = 1,
             socket: str = SOCKET, period: float = PERIOD, reconnect: bool = True,
             names: Optional[Mapping[str, str]] = None, hints: Optional[Hints] = None,
             layout: Union[None, str, Mapping[str, Any]] = None, files: Any = None) -> Registration:
    """Registers a model's parameters and persistent buffers with the node agent of this machine.

    `model`: a torch.nn.Module, a mapping of names to tensors, or SharedTensors. `artifact`: what it must be.
    `rank` of `world` processes hold the instance together. `period`: seconds between two looks at
    whether storages were replaced. `names`: names of tensors in the manifest, where they differ.
    `hints`: a page that several registrations share; else each has its own. `layout`: how the tensors
    follow from those of the files (schemas/layout.md), when they are cast, joined or split; "auto": as
    layout() proposes it from `files`; "published:assay-tree-v1-sha256:...": as `assay layout record` found
    it in a reference process.
    CPU tensors are moved into shared memory; nothing may use the model meanwhile.

    Errors: NoWorker, Refused, ModelError (FoldedParameters, NonContiguous), TorchMissing, ValueError.
    """
    _check_artifact(artifact)
    if not _INSTANCE.fullmatch(instance):
        raise ValueError(f"instance: 1 to 63 of a-z0-9- expected, not {instance!r}")
    if not 0 <= rank < world <= MAX_WORLD:
        raise ValueError(f"rank {rank} of world {world}: 0 <= rank < world <= {MAX_WORLD} expected")
    if period <= 0:
        raise ValueError("period: seconds, more than 0")
    if isinstance(layout, str) and not _PUBLISHED.fullmatch(layout):
        if layout != "auto" or files is None:
            raise ValueError('layout: a mapping, "published:" and an artifact id, or "auto" with files=')
        layout = propose_layout(model, artifact, files, names, world)
    _check_socket(socket)  # before gigabytes are moved
    registration = Registration(model, artifact, instance, rank, world, socket, period, reconnect, names,
                                hints, layout)
    try:
        registration._register()
    except BaseException:
        registration.close()
        raise
    with _lock:
        _live.append(registration)
    return registration


def propose_layout(model: Any, artifact: str, files: Any,
                   names: Optional[Mapping[str, str]] = None, world: int = 1) -> Optional[Mapping[str, Any]]:
    """How the tensors of a model follow from those of its files, as a layout for register().

    `world`: so many tensor-parallel ranks hold tensors of these names and shapes, each its share of rows or columns in the
    order of ranks. Each rank then proposes the same layout. Equal shapes prove nothing: the node agent compares bytes.

    `files`: a folder with safetensors files, or a list of them. None: each tensor is as the files have it. The result is
    made of names, dtypes and shapes alone; the node agent computes which bytes must lie in memory, and a policy says
    which layouts count (`layouts`, `layout_digests`).

    Errors: ModelError names the tensor that follows from nothing, and files that are none; OSError; TorchMissing.
    """
    _check_artifact(artifact)
    return _proposal.propose(_model.take(model, names), _proposal.read_entries(files), artifact, world)


def _check_socket(path: str) -> None:
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            raise NoWorker(f"no node agent at {path}: it is no socket")
    except OSError as error:
        raise NoWorker(describe(path, error)) from None


@contextlib.contextmanager
def guard(model: Any, *, artifact: str, timeout: float = VERIFY, **options: Any) -> Iterator[Registration]:
    """Runs its body only over verified weights.

    Waits for the job that verifies the instance. Verifies before and after, and looks whether they were ever found violated in between. Each call
    of the model is a step for the hints, unless `hints=` is given: then the caller says when steps
    run. `options`: as register(). Errors: NotVerified, UnknownTensor, those of register() and
    verify_now().
    """
    registration = register(model, artifact=artifact, **options)
    steps: ContextManager[None] = contextlib.nullcontext()
    if options.get("hints") is None:
        steps = registration.hints.follow(model)
    try:
        registration.require_verified(timeout)
        with steps:
            yield registration
        registration.require_verified(timeout)
        if registration.violations:
            raise not_verified("violated", registration.findings)
    finally:
        registration.close()


def registrations() -> List[Registration]:
    """Those of this process that are not closed."""
    with _lock:
        return list(_live)


def _chosen(instance: Optional[str]) -> List[Registration]:
    found = [r for r in registrations() if instance is None or r.instance == instance]
    if not found:
        raise NotRegistered("no model is registered" if instance is None else
                            f"no model is registered as instance {instance!r}")
    return found


def verify_now(instance: Optional[str] = None, timeout: float = VERIFY) -> str:
    """Verifies all registrations of this process, or those of one instance; the worst state."""
    order = ["verified", "pending", "unknown", "violated"]
    return max((r.verify_now(timeout) for r in _chosen(instance)), key=order.index)


def release(instance: Optional[str] = None) -> None:
    """Releases all registrations of this process, or those of one instance."""
    for registration in _chosen(instance):
        registration.release()


def yield_slice(max_ms: int = 50, instance: Optional[str] = None) -> int:
    """Registration.yield_slice() of all registrations, or those of one instance, at once.

    Several may be ranks of one instance, whose slices run when all of them have said so; each of them
    is told the slices of the instance, which count once.
    """
    offers = [(chosen.instance, chosen._offer(max_ms)) for chosen in _chosen(instance)]
    deadline = time.monotonic() + max_ms / 1000
    slices: Dict[str, int] = {}
    for name, offer in offers:
        if offer is not None:
            slices[name] = max(slices.get(name, 0), _slices(offer, deadline))
    return sum(slices.values())


def update(artifact: str, instance: Optional[str] = None) -> None:
    """Registers the model of the one registration, or of this instance, as another artifact."""
    found = _chosen(instance)
    if len({r.instance for r in found}) > 1:
        raise ModelError("several instances are registered: say which with instance=")
    for registration in found:
        registration.update(artifact)


def _close_all() -> None:
    for registration in registrations():
        registration.close()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for registration in _live:
        registration._link.abandon()
    _live.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_after_fork)
