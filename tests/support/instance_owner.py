# SPDX-License-Identifier: Apache-2.0
"""An owner of memory as docs/instances.md describes it, over a real socket, with memory files.

Written from that page, independently of the C++ codec. Tests register tensors with it, change their
bytes, and answer what the node agent asks.
"""
import array
import ctypes
import fcntl
import json
import mmap
import os
import socket
import struct
import threading

F_ADD_SEALS, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1033, 2, 4, 16
SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE
KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE
PUNCH_HOLE = 2 | KEEP_SIZE
MOST_DESCRIPTORS = 253
WINDOW = 64 << 20
HINTS = 4096  # bytes of the page
# Seconds that one answer may take: a busy machine compiles the kernels of a device for over a minute.
PATIENT = 240


class Ended(Exception):
    """The node agent ended the connection."""


class MemoryFile:
    """Shared memory that nobody can cut short or punch holes into, mapped writable.

    Behind `content` it has zeros, or with `sparse` holes.
    """

    def __init__(self, content, size=None, seals=SEALS, sparse=False):
        self.size = size or len(content)
        self.fd = os.memfd_create("weights", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, self.size)
        self.bytes = mmap.mmap(self.fd, self.size)
        self.bytes[: len(content)] = content
        for at in range(len(content), 0 if sparse else self.size, mmap.PAGESIZE):
            self.bytes[at] = 0
        self.seal(seals)

    def seal(self, seals=SEALS):
        fcntl.fcntl(self.fd, F_ADD_SEALS, seals)

    def punch(self):
        """Gives all its pages back, so that whoever reads next gets new ones. Errors: OSError."""
        self._allocate(PUNCH_HOLE, 0)

    def reserve_behind_its_end(self):
        """Pages that nobody can read, as many as the file has."""
        self._allocate(KEEP_SIZE, -(-self.size // mmap.PAGESIZE) * mmap.PAGESIZE)

    def _allocate(self, mode, at):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.fallocate(self.fd, mode, ctypes.c_long(at), ctypes.c_long(self.size)) != 0:
            raise OSError(ctypes.get_errno(), "fallocate")

    def close(self):
        """May be called again."""
        self.bytes.close()
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def is_listening(path):
    """Whether a process listens at the path. A file is there before that."""
    with open("/proc/net/unix") as sockets:
        rows = [line.split() for line in sockets]
    return any(row[3] == "00010000" and row[-1] == str(path) for row in rows)  # __SO_ACCEPTCON


class Connection:
    """Frames, and the descriptors beside them."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))

    def send(self, message, descriptors=()):
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        frame = struct.pack("<I", len(body)) + body
        beside = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
        sent = self.socket.sendmsg([frame], beside)
        if sent < len(frame):
            self.socket.sendall(frame[sent:])

    def receive(self):
        (size,) = struct.unpack("<I", self._read(4))
        return json.loads(self._read(size))

    def _read(self, size):
        got = b""
        while len(got) < size:
            part = self.socket.recv(size - len(got))
            if not part:
                raise Ended
            got += part
        return got

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()


class Owner:
    """Registers host memory, and answers in a thread of its own.

    `tensors` are (names, dtype, shape, content). Each lies in a memory file of its own; with
    `staged` the bytes are copied through the window instead. With `hints` a page of hints comes, too.
    """

    def __init__(self, path, artifact, tensors, instance="main", rank=0, world=1, staged=False, hints=False,
                 published=None):
        self.published = published  # artifact id of a published layout
        self.connection = Connection(path)
        self.artifact, self.instance, self.rank, self.world = artifact, instance, rank, world
        self.names = [(list(names), dtype, list(shape)) for names, dtype, shape, _ in tensors]
        self.files = [MemoryFile(content) for *_, content in tensors]
        self.staged = staged
        self.window = MemoryFile(b"", WINDOW, sparse=True) if staged else None
        self.hints = MemoryFile(b"ASSAYHNT" + struct.pack("<Q", 1), HINTS) if hints else None
        self.messages = []  # of the node agent, but for those answered at once
        self.arrived = threading.Condition()
        self.ended = False
        self.number = 0
        self.exports = 0  # requests for fresh descriptors so far
        self.welcome = None

    # --- what the memory holds

    def write(self, tensor, offset, content):
        """Changes bytes in place, as a broken or hostile process would."""
        self.files[tensor].bytes[offset : offset + len(content)] = content

    def replace(self, tensor, content):
        """Puts other memory in the place of a tensor's: the old one is freed."""
        self.files[tensor].close()
        self.files[tensor] = MemoryFile(content)

    def hint(self, begun, ended, idle_until=0):
        """What the page of hints says from now on: steps, and a time of CLOCK_MONOTONIC in ns."""
        self.hints.bytes[16:40] = struct.pack("<QQQ", begun, ended, idle_until)

    # --- the protocol

    def registration(self):
        kind = "staged" if self.staged else "host"
        return {
            "type": "register", "artifact": self.artifact, "instance": self.instance,
            "rank": self.rank, "world": self.world, "device": "",
            "pieces": [{"size": file.size, "kind": kind, "cause": "a test" if self.staged else ""}
                       for file in self.files],
            "tensors": [{"names": names, "dtype": dtype, "shape": shape,
                         "parts": [[index, 0, self.files[index].size]]}
                        for index, (names, dtype, shape) in enumerate(self.names)],
            "uncovered": {"count": 0, "bytes": 0}, "window": WINDOW if self.staged else 0,
            **({"hints": HINTS} if self.hints else {}),
            **({"published": self.published} if self.published else {})}  # fmt: skip

    def register(self):
        """Returns the answer: `registered` or `refused`."""
        self.connection.send({"type": "hello", "protocol": 1, "client": "instance_owner.py"})
        self.welcome = self.connection.receive()
        if self.welcome["type"] != "welcome":
            return self.welcome
        answer = self.register_again()
        if answer["type"] == "registered":
            threading.Thread(target=self._serve, daemon=True).start()
        return answer

    def register_again(self):
        self.connection.send(self.registration())
        files = [] if self.staged else list(enumerate(self.files))
        last = [file for file in (self.window, self.hints) if file]
        files += enumerate(last, len(self.files))
        self._send_pieces(0, [number for number, _ in files], [file.fd for _, file in files])
        return self.connection.receive()

    def _send_pieces(self, request, numbers, descriptors):
        """One frame for each run of consecutive pieces."""
        numbers, at = list(numbers), 0
        while at < len(numbers):
            count = 1
            while (at + count < len(numbers) and count < MOST_DESCRIPTORS
                   and numbers[at + count] == numbers[at] + count):  # fmt: skip
                count += 1
            try:
                self.connection.send({"type": "pieces", "request": request, "first": numbers[at],
                                      "count": count}, descriptors[at : at + count])  # fmt: skip
            except BrokenPipeError:
                return  # refused before its pieces came: the answer is there
            at += count

    def _serve(self):
        try:
            while True:
                message = self.connection.receive()
                if not self.answer(message):
                    with self.arrived:
                        self.messages.append(message)
                        self.arrived.notify_all()
        except (Ended, OSError):
            with self.arrived:
                self.ended = True
                self.arrived.notify_all()

    def answer(self, message):
        """Does what the node agent asks for; false when it asks for nothing."""
        if message["type"] == "export":
            self._send_pieces(message["request"], message["pieces"],
                              [self.files[piece].fd for piece in message["pieces"]])  # fmt: skip
            with self.arrived:
                self.exports += 1
                self.arrived.notify_all()
        elif message["type"] == "read":
            begin, size = message["offset"], message["size"]
            self.window.bytes[:size] = self.files[message["piece"]].bytes[begin : begin + size]
            self.connection.send({"type": "copied", "request": message["request"]})
        else:
            return False
        return True

    def wait(self, wanted, timeout=PATIENT):
        """The first message that `wanted` is true of; it and those before it are taken."""
        def found():
            return next((i for i, message in enumerate(self.messages) if wanted(message)), None)

        with self.arrived:
            if not self.arrived.wait_for(lambda: found() is not None or self.ended, timeout):
                raise TimeoutError(f"only {self.messages}")
            index = found()
            if index is None:
                raise Ended
            message = self.messages[index]
            del self.messages[: index + 1]
            return message

    def wait_for_exports(self, more, timeout=PATIENT):
        """Until fresh descriptors were sent so many times more."""
        with self.arrived:
            wanted = self.exports + more
            if not self.arrived.wait_for(lambda: self.exports >= wanted, timeout):
                raise TimeoutError(f"{wanted - self.exports} exports are missing")

    def wait_for_end(self, timeout=PATIENT):
        """Until the node agent has ended the connection; the code of its refusal."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: self.ended, timeout):
                raise TimeoutError(f"only {self.messages}")
            return next((message["code"] for message in self.messages if message["type"] == "refused"), None)

    def ask(self, kind, **members):
        """Sends `verify`, `release` or `yield`; its number."""
        self.number += 1
        self.connection.send({"type": kind, "request": self.number, **members})
        return self.number

    def verify(self, timeout=PATIENT):
        """The state after everything was checked now."""
        number = self.ask("verify")
        return self.wait(lambda m: m["type"] == "state" and m["request"] == number, timeout)

    def release(self, timeout=PATIENT):
        number = self.ask("release")
        return self.wait(lambda m: m["type"] == "released" and m["request"] == number, timeout)

    def yield_slice(self, max_ms, timeout=PATIENT):
        number = self.ask("yield", max_ms=max_ms)
        return self.wait(lambda m: m["type"] == "yielded" and m["request"] == number, timeout)

    def close(self):
        self.connection.close()
        for file in [*self.files, *(file for file in (self.window, self.hints) if file)]:
            file.close()
