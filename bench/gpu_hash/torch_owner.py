#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shares tensors of a stock PyTorch over a Unix socket (bench/gpu_hash/owner_channel.h).

Usage: torch_owner.py SOCKET GIBIBYTES [CHECK_FILE]

The tensors are what a model would be: random, of many sizes, allocated by PyTorch's own allocator
with expandable segments, whose pieces of 20 MiB the CUDA driver exports as file descriptors. The
bytes of the first tensor go to CHECK_FILE. Ends when the other side hangs up.
"""
import ctypes
import os
import socket
import struct
import sys

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
import torch  # noqa: E402  (the allocator reads the variable when it is loaded)

CUDA = ctypes.CDLL("libcuda.so.1")
BATCH = 253


def call(name, *args):
    result = getattr(CUDA, name)(*args)
    if result != 0:
        raise SystemExit(f"torch_owner: {name} failed with {result}")


class Pieces:
    """Allocations that tensors lie in, each exported once."""

    def __init__(self):
        self.by_base = {}
        self.fds = []
        self.sizes = []

    def at(self, address):
        base, size = ctypes.c_uint64(), ctypes.c_size_t()
        call("cuMemGetAddressRange_v2", ctypes.byref(base), ctypes.byref(size),
             ctypes.c_uint64(address))
        if base.value not in self.by_base:
            handle, fd = ctypes.c_uint64(), ctypes.c_int()
            call("cuMemRetainAllocationHandle", ctypes.byref(handle),
                 ctypes.c_void_p(base.value))
            call("cuMemExportToShareableHandle", ctypes.byref(fd), handle, 1, ctypes.c_uint64(0))
            call("cuMemRelease", handle)
            self.by_base[base.value] = (len(self.fds), base.value, size.value)
            self.fds.append(fd.value)
            self.sizes.append(size.value)
        return self.by_base[base.value]

    def parts(self, tensor):
        address = tensor.data_ptr()
        rest = tensor.numel() * tensor.element_size()
        while rest > 0:
            number, base, size = self.at(address)
            offset = address - base
            take = min(rest, size - offset)
            yield number, offset, take
            address += take
            rest -= take


def main():
    path, gibibytes = sys.argv[1], float(sys.argv[2])
    generator = torch.Generator(device="cuda").manual_seed(1)
    tensors, total = [], 0
    sizes = [5_000_011, 64 << 20, 411_041_792, 33_554_432, 8192, 180_355_072, 1_000_003 * 2]
    while total < gibibytes * (1 << 30):
        count = sizes[len(tensors) % len(sizes)] // 4
        tensors.append(torch.randint(-2**31, 2**31 - 1, (count,), dtype=torch.int32, device="cuda",
                                     generator=generator))
        total += count * 4
    torch.cuda.synchronize()
    if len(sys.argv) > 3:
        with open(sys.argv[3], "wb") as check:
            check.write(tensors[0].cpu().numpy().tobytes())
    pieces = Pieces()
    objects = [list(pieces.parts(tensor)) for tensor in tensors]
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(path):
        os.unlink(path)
    listener.bind(path)
    listener.listen(1)
    print(f"torch_owner: {len(tensors)} tensors, {total} bytes, {len(pieces.fds)} pieces of "
          f"{min(pieces.sizes)} to {max(pieces.sizes)} bytes", flush=True)
    peer, _ = listener.accept()
    for at in range(0, len(pieces.fds), BATCH):
        fds = pieces.fds[at:at + BATCH]
        socket.send_fds(peer, [struct.pack("<Q", len(fds))], fds)
        peer.sendall(struct.pack(f"<{len(fds)}Q", *pieces.sizes[at:at + BATCH]))
    peer.sendall(struct.pack("<Q", 0))
    peer.sendall(struct.pack("<Q", len(objects)))
    for parts in objects:
        peer.sendall(struct.pack("<Q", len(parts)) +
                     b"".join(struct.pack("<3Q", *part) for part in parts))
    for fd in pieces.fds:
        os.close(fd)
    peer.recv(1)


if __name__ == "__main__":
    main()
