# SPDX-License-Identifier: Apache-2.0
"""Keyed tags of tensors where they lie: two equal tags mean equal bytes, but for one case in 2^60 that chance decides.

Ranks share a seed and draw a key of each check from it. On CUDA: NH over blocks of 16 KiB, then NH over their sums, so
that 16 bytes come to the host for 16 MiB. Elsewhere: keyed BLAKE2b.
"""
from __future__ import annotations

import ctypes
import hashlib
from typing import Any, Sequence

from . import _model
from ._errors import ModelError

SIZE = 16  # bytes of a tag


def contiguous(tensor: Any) -> Any:
    """The tensor, or a copy of it whose bytes are in the order of its elements."""
    return tensor if tensor.is_contiguous() else tensor.contiguous()


def sha256(tensor: Any) -> str:
    """SHA-256 of the bytes, in hex; they are copied to the host."""
    return _hashed(hashlib.sha256(), tensor).hex()


def _hashed(hasher: Any, tensor: Any) -> bytes:
    host = contiguous(tensor.detach()).cpu()
    hasher.update(_bytes_of(host))
    return bytes(hasher.digest())


def _bytes_of(host: Any) -> Any:
    """Its bytes, which are there as long as the tensor is."""
    size = host.numel() * host.element_size()
    return (ctypes.c_char * size).from_address(host.data_ptr()) if size else b""


class HostTagger:
    name = "blake2b"

    def tags(self, tensors: Sequence[Any], key: bytes) -> list[bytes]:
        return [_hashed(hashlib.blake2b(key=key, digest_size=SIZE), tensor) for tensor in tensors]


class _Runs:
    """What one launch sums: runs of blocks of these (address, words), and where the sums of each lie."""

    def __init__(self, spans: Sequence[tuple[int, int]], block: int, run: int, device: Any) -> None:
        t = _model.torch()
        addresses, counts, places = [], [], []
        self.first: list[int] = []  # sum of each span
        self.sums = 0
        for address, words in spans:
            self.first.append(self.sums)
            for begin in range(0, words, block * run):
                count = min(words - begin, block * run)
                addresses.append(address + 4 * begin)
                counts.append(count)
                places.append(self.sums + begin // block)
            self.sums += -(-words // block)
        self.programs = len(addresses)
        self.table = (t.tensor(addresses, dtype=t.int64, device=device), t.tensor(counts, dtype=t.int32, device=device),
                      t.tensor(places, dtype=t.int64, device=device))
        self.out = t.empty(2 * max(self.sums, 1), dtype=t.int64, device=device)


class CudaTagger:
    """Keeps the tables of one list of tensors while these lie where they lay."""

    name = "nh"

    def __init__(self, device: Any) -> None:
        from . import _nh  # needs Triton, which comes with PyTorch for CUDA
        self._nh = _nh
        self._device = device
        self._known: list[tuple[int, int]] = []
        self._levels: list[_Runs] = []

    def tags(self, tensors: Sequence[Any], key: bytes) -> list[bytes]:
        t = _model.torch()
        copies = [self._whole_words(tensor.detach()) for tensor in tensors]  # alive until the sums are there
        spans = [(words.data_ptr(), words.numel() * words.element_size() // 4) for words in copies]
        if spans != self._known:
            self._levels = [_Runs(spans, self._nh.BLOCK, self._nh.RUN, self._device)]
            inner = self._levels[0]
            ends = [*inner.first[1:], inner.sums]
            above = [(inner.out.data_ptr() + SIZE * first, 4 * (end - first)) for first, end in zip(inner.first, ends)]
            self._levels.append(_Runs(above, self._nh.BLOCK, self._nh.RUN, self._device))
            self._known = spans
        size = 4 * self._nh.KEY
        keys = bytearray(hashlib.shake_256(key).digest(2 * size))
        words = t.frombuffer(keys, dtype=t.int32).to(self._device)
        for level, runs in enumerate(self._levels):
            if runs.programs:
                self._nh.nh[(runs.programs,)](*runs.table, words[level * self._nh.KEY:], runs.out, HALF=self._nh.HALF,
                                              LOW=0xFFFFFFFF, num_warps=8)
        outer = self._levels[1]
        host = outer.out.cpu()
        sums = bytes(_bytes_of(host))
        ends = [*outer.first[1:], outer.sums]
        return [hashlib.blake2b(sums[SIZE * first:SIZE * end], digest_size=SIZE).digest()
                for first, end in zip(outer.first, ends)]

    def _whole_words(self, tensor: Any) -> Any:
        """Contiguous words of 32 bits; a copy with zeros behind it where the tensor is none. Its size is known apart."""
        tensor = contiguous(tensor)
        size = tensor.numel() * tensor.element_size()
        if size % 4 == 0 and tensor.data_ptr() % 4 == 0:
            return tensor
        t = _model.torch()
        padded = t.zeros(-(-size // 4) * 4, dtype=t.uint8, device=tensor.device)
        padded[:size] = tensor.reshape(-1).view(t.uint8)
        return padded


def tagger_for(tensors: Sequence[Any]) -> Any:
    """For tensors of one device. Errors: ModelError when they are on several."""
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        raise ModelError(f"tensors of one rank lie on several devices: {sorted(map(str, devices))}")
    device = next(iter(devices), None)
    return CudaTagger(device) if device is not None and device.type == "cuda" else HostTagger()
