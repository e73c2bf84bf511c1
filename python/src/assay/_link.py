# SPDX-License-Identifier: Apache-2.0
"""The thread that holds a connection to the node agent, answers it and watches the model.

It alone touches the socket and the plan. Others give it commands and wait for their futures.
"""
from __future__ import annotations

import collections
import os
import select
import socket
import threading
import time
from concurrent.futures import Future
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from . import _wire
from ._errors import (AgentTimeout, AssayError, Finding, ModelError, NotRegistered, NoWorker,
                      ProtocolError, Refused)
from ._layout import Moved, Plan

HANDSHAKE = 30.0  # seconds until `registered`
SEND = 5.0  # seconds that the node agent may take to read a frame
_SLICE = 0.002  # seconds between two steps of a look at the model
_YIELD = 5.0  # seconds that the answer to a yield may be late before another yield is sent
_RETRY = (1.0, 30.0)  # seconds between attempts to connect again, first and most


def describe(path: str, error: OSError) -> str:
    hint = {
        FileNotFoundError: "there is no such socket: is its directory mounted, does `assay worker run "
                           "--register-socket` run on this node?",
        ConnectionRefusedError: "nobody listens there: the node agent is not running",
        PermissionError: "this user may not connect to it",
    }.get(type(error), str(error))
    return f"no node agent at {path}: {hint}"


def _readable(fds: Sequence[int], timeout: Optional[float]) -> List[int]:
    """Those that can be read or have ended, after at most so many seconds."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000)]


def _fail(future: Optional[Future[Any]], error: Exception) -> None:
    if future is not None and not future.done():
        future.set_exception(error)


class Link:
    """One registration, over as many connections as it takes."""

    def __init__(self, path: str, client: str, period: float, reconnect: bool) -> None:
        self.lock = threading.Lock()  # of the members up to `failure`
        self.changed = threading.Condition(self.lock)
        self.state = "pending"
        self.findings: List[Finding] = []
        self.checked_at: Optional[str] = None
        self.registration = ""
        self.violations = 0
        self.welcome: Dict[str, str] = {}
        self.failure: Optional[Exception] = None  # why there is no connection
        self._path, self._client, self._period, self._reconnect = path, client, period, reconnect
        self._commands: Deque[Tuple[Callable[..., None], Tuple[Any, ...], Future[Any]]] = collections.deque()
        self._wake_read, self._wake_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._socket: Optional[socket.socket] = None
        self._reader = _wire.Reader()
        self._plan: Optional[Plan] = None
        self._identity: Tuple[str, str, int, int] = ("", "", 0, 1)
        self._watch: Optional[Iterator[List[str]]] = None
        self._next_watch = 0.0
        self._seen_changed: Set[str] = set()
        self._numbers = 0
        self._registering: Optional[Future[Any]] = None
        self._releasing: Optional[Tuple[int, Future[Any]]] = None
        self._verifying: Optional[Tuple[int, Future[Any]]] = None
        self._verify_later: Deque[Future[Any]] = collections.deque()
        self.next_yield = 0.0  # time.monotonic(): nothing is due before
        self._yielding: Optional[Tuple[int, Future[Any], float]] = None  # no other one before this time
        self._delay, self._retry_at = _RETRY[0], 0.0
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="assay-registration", daemon=True)
        self._thread.start()

    # What other threads call.

    def command(self, what: Callable[..., None], *arguments: Any) -> Future[Any]:
        """Has the thread call what(future, *arguments)."""
        future: Future[Any] = Future()
        with self.lock:
            if self._closing:
                raise NotRegistered("the registration is closed")
            self._commands.append((what, arguments, future))
            self._wake()
        return future

    def close(self) -> None:
        with self.lock:
            if self._closing:
                return
            self._closing = True
            self.state, self.findings = "closed", []
            self.changed.notify_all()
            self._wake()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=10)

    def abandon(self) -> None:
        """In a child process after fork(): the connection is the parent's alone."""
        self._closing = True
        self.state = "closed"
        if self._socket is not None:
            os.close(self._socket.detach())
        for fd in (self._wake_read, self._wake_write):
            os.close(fd)

    def _wake(self) -> None:  # with the lock held: the thread closes the pipe when it ends
        try:
            os.write(self._wake_write, b"\0")
        except BlockingIOError:
            pass  # it will wake anyhow

    # Commands.

    def register(self, future: Future[Any], plan: Plan, identity: Tuple[str, str, int, int]) -> None:
        """The future ends with the number of the registration."""
        self._drop_plan()
        self._plan, self._identity = plan, identity
        self._seen_changed.clear()
        self._registering = future
        if self._socket is None:
            self._connect()
        self._send_registration()

    def verify(self, future: Future[Any]) -> None:
        """The future ends with the state that the node agent then found."""
        if self._plan is None or self._releasing is not None:
            future.set_exception(NotRegistered("nothing is registered: it was released"))
        elif self._socket is None:
            future.set_exception(self.failure or NoWorker("there is no connection to the node agent"))
        elif self._verifying is not None:
            self._verify_later.append(future)
        else:
            self._look_at_all()
            self._numbers += 1
            self._verifying = self._numbers, future
            self._send({"type": "verify", "request": self._numbers})

    def yield_slice(self, future: Future[Any], max_ms: int) -> None:
        """The future ends with the number of slices that ran; 0 when nobody runs any."""
        now = time.monotonic()
        if self._plan is None or self._releasing is not None:
            future.set_exception(NotRegistered("nothing is registered: it was released"))
        elif self._socket is None or (self._yielding is not None and now < self._yielding[2]):
            future.set_result(0)
        else:
            self._end_yield()
            self._numbers += 1
            self._yielding = self._numbers, future, now + max_ms / 1000 + _YIELD
            self._send({"type": "yield", "request": self._numbers, "max_ms": max_ms})

    def release(self, future: Future[Any]) -> None:
        """The future ends when the node agent holds no memory any more."""
        if self._plan is None:
            future.set_result(None)
        elif self._socket is None:
            self._released(future)
        elif self._releasing is not None:
            future.set_exception(NotRegistered("the registration is being released"))
        else:
            self._numbers += 1
            self._releasing = self._numbers, future
            self._send({"type": "release", "request": self._numbers})

    # The thread.

    def _run(self) -> None:
        while not self._closing:
            try:
                self._step()
            except Exception as error:
                self._lost(error)
        self._end_connection()
        self._drop_plan()
        self._fail_all(NotRegistered("the registration was closed"))
        with self.lock:
            commands, self._commands = self._commands, collections.deque()
            self.changed.notify_all()
            os.close(self._wake_read)
            os.close(self._wake_write)
        for _, _, future in commands:
            _fail(future, NotRegistered("the registration was closed"))

    def _step(self) -> None:
        now = time.monotonic()
        readers = [self._wake_read]
        if self._socket is not None:
            readers.append(self._socket.fileno())
            due = now + _SLICE if self._watch is not None else self._next_watch
            timeout: Optional[float] = max(0.0, due - now) if self._watches() else None
        elif self._plan is not None and self._registering is None and self._reconnect:
            timeout = max(0.0, self._retry_at - now)
        else:
            timeout = None
        ready = _readable(readers, timeout)
        if self._wake_read in ready:
            self._take_commands()
            return
        if ready:
            self._receive()
            return
        if self._watches():
            self._watch_on()
        elif self._socket is None and self._plan is not None and self._reconnect:
            self._connect()
            self._send_registration()

    def _take_commands(self) -> None:
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass
        while True:
            with self.lock:
                if not self._commands or self._closing:
                    return
                what, arguments, future = self._commands.popleft()
            try:
                what(future, *arguments)
            except Exception as error:
                self._lost(error)  # first the state, then the answer
                _fail(future, error)

    def _connect(self) -> None:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            peer.settimeout(SEND)
            peer.connect(self._path)
        except OSError as error:
            peer.close()
            raise NoWorker(describe(self._path, error)) from None
        self._socket, self._reader = peer, _wire.Reader()
        self._send({"type": "hello", "protocol": _wire.PROTOCOL, "client": self._client})
        deadline = time.monotonic() + HANDSHAKE
        while not self._receive(deadline):
            pass

    def _send(self, frame: _wire.Frame, descriptors: Sequence[int] = ()) -> None:
        assert self._socket is not None
        try:
            _wire.send(self._socket, frame, descriptors)
        except (BrokenPipeError, ConnectionResetError):
            deadline = time.monotonic() + SEND
            while True:  # the node agent may have said why, before it hung up
                self._receive(deadline)
        except TimeoutError:
            raise AgentTimeout("the node agent does not read what it is sent") from None

    def _send_registration(self) -> None:
        plan = self._plan
        assert plan is not None
        self._enter_device(plan)
        self._send(plan.frame(*self._identity))
        numbers = plan.exportable()
        try:
            for start, count in _wire.consecutive(numbers):
                self._send_pieces(0, numbers[start:start + count])
        except Moved:
            raise ModelError("the memory was replaced while it was registered") from None
        deadline = time.monotonic() + HANDSHAKE
        while not self._receive(deadline):
            pass
        self._seen_changed.clear()
        self._look_at_all()  # what changed since the plan was made

    def _send_pieces(self, request: int, numbers: Sequence[int]) -> None:
        """Descriptors of at most MAX_DESCRIPTORS pieces. OSError, Moved: none was sent."""
        assert self._plan is not None
        fds: List[int] = []
        maps = self._plan.maps()
        try:
            for number in numbers:
                fds.append(self._plan.export(number, maps))
            for start, count in _wire.consecutive(numbers):
                self._send({"type": "pieces", "request": request, "first": numbers[start], "count": count},
                           fds[start:start + count])
        finally:
            for fd in fds:
                os.close(fd)

    def _enter_device(self, plan: Plan) -> None:
        if plan.driver is not None:
            plan.driver.enter(plan.home)
            plan.driver.relax_capture()

    # Frames of the node agent.

    def _receive(self, deadline: Optional[float] = None) -> bool:
        """Takes what arrived; true if a welcome or a registered was among it."""
        assert self._socket is not None
        if deadline is not None:
            left = deadline - time.monotonic()
            if left <= 0 or not _readable([self._socket.fileno()], left):
                raise AgentTimeout("the node agent did not answer in time")
        try:
            data = self._socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            raise NoWorker("the node agent ended the connection")
        answered = False
        for frame in self._reader.feed(data):
            kind = frame["type"]
            getattr(self, "_on_" + kind)(frame)
            answered = answered or kind in ("welcome", "registered")
        return answered

    def _on_welcome(self, frame: _wire.Frame) -> None:
        self.welcome = {"pod": frame["pod"], "container": frame["container"]}

    def _on_refused(self, frame: _wire.Frame) -> None:
        raise Refused(frame["code"], frame["detail"])

    def _on_registered(self, frame: _wire.Frame) -> None:
        self._delay = _RETRY[0]
        with self.lock:
            self.registration, self.failure = frame["registration"], None
            self.state, self.findings, self.checked_at = "pending", [], None
            self.changed.notify_all()
        if self._registering is not None:
            future, self._registering = self._registering, None
            future.set_result(frame["registration"])

    def _on_state(self, frame: _wire.Frame) -> None:
        state = frame["state"]
        if self._plan is None:
            return
        findings = [Finding(**finding) for finding in frame["findings"]]
        if self._seen_changed:  # what the node agent looked at is not what the model uses
            state, findings = "violated", findings or self._changes()
        with self.lock:
            self.violations += state == "violated" and self.state != "violated"
            self.state, self.checked_at, self.findings = state, frame["checked_at"], findings
            self.changed.notify_all()
        if self._verifying is not None and self._verifying[0] == frame["request"]:
            future = self._verifying[1]
            self._verifying = None
            future.set_result(state)
            if self._verify_later:
                self.verify(self._verify_later.popleft())

    def _on_export(self, frame: _wire.Frame) -> None:
        request, numbers = frame["request"], frame["pieces"]
        plan = self._plan
        if plan is None or self._releasing is not None:
            return self._failed(request, "the registration is being released")
        if any(n >= len(plan.pieces) or plan.pieces[n].kind == "staged" for n in numbers):
            return self._failed(request, "no such piece, or one without a descriptor")
        try:
            self._send_pieces(request, numbers)
        except Moved:
            self._failed(request, "the memory was replaced")
            self._look_at_all()
        except OSError as error:
            self._failed(request, f"no descriptor: {error}")

    def _on_read(self, frame: _wire.Frame) -> None:
        request, number, offset, size = (frame[k] for k in ("request", "piece", "offset", "size"))
        plan = self._plan
        if plan is None or plan.window is None or self._releasing is not None:
            return self._failed(request, "the registration is being released")
        if number >= len(plan.pieces) or plan.pieces[number].kind != "staged":
            return self._failed(request, "no such piece, or one that is not staged")
        if size > _wire.WINDOW or offset + size > plan.pieces[number].size:
            return self._failed(request, "the bytes do not lie in the piece, or not in the window")
        try:
            plan.pieces[number].read(plan.window[2], offset, size)
        except (OSError, RuntimeError) as error:
            return self._failed(request, f"the memory cannot be copied: {error}")
        self._send({"type": "copied", "request": request})

    def _on_released(self, frame: _wire.Frame) -> None:
        if self._releasing is None or self._releasing[0] != frame["request"]:
            raise ProtocolError("the node agent released what nobody asked it to")
        future = self._releasing[1]
        self._releasing = None
        self._released(future)

    def _on_yielded(self, frame: _wire.Frame) -> None:
        if self._yielding is not None and self._yielding[0] == frame["request"]:
            self.next_yield = time.monotonic() + frame["next_ms"] / 1000
            self._end_yield(frame["slices"])

    def _end_yield(self, slices: int = 0) -> None:
        if self._yielding is not None:
            future, self._yielding = self._yielding[1], None
            future.set_result(slices)

    def _failed(self, request: int, detail: str) -> None:
        self._send({"type": "failed", "request": request, "detail": detail[:_wire.MAX_TEXT]})

    def _released(self, future: Future[Any]) -> None:
        self._drop_plan()
        with self.lock:
            self.state, self.findings, self.registration = "released", [], ""
            self.changed.notify_all()
        self._fail_verifies(NotRegistered("the registration was released"))
        self._end_yield()
        self.next_yield = 0.0
        future.set_result(None)

    # Watching the model.

    def _watches(self) -> bool:
        """After `release` nothing may be told any more."""
        return self._socket is not None and self._plan is not None and self._releasing is None

    def _watch_on(self) -> None:
        """One step of a look at the model."""
        if self._watch is None:
            assert self._plan is not None
            self._watch = self._plan.check()
        try:
            self._tell_changed(next(self._watch))
        except StopIteration:
            self._watch = None
            self._next_watch = time.monotonic() + self._period

    def _look_at_all(self) -> None:
        assert self._plan is not None
        for names in self._plan.check():
            self._tell_changed(names)
        self._watch = None
        self._next_watch = time.monotonic() + self._period

    def _changes(self) -> List[Finding]:
        return [Finding("changed", name, "its storage was replaced")
                for name in sorted(self._seen_changed)[:_wire.MAX_CHANGED]]

    def _tell_changed(self, names: Sequence[str]) -> None:
        new = sorted(set(names) - self._seen_changed)
        if not new:
            return
        self._seen_changed.update(new)
        with self.lock:
            self.violations += self.state != "violated"
            self.state = "violated"
            self.findings = self._changes()
            self.changed.notify_all()
        for names in _wire.few(new):
            self._send({"type": "changed", "tensors": names})

    # Ends.

    def _lost(self, error: Exception) -> None:
        """No connection any more; another one is tried for if something is registered."""
        if not isinstance(error, (AssayError, OSError)):  # of PyTorch, or a bug: fail closed, say so
            error = AssayError(f"the registration thread failed: {type(error).__name__}: {error}")
        self._end_connection()
        first, self._registering = self._registering, None
        if first is not None:  # whoever registers gets the error and decides
            self._drop_plan()
        releasing, self._releasing = self._releasing, None
        with self.lock:
            self.failure = error
            self.registration, self.checked_at = "", None
            if self._plan is not None:
                self.state, self.findings = "unknown", [Finding("error", "", str(error))]
            self.changed.notify_all()
        self._fail_verifies(error)
        if releasing is not None:  # who hung up holds no memory
            self._released(releasing[1])
        self._retry_at = time.monotonic() + self._delay
        self._delay = min(self._delay * 2, _RETRY[1])
        _fail(first, error)

    def _end_connection(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._end_yield()
        self.next_yield = 0.0

    def _drop_plan(self) -> None:
        if self._plan is not None:
            self._plan.close()
        self._plan = self._watch = None

    def _fail_verifies(self, error: Exception) -> None:
        waiting = [self._verifying[1]] if self._verifying is not None else []
        waiting += self._verify_later
        self._verifying = None
        self._verify_later.clear()
        for future in waiting:
            _fail(future, error)

    def _fail_all(self, error: Exception) -> None:
        self._fail_verifies(error)
        _fail(self._registering, error)
        _fail(self._releasing[1] if self._releasing is not None else None, error)
        self._registering = self._releasing = None
