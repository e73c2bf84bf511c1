# SPDX-License-Identifier: Apache-2.0
"""The CUDA path over a driver made of memory files: which calls, when, and what is told.

The driver itself is tested where there is a GPU (test_gpu.py).
"""
import ctypes
import gc
import mmap
import os

import pytest

import assay
from assay import _cuda, _layout, _memory
from conftest import ARTIFACT, manifest_of, needs_torch, torch

if torch is not None:
    from torch.multiprocessing.reductions import StorageWeakRef

pytestmark = needs_torch
PIECE = 1 << 16


class Driver:
    """Allocations are memory files, side by side at one range of addresses, as expandable segments are."""

    def __init__(self, pieces=6, types=1):
        self.memory = mmap.mmap(-1, pieces * PIECE)
        self.base = _memory.address_of(self.memory)
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.mmap.restype = ctypes.c_void_p
        self.libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        self.handles, self.types, self.held = {}, {}, {}
        self.copies, self.entered, self.exports = 0, set(), 0
        for number in range(pieces):
            self.map(number, types)

    def map(self, number, types=1):
        """A fresh allocation at this place, with the bytes of the one before."""
        address = self.base + number * PIECE
        before = ctypes.string_at(address, PIECE)
        fd = os.memfd_create(_memory.NAME)
        os.ftruncate(fd, PIECE)
        os.pwrite(fd, before, 0)
        assert self.libc.mmap(address, PIECE, 3, 0x11, fd, 0) == address
        self.handles[address], self.types[fd] = fd, types

    def enter(self, ordinal):
        self.entered.add(ordinal)

    def relax_capture(self):
        pass

    def uuid(self, ordinal):
        return f"GPU-00000000-0000-0000-0000-00000000000{ordinal}"

    def address_range(self, address):
        return self.base + (address - self.base) // PIECE * PIECE, PIECE

    def retain(self, base):
        handle = self.handles[base]
        if self.types[handle] is None:
            raise _cuda.DriverError(1, "cuMemRetainAllocationHandle: CUDA_ERROR_INVALID_VALUE (1)")
        self.held[handle] = self.held.get(handle, 0) + 1
        return handle

    def release(self, handle):
        self.held[handle] -= 1
        assert self.held[handle] >= 0

    def handle_types(self, handle):
        return self.types[handle]

    def export(self, handle):
        assert self.held[handle] > 0
        self.exports += 1
        if not self.types[handle] & 1:
            raise _cuda.DriverError(801, "cuMemExportToShareableHandle: CUDA_ERROR_NOT_SUPPORTED (801)")
        return _memory.reopen(handle)

    def copy_to_host(self, ordinal, destination, source, size):
        assert self.entered
        self.copies += 1
        ctypes.memmove(destination, source, size)

    def close(self):
        for fd in self.types:
            os.close(fd)


@pytest.fixture
def driver(monkeypatch):
    made = []

    def make(**options):
        driver = Driver(**options)
        made.append(driver)
        monkeypatch.setattr(_cuda, "load", lambda: driver)
        monkeypatch.setattr(_layout, "device_of", lambda tensor: ("cuda", getattr(tensor, "ordinal", 0)))
        monkeypatch.setattr(_layout, "move_to_memory_files", lambda t, inventory: {})
        return driver
    yield make
    for one in made:
        assert not any(one.held.values()), "a handle is still held"
        one.close()


def tensors_of(driver, *spans):
    """Tensors at (offset, floats)."""
    out = {}
    for number, (offset, count) in enumerate(spans):
        tensor = torch.frombuffer(driver.memory, dtype=torch.float32, offset=offset, count=count)
        tensor.copy_(torch.randn(count))
        out[f"t{number}"] = tensor
    return out


def register(tensors, agent):
    agent.manifest = manifest_of(tensors)
    return assay.register(tensors, artifact=ARTIFACT, socket=agent.path, period=0.05)


def test_tensors_across_allocations(driver, agent):
    driver = driver()
    # One within a piece, one across three, one at the end; two pieces hold none.
    tensors = tensors_of(driver, (256, 1000), (PIECE - 400, PIECE // 2), (5 * PIECE, PIECE // 4))
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        frame = agent.of("register")[0]
        assert [p["kind"] for p in frame["pieces"]] == ["device"] * 4 and frame["window"] == 0
        assert frame["device"] == driver.uuid(0)
        assert {p["size"] for p in frame["pieces"]} == {PIECE}
        assert [len(t["parts"]) for t in frame["tensors"]] == [1, 3, 1]
        tensors["t1"][-1] += 1
        assert registration.verify_now() == "violated"
        assert registration.findings[0].tensor == "t1"


def test_storage_that_the_model_dropped_lives_until_release(driver, agent):
    driver = driver()
    tensors = tensors_of(driver, (0, 100), (PIECE, 100))
    dropped = StorageWeakRef(tensors["t0"].untyped_storage())
    with register(tensors, agent) as registration:
        # The same tensor, other storage: what the node agent was shown would be freed and used again.
        tensors["t0"].set_(torch.zeros(100))
        gc.collect()
        assert not dropped.expired()
        agent.wait(lambda: agent.of("changed"))
        assert registration.verify_now() == "violated"
    gc.collect()
    assert dropped.expired()


def test_another_allocation_at_the_same_address(driver, agent):
    driver = driver()
    tensors = tensors_of(driver, (0, 100), (PIECE, 100))
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        driver.map(1)  # the same bytes, the same pointers
        agent.wait(lambda: agent.of("changed"))
        assert agent.of("changed")[0]["tensors"] == ["t1"]
        assert registration.verify_now() == "violated"
        owner = agent.connections[0]
        assert owner.call(lambda: owner.export([1])) is None
        (fd,) = owner.call(lambda: owner.export([0]))
        os.close(fd)


@pytest.mark.parametrize("types, cause", [
    (None, "cudaMalloc"), (0, "allocated without a handle to export"), (8, "fabric handle"), (2, "handle of kind 2"),
])
def test_what_cannot_be_exported_is_staged(driver, agent, types, cause):
    driver = driver(types=types)
    tensors = tensors_of(driver, (1024, 3 * PIECE // 4))
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        frame = agent.of("register")[0]
        assert {(p["kind"], p["cause"]) for p in frame["pieces"]} == {("staged", cause)}
        # Of an allocation only the part that tensors lie in can be read.
        assert sum(p["size"] for p in frame["pieces"]) == 3 * PIECE
        assert frame["device"] == "" and driver.copies >= 4
        assert driver.exports == (types is not None)  # one attempt for all allocations of a kind
        tensors["t0"][0] += 1
        assert registration.verify_now() == "violated"


def test_other_devices_are_staged(driver, agent):
    driver = driver()
    tensors = tensors_of(driver, (0, 100), (PIECE, 1000))
    tensors["t0"].ordinal, tensors["t1"].ordinal = 1, 0
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        pieces = agent.of("register")[0]["pieces"]
        assert [(p["kind"], p["cause"]) for p in pieces] == [("staged", "on another device (cuda:1)"), ("device", "")]


def test_no_driver(driver, agent, monkeypatch):
    driver = driver()

    def fail():
        raise OSError("libcuda.so.1: cannot open shared object file")
    monkeypatch.setattr(_cuda, "load", fail)
    tensors = tensors_of(driver, (0, 100), (PIECE, 70))
    with register(tensors, agent) as registration:
        assert registration.verify_now() == "verified"
        assert {p["cause"] for p in agent.of("register")[0]["pieces"]} == \
            {"no CUDA driver: libcuda.so.1: cannot open shared object file"}


def test_release_lets_go_of_handles(driver, agent):
    driver = driver()
    with register(tensors_of(driver, (0, 100)), agent) as registration:
        assert any(driver.held.values())
        registration.release()
        assert not any(driver.held.values())


def test_a_failed_plan_holds_nothing(driver):
    driver = driver()
    tensors = tensors_of(driver, (0, 100))
    tensors["part"] = tensors["t0"][:50]
    with pytest.raises(assay.ModelError):
        _layout.build(tensors)
    assert not any(driver.held.values())


def test_the_structure_of_properties_is_that_of_the_driver():
    assert ctypes.sizeof(_cuda._AllocationProp) == 32
    assert _cuda._AllocationProp.handle_types.offset == 4
