#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A node agent for tests: checks every frame of the protocol, reads the memory, compares digests.

    fake_agent.py SOCKET MANIFEST

MANIFEST is JSON: {tensor: [dtype, shape, SHA-256]}. Prints a line of JSON for each state. Device
pieces are imported by the CUDA driver where there is one.
"""
import array
import collections
import contextlib
import fcntl
import hashlib
import json
import mmap
import os
import pathlib
import re
import select
import socket
import stat
import struct
import sys
import threading
import uuid

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "schemas/json/instance-message.schema.json"
WINDOW = 64 << 20
BATCH = 253
WIDTH = {"BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "I16": 2, "U16": 2, "F16": 2,
         "BF16": 2, "I32": 4, "U32": 4, "F32": 4, "I64": 8, "U64": 8, "F64": 8, "C64": 8}
MEMBERS = {
    "hello": {"protocol", "client"},
    "register": {"artifact", "instance", "rank", "world", "device", "pieces", "tensors", "uncovered",
                 "window"},
    "pieces": {"request", "first", "count"}, "copied": {"request"}, "failed": {"request", "detail"},
    "verify": {"request"}, "changed": {"tensors"}, "release": {"request"},
    "yield": {"request", "max_ms"},
}
PATIENCE = 20.0  # seconds


def schema_validator():
    """Checks a frame against the JSON Schema of the tree, where that and jsonschema are there."""
    try:
        import jsonschema
    except ImportError:
        return None
    if not SCHEMA.exists():
        return None
    store = {path.name: json.loads(path.read_text()) for path in SCHEMA.parent.glob("*.json")}
    schema = store[SCHEMA.name]
    try:
        from referencing import Registry, Resource
        known = [(document["$id"], Resource.from_contents(document)) for document in store.values()
                 if "$id" in document]
        validator = jsonschema.Draft7Validator(schema, registry=Registry().with_resources(known))
    except ImportError:
        known = {document["$id"]: document for document in store.values() if "$id" in document}
        resolver = jsonschema.RefResolver.from_schema(schema, store=known)
        validator = jsonschema.Draft7Validator(schema, resolver=resolver)
    return validator.validate


def unique(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), "a member stands twice"
    return dict(pairs)


def number(value, least=0):
    assert type(value) is int and least <= value < 1 << 53, value
    return value


def check_registration(frame):
    """Everything that docs/instances.md says of a frame `register`."""
    assert re.fullmatch(r"assay-tree-v1-sha256:[0-9a-f]{64}", frame["artifact"])
    assert re.fullmatch(r"[a-z0-9-]{1,63}", frame["instance"])
    assert 0 <= number(frame["rank"]) < number(frame["world"], 1) <= 1024
    pieces, kinds = frame["pieces"], set()
    assert len(pieces) <= 65536 and len(frame["tensors"]) <= 131072
    for piece in pieces:
        assert set(piece) == {"size", "kind", "cause"}
        number(piece["size"], 1)
        assert piece["kind"] in ("device", "host", "staged")
        assert (piece["kind"] == "staged") == bool(piece["cause"]) and len(piece["cause"]) <= 128
        kinds.add(piece["kind"])
    assert ("device" in kinds) == bool(frame["device"]) or re.fullmatch(r"GPU-[0-9a-f-]{36}", frame["device"])
    assert frame["window"] == (WINDOW if "staged" in kinds else 0)
    assert frame.get("hints", 4096) == 4096
    assert set(frame["uncovered"]) == {"count", "bytes"}
    parts, names = [], []
    for tensor in frame["tensors"]:
        assert set(tensor) == {"names", "dtype", "shape", "parts"}
        assert 1 <= len(tensor["names"]) <= 16 and len(tensor["shape"]) <= 8
        assert all(0 < len(name) <= 512 for name in tensor["names"])
        names += tensor["names"]
        size = WIDTH[tensor["dtype"]]
        for dimension in tensor["shape"]:
            size *= number(dimension)
        for piece, offset, length in tensor["parts"]:
            assert number(offset) + number(length, 1) <= pieces[number(piece)]["size"]
            size -= length
        assert size == 0, tensor
        parts += tensor["parts"]
    assert len(parts) <= 1 << 20 and len(names) == len(set(names))
    parts.sort()
    for before, after in zip(parts, parts[1:]):
        assert before[0] != after[0] or before[1] + before[2] <= after[1], "parts overlap"
    assert {part[0] for part in parts} == set(range(len(pieces))), "a piece is not used"


def check_memory_file(fd, size):
    assert stat.S_ISREG(os.fstat(fd).st_mode) and os.fstat(fd).st_size == size
    assert fcntl.fcntl(fd, 1034) & 0x16 == 0x16, "not sealed against shrinking, growing and holes"
    assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY, "not read only"


def readable(fds, timeout):
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000)]


def read_mapped(fd, spans, _=None):
    """Bytes of a memory file."""
    with mmap.mmap(fd, 0, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
        return [memory[offset:offset + size] for offset, size in spans]


class Gone(Exception):
    """The owner hung up."""


class Connection:
    """One owner. Everything happens in the thread of the connection."""

    def __init__(self, agent, peer):
        self.agent, self.peer = agent, peer
        self.registration = None
        self.window = self.hints = None
        self.requests = 0
        self.backlog = collections.deque()
        self.changed = []
        self.state = "pending"
        self.calls = collections.deque()
        self.wake_read, self.wake_write = os.pipe()
        agent.live.add(self)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # Frames.

    def send(self, **frame):
        body = json.dumps(frame).encode()
        try:
            self.peer.sendall(struct.pack("<I", len(body)) + body)
        except OSError:
            raise Gone from None

    def take(self, size):
        """Exactly so many bytes, and the descriptors beside them."""
        data, fds = b"", array.array("i")
        while len(data) < size:
            try:
                more, ancillary, flags, _ = self.peer.recvmsg(
                    size - len(data), socket.CMSG_SPACE(BATCH * 4), socket.MSG_CMSG_CLOEXEC)
            except OSError:
                raise Gone from None
            assert not flags & socket.MSG_CTRUNC
            for level, kind, payload in ancillary:
                assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
                assert not data, "descriptors do not stand beside the first byte of a frame"
                fds.frombytes(payload)
            if not more:
                assert not data, "the owner hung up within a frame"
                raise Gone
            data += more
        return data, list(fds)

    def receive(self):
        """(frame, descriptors)"""
        header, taken = self.take(4)
        (size,) = struct.unpack("<I", header)
        assert 2 <= size <= 24 << 20
        body, none = self.take(size)
        assert not none, "descriptors do not stand beside the first byte of a frame"
        frame = json.loads(body, object_pairs_hook=unique)
        optional = {"hints", "layout", "published"} if frame["type"] == "register" else set()
        assert isinstance(frame, dict) and set(frame) - optional == {"type"} | MEMBERS[frame["type"]], frame
        assert len(taken) == (frame["count"] if frame["type"] == "pieces" else 0), "wrong descriptors"
        if self.agent.validate is not None:
            self.agent.validate(frame)
        self.agent.saw(frame)
        return frame, taken

    def await_frame(self, *kinds):
        """The next frame of these kinds; `changed` may come before it, and is heeded."""
        while True:
            assert readable([self.peer.fileno()], PATIENCE), "no answer"
            frame, fds = self.receive()
            if frame["type"] in kinds:
                return frame, fds
            assert frame["type"] in ("changed", "verify", "release", "yield"), frame
            self.backlog.append(frame)
            if frame["type"] == "changed":
                self.changed += frame["tensors"]

    # What the protocol asks of a node agent.

    def run(self):
        try:
            frame, _ = self.await_frame("hello")
            assert frame["protocol"] == 1 and len(frame["client"]) <= 64
            self.send(type="welcome", protocol=1, pod="0b6c9b9e-2a6f-4a0e-9f0a-6f2f7f2f2f2f", container="ab")
            while True:
                self.turn()
        except Gone:
            pass
        except BaseException as error:
            self.agent.failed(error)
        finally:
            self.drop()
            self.peer.close()
            self.close([self.wake_read, self.wake_write])
            self.agent.ended(self)

    def turn(self):
        if self.backlog:
            return self.handle(self.backlog.popleft(), [])
        if self.wake_read in readable([self.peer.fileno(), self.wake_read], None):
            os.read(self.wake_read, 1)
            return self.calls.popleft()()
        self.handle(*self.receive())

    def handle(self, frame, fds):
        getattr(self, "on_" + frame["type"])(frame, fds)

    def on_register(self, frame, _):
        assert self.registration is None
        check_registration(frame)
        if self.agent.refuse:
            code, detail = self.agent.refuse
            self.send(type="refused", code=code, detail=detail)
            raise Gone
        wanted = [n for n, piece in enumerate(frame["pieces"]) if piece["kind"] != "staged"]
        extra = bool(frame["window"]) + ("hints" in frame)
        wanted += range(len(frame["pieces"]), len(frame["pieces"]) + extra)
        self.registration, self.changed, self.state = frame, [], "pending"
        fds = self.take_pieces(0, wanted)
        if "hints" in frame:
            check_memory_file(fds[-1], 4096)
            self.hints = fds.pop()
        if frame["window"]:
            check_memory_file(fds[-1], WINDOW)
            self.window = fds.pop()
        self.close(fds)
        self.send(type="registered", registration=str(uuid.uuid4()))
        if self.agent.checks_at_once:
            self.check(0)

    def on_verify(self, frame, _):
        if not self.agent.answers_verify:
            return
        assert self.registration is not None
        if self.state == "pending" and not self.agent.checks_at_once:
            self.tell(number(frame["request"], 1), "unknown", [("error", "", "no job has verified this instance")])
        else:
            self.check(number(frame["request"], 1))

    def on_changed(self, frame, _):
        known = {name for tensor in self.registration["tensors"] for name in tensor["names"]}
        assert 1 <= len(frame["tensors"]) <= 16
        self.agent.strange += [name for name in frame["tensors"] if name not in known]
        self.changed += [name for name in frame["tensors"] if name not in self.changed]
        self.tell(0, "violated", [("changed", name, "the owner says so") for name in self.changed])

    def on_yield(self, frame, _):
        assert self.registration is not None and 1 <= number(frame["max_ms"]) <= 10_000
        if self.agent.together is not None:
            self.agent.together.wait(PATIENCE)
        if self.agent.runs is not None:
            self.send(type="yielded", request=number(frame["request"], 1), slices=self.agent.runs,
                      next_ms=self.agent.next_ms)

    def read_hints(self):
        """begun, ended, idle until"""
        return struct.unpack("<8sQQQQ", os.pread(self.hints, 40, 0))[2:]

    def on_failed(self, frame, _):
        """An answer that crossed `release`."""
        assert self.registration is None and frame["request"] == self.agent.crossing

    def on_release(self, frame, _):
        assert self.agent.holds_release.wait(PATIENCE)
        if self.agent.dies:
            raise Gone
        self.drop()
        self.send(type="released", request=number(frame["request"], 1))

    def drop(self):
        self.close([fd for fd in (self.window, self.hints) if fd is not None])
        self.registration = self.window = self.hints = None

    @staticmethod
    def close(fds):
        for fd in fds:
            os.close(fd)

    def take_pieces(self, request, wanted):
        """Descriptors of these pieces, in order, in as many frames as the owner likes."""
        fds = []
        while len(fds) < len(wanted):
            frame, more = self.await_frame("pieces", "failed")
            if frame["type"] == "failed":
                assert number(frame["request"], 1) == request and len(frame["detail"]) <= 512
                self.close(fds)
                return None
            assert frame["request"] == request
            expected = wanted[len(fds):len(fds) + frame["count"]]
            assert expected == list(range(frame["first"], frame["first"] + frame["count"])), frame
            fds += more
        for n, fd in zip(wanted, fds):
            if n < len(self.registration["pieces"]) and self.registration["pieces"][n]["kind"] == "host":
                check_memory_file(fd, self.registration["pieces"][n]["size"])
        return fds

    def export(self, pieces):
        self.requests += 1
        self.send(type="export", request=self.requests, pieces=pieces)
        return self.take_pieces(self.requests, pieces)

    def read(self, piece, offset, size):
        """Bytes of a staged piece, through the window; None when the owner says that it cannot."""
        out = b""
        while size > 0:
            self.requests += 1
            taken = min(size, WINDOW)
            self.send(type="read", request=self.requests, piece=piece, offset=offset, size=taken)
            frame, _ = self.await_frame("copied", "failed")
            assert frame["request"] == self.requests
            if frame["type"] == "failed":
                return None
            out += read_mapped(self.window, [(0, taken)])[0]
            offset += taken
            size -= taken
        return out

    def contents(self):
        """Bytes of every tensor, or None."""
        spans = collections.defaultdict(list)
        for t, tensor in enumerate(self.registration["tensors"]):
            for p, (piece, offset, size) in enumerate(tensor["parts"]):
                spans[piece].append((t, p, offset, size))
        found = [[b""] * len(tensor["parts"]) for tensor in self.registration["tensors"]]
        numbers = [n for n, p in enumerate(self.registration["pieces"]) if p["kind"] != "staged"]
        for at in range(0, len(numbers), BATCH):
            batch = numbers[at:at + BATCH]
            fds = self.export(batch)
            if fds is None:
                return None
            for n, fd in zip(batch, fds):
                piece = self.registration["pieces"][n]
                reader = read_mapped if piece["kind"] == "host" else self.agent.read_device
                rows = spans[n]
                for (t, p, _, _), data in zip(rows, reader(fd, [(o, s) for _, _, o, s in rows],
                                                              piece["size"])):
                    found[t][p] = data
            self.close(fds)
        for n, piece in enumerate(self.registration["pieces"]):
            if piece["kind"] == "staged":
                for t, p, offset, size in spans[n]:
                    found[t][p] = self.read(n, offset, size)
                    if found[t][p] is None:
                        return None
        return [b"".join(parts) for parts in found]

    def check(self, request):
        contents = self.contents()
        if contents is None:
            return self.tell(request, "unknown", [("error", "", "the memory could not be read")])
        findings, seen = [], set()
        for tensor, data in zip(self.registration["tensors"], contents):
            names = [name for name in tensor["names"] if name in self.agent.manifest]
            seen.update(names)
            if not names:
                findings.append(("extra", tensor["names"][0], "no alias is in the manifest"))
            for name in names:
                want = tuple(self.agent.manifest[name])
                have = tensor["dtype"], tuple(tensor["shape"]), hashlib.sha256(data).hexdigest()
                if (want[0], tuple(want[1]), want[2]) != have:
                    findings.append(("mismatch", name, "other bytes, dtype or shape"))
        findings += [("missing", name, "no rank has it") for name in self.agent.manifest if name not in seen]
        findings += [("changed", name, "the owner says so") for name in self.changed]
        self.tell(request, "violated" if findings else "verified", findings)

    def tell(self, request, state, findings):
        self.state = state
        self.agent.found(state, findings)
        self.send(type="state", state=state, checked_at="2027-01-31T12:00:00Z", request=request,
                  findings=[dict(zip(("kind", "tensor", "detail"), f)) for f in findings[:16]])

    def call(self, function):
        """Runs function() in the thread of the connection; its result."""
        done, result = threading.Event(), []

        def run():
            result.append(function())
            done.set()
        self.calls.append(run)
        os.write(self.wake_write, b"\0")
        assert done.wait(PATIENCE), self.agent.errors
        return result[0]


class FakeAgent:
    """Listens until close()."""

    def __init__(self, path, manifest=None, read_device=read_mapped):
        self.path, self.manifest, self.read_device = str(path), manifest or {}, read_device
        self.validate = schema_validator()
        self.refuse = None  # (code, detail)
        self.crossing = None  # number of the request that crosses `release`
        self.checks_at_once, self.answers_verify, self.dies = True, True, False
        self.runs, self.next_ms = 1, 10  # slices for a yield (None: it is not answered), and then
        self.together = None  # a threading.Barrier of ranks, whose yields are answered when all came
        self.holds_release = threading.Event()  # clear: `release` is not answered yet
        self.holds_release.set()
        self.frames, self.errors, self.states, self.strange = [], [], [], []
        self.connections, self.live = [], set()
        self.changed = threading.Condition()
        self.open()

    def open(self):
        self.closing = False
        self.listener = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self.listener.bind(self.path)
        self.listener.listen()
        self.thread = threading.Thread(target=self.accept, args=(self.listener,), daemon=True)
        self.thread.start()

    def accept(self, listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            if self.closing:
                peer.close()
                return
            with self.changed:
                self.connections.append(Connection(self, peer))
                self.changed.notify_all()

    def close(self):
        """Hangs up on everybody."""
        self.closing = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(PATIENCE)
        self.listener.close()
        for connection in list(self.live):
            with contextlib.suppress(OSError):
                connection.peer.shutdown(socket.SHUT_RDWR)
            connection.thread.join(PATIENCE)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)

    def wait(self, condition):
        """Waits until something that the agent saw makes this true."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.errors or condition(), PATIENCE), "it never came"
            assert not self.errors, self.errors

    def _note(self, where, what):
        with self.changed:
            where.append(what)
            self.changed.notify_all()

    def saw(self, frame):
        self._note(self.frames, frame)

    def failed(self, error):
        self._note(self.errors, error)

    def found(self, state, findings):
        self._note(self.states, (state, findings))

    def ended(self, connection):
        with self.changed:
            self.live.discard(connection)
            self.changed.notify_all()

    def of(self, kind):
        return [frame for frame in self.frames if frame["type"] == kind]


def main():
    from cuda_reader import read_device
    path, manifest = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text())
    agent = FakeAgent(path, manifest, read_device)
    print(json.dumps({"listening": path}), flush=True)
    seen = 0
    while not agent.errors:
        with agent.changed:
            agent.changed.wait(0.2)
            new, seen = agent.states[seen:], len(agent.states)
        for state, findings in new:
            print(json.dumps({"state": state, "findings": findings}), flush=True)
    sys.exit(f"fake_agent: {agent.errors[0]!r}")


if __name__ == "__main__":
    main()
