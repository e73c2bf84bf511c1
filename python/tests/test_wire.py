# SPDX-License-Identifier: Apache-2.0
"""Frames and memory files; needs no PyTorch."""
import ctypes
import errno
import json
import mmap
import os
import socket
import struct
import subprocess
import sys
import time

import pytest

import assay
from assay import _memory, _wire

STATE = {"type": "state", "state": "verified", "checked_at": None, "request": 0, "findings": []}


def frame(body):
    return struct.pack("<I", len(body)) + body


def feed(data):
    return list(_wire.Reader().feed(data))


def test_frames_are_cut_anywhere():
    data = frame(json.dumps(STATE).encode()) * 3
    for step in (1, 2, 3, 5, 1000):
        reader, out = _wire.Reader(), []
        for at in range(0, len(data), step):
            out += reader.feed(data[at:at + step])
        assert out == [STATE] * 3


@pytest.mark.parametrize("body", [
    b"", b"[]", b"{}", b"null", b"{", b"\xff", b'{"type":"hello","protocol":1,"client":""}',
    b'{"type":"released","request":1,"request":2}', b'{"type":"released"}',
    b'{"type":"released","request":1,"more":1}', b'{"type":"released","request":-1}',
    b'{"type":"released","request":1.0}', b'{"type":"released","request":true}',
    b'{"type":"released","request":9007199254740992}', b'{"type":["released"],"request":1}',
    b'{"type":"export","request":1,"pieces":[]}', b'{"type":"export","request":1,"pieces":[2,1]}',
    b'{"type":"export","request":1,"pieces":[1,1]}', b'{"type":"export","request":1,"pieces":{"1":2}}',
    b'{"type":"welcome","protocol":2,"pod":"","container":""}',
    b'{"type":"registered","registration":"x"}', b"[" * 200000,
    json.dumps({**STATE, "state": "fine"}).encode(),
    json.dumps({**STATE, "findings": [{"kind": "odd", "tensor": "", "detail": ""}]}).encode(),
    json.dumps({**STATE, "findings": [{"kind": "error", "tensor": ""}]}).encode(),
    json.dumps({**STATE, "findings": [{"kind": "error", "tensor": "", "detail": ""}] * 17}).encode(),
])
def test_frames_that_are_refused(body):
    with pytest.raises(assay.ProtocolError):
        feed(frame(body))


def test_long_frames_are_refused_before_they_come():
    with pytest.raises(assay.ProtocolError, match="announced"):
        feed(struct.pack("<I", (1 << 20) + 1))


def test_own_frames_are_bounded():
    with pytest.raises(assay.ModelError, match="at most"):
        _wire.encode({"x": "y" * (24 << 20)})


def test_descriptors_travel_beside_the_first_byte():
    left, right = socket.socketpair()
    fd, _ = _memory.create(4096)
    _wire.send(left, {"type": "pieces", "x": "y" * 100000}, [fd])
    data, fds, _, _ = socket.recv_fds(right, 1, 10)
    assert len(data) == 1 and len(fds) == 1 and os.path.sameopenfile(fd, fds[0]) or os.fstat(fd) == os.fstat(fds[0])
    for one in (fd, *fds):
        os.close(one)
    left.close()
    right.close()


def test_few():
    assert list(_wire.few([])) == []
    assert list(_wire.few(["a"] * 40)) == [["a"] * 16, ["a"] * 16, ["a"] * 8]
    assert list(_wire.few(["a" * 300, "b" * 300, "c" * 512])) == [["a" * 300], ["b" * 300], ["c" * 512]]


@pytest.mark.parametrize("numbers, runs", [
    ([], []), ([4], [(0, 1)]), ([1, 2, 3], [(0, 3)]), ([1, 3, 4], [(0, 1), (1, 2)]),
    (list(range(600)), [(0, 253), (253, 253), (506, 94)]),
])
def test_consecutive(numbers, runs):
    assert list(_wire.consecutive(numbers)) == runs


def test_memory_files_are_sealed():
    fd, mapping = _memory.create(10000)
    mapping[:] = b"x" * 10000
    for size in (9999, 10001):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    again = _memory.reopen(fd)
    with pytest.raises(OSError):
        os.write(again, b"x")
    with pytest.raises(OSError):
        mmap.mmap(again, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    libc = ctypes.CDLL(None, use_errno=True)
    punch_hole = 0x2 | 0x1  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
    assert libc.fallocate(fd, punch_hole, ctypes.c_long(0), ctypes.c_long(4096)) == -1
    assert ctypes.get_errno() == errno.EPERM
    with pytest.raises(PermissionError):
        mapping.madvise(mmap.MADV_REMOVE)
    with pytest.raises(PermissionError):
        os.pwrite(fd, b"y", 0)
    mapping[0] = ord("z")  # its owner goes on writing
    assert os.pread(fd, 2, 0) == b"zx" and os.lseek(fd, 0, os.SEEK_HOLE) == 10000
    os.close(again)
    os.close(fd)


def test_arenas_are_found_by_address():
    mapping = _memory.new_arena(10000)
    base = _memory.address_of(mapping)
    arena = _memory.find(base + 5000, 5000)
    assert arena is not None and arena.size == 12288 and arena.mapped_at(_memory.Mappings())
    assert _memory.find(base + 5000, 10000) is None
    del mapping
    assert _memory.find(base, 1) is None


def test_hints():
    hints = assay.Hints()
    page = os.pread(hints.fileno(), 64, 0)
    assert page[:8] == b"ASSAYHNT" and struct.unpack("<7Q", page[8:]) == (1, 0, 0, 0, 0, 0, 0)
    with hints:
        assert struct.unpack("<2Q", os.pread(hints.fileno(), 16, 16)) == (1, 0)
    until = time.monotonic_ns()
    hints.idle_for(0.5)
    assert struct.unpack("<2Q", os.pread(hints.fileno(), 16, 16)) == (1, 1)
    (said,) = struct.unpack("<Q", os.pread(hints.fileno(), 8, 32))
    assert until + 500_000_000 <= said <= time.monotonic_ns() + 500_000_000
    hints.begin()
    assert os.pread(hints.fileno(), 8, 32) == bytes(8)
    hints.idle_until(5)
    assert os.pread(hints.fileno(), 8, 32) == struct.pack("<Q", 5)
    hints.close()
    hints.close()


def test_hints_cost_little(capsys):
    hints = assay.Hints()
    rounds, best = 20000, []
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(rounds):
            hints.begin()
            hints.end()
        best.append((time.perf_counter() - start) / rounds / 2)
    hints.close()
    with capsys.disabled():
        print(f" begin() or end(): {min(best) * 1e9:.0f} ns", end="")
    assert min(best) < 1e-6, f"{min(best) * 1e9:.0f} ns"


def test_hints_make_no_system_call():
    """In the strict mode of seccomp any call but read, write and exit ends the process."""
    script = ("import sys; sys.path[:0] = sys.argv[1:]; import assay, ctypes, os\n"
              "hints, libc = assay.Hints(), ctypes.CDLL(None)\n"
              "def steps(count):\n"
              "    for _ in range(count): hints.begin(); hints.end(); hints.idle_until(5)\n"
              "steps(2000)\n"
              "if libc.prctl(22, 1, 0, 0, 0) != 0: os.write(1, b'no seccomp'); os._exit(0)\n"
              "steps(20000); os.write(1, b'done')\n"
              "os._exit(0)")  # exit_group(), which is none of these
    out = subprocess.run([sys.executable, "-c", script, *sys.path], capture_output=True, text=True, timeout=60)
    if out.stdout == "no seccomp":
        pytest.skip("no seccomp")
    assert (out.stdout, out.returncode) == ("done", -9), out.stderr


def test_importing_needs_no_pytorch(tmp_path):
    script = ("import sys; sys.modules['torch'] = None; sys.path[:0] = sys.argv[2:]; import assay, socket\n"
              "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])\n"
              "try: assay.register(object(), artifact='assay-tree-v1-sha256:' + '0' * 64, socket=sys.argv[1])\n"
              "except assay.TorchMissing as error: print(error)")
    out = subprocess.run([sys.executable, "-c", script, str(tmp_path / "s"), *sys.path], capture_output=True,
                         text=True, timeout=60)
    assert "pip install torch" in out.stdout, out.stderr


@pytest.mark.parametrize("options, words", [
    ({"artifact": "x"}, "artifact"), ({"instance": "A"}, "instance"), ({"instance": "a" * 64}, "instance"),
    ({"rank": 1}, "rank"), ({"world": 1025}, "world"), ({"rank": -1}, "rank"), ({"period": 0}, "period"),
])
def test_arguments(options, words):
    with pytest.raises(ValueError, match=words):
        assay.register(object(), **{"artifact": "assay-tree-v1-sha256:" + "0" * 64, **options})
