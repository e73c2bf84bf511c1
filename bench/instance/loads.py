# SPDX-License-Identifier: Apache-2.0
"""The model of the benchmark, the two loads that run on it, and the times of their steps.

`decode` multiplies one vector by all weights, as decoding one token does: reading memory bounds it.
`products` multiplies large matrices by a few of the weights: computing bounds it. On a GPU both are
CUDA graphs. The CPU stands in where there is no GPU, so that every part of the benchmark can be tried.
"""
import contextlib
import math
import time

PRODUCTS = 11  # of one step
ROWS = 8192  # of the matrix that `products` multiplies
CPU_ROWS = 64


def width_of(gib):
    """Of the square bf16 matrices: 128 MiB each, or 8 MiB in a small model."""
    return 8192 if gib >= 1 else 2048


def build(torch, gib, device, rank, world):
    """A module with random weights of `gib` GiB: of all layers number rank, rank + world, and so on.

    The values depend on the number of the layer alone, so every run has the same ones.
    """
    wide = width_of(gib)
    layers = torch.nn.ModuleDict()
    for at in range(max(2, round(gib * (1 << 30)) // (2 * wide * wide))):
        number = rank + at * world
        layer = torch.nn.utils.skip_init(torch.nn.Linear, wide, wide, bias=False, dtype=torch.bfloat16,
                                         device=device)
        generator = torch.Generator(device=device).manual_seed(1000 + number)
        with torch.no_grad():
            layer.weight.normal_(0, 1 / math.sqrt(wide), generator=generator)
        layers[str(number)] = layer.requires_grad_(False)
    return torch.nn.ModuleDict({"layers": layers})


class Load:
    """One of the two loads. step() runs one step and returns when the device has finished it."""

    def __init__(self, torch, name, model, device):
        self._torch, self._device = torch, device
        weights = [layer.weight for layer in model["layers"].values()]
        rows = 1 if name == "decode" else ROWS if device == "cuda" else CPU_ROWS
        self._weights = weights if name == "decode" else weights[:PRODUCTS]
        self._x, *self._buffers = (torch.randn(rows, weights[0].shape[0], device=device).to(torch.bfloat16)
                                   for _ in range(3))
        self._clamps = name == "decode"  # hundreds of layers would let the values drift
        self._graph = self._capture() if device == "cuda" else None

    def _body(self):
        y = self._x
        for at, weight in enumerate(self._weights):
            y = self._torch.mm(y, weight.t(), out=self._buffers[at % 2])
            if self._clamps:
                y.clamp_(-4, 4)

    def _capture(self):
        torch = self._torch
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._body()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._body()
        for _ in range(3):
            graph.replay()
        torch.cuda.synchronize()
        return graph

    def step(self):
        if self._graph is None:
            self._body()
        else:
            self._graph.replay()
            self._torch.cuda.synchronize()


class NoHints(contextlib.nullcontext):
    """Says nothing to anybody."""

    def idle_for(self, seconds):
        pass

    def offer(self, max_ms):
        pass


def run(load, seconds, idle=0.0, idle_after=0.0, hints=None, offer_ms=0, poll=None):
    """Runs steps for so long, or until `poll` says so; the times of the steps.

    `idle`: share of the time that the process sleeps, after the step that ends `idle_after` seconds of
    computing, and says so.
    `hints`: who is told (a NoHints, or what owner.py makes). `offer_ms`: before each step the process waits
    so long, at most, for slices of the watch that are due; 0: it does not. A step's time counts from before
    that wait to the end of the step, and does not count idle time.
    """
    hints = hints or NoHints()
    taken, busy = [], 0.0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds and not (poll and poll()):
        began = time.perf_counter()
        if offer_ms:
            hints.offer(offer_ms)
        with hints:
            load.step()
        taken.append(time.perf_counter() - began)
        busy += taken[-1]
        if idle and busy >= idle_after:
            pause = busy * idle / (1 - idle)
            hints.idle_for(pause)
            time.sleep(pause)
            busy = 0.0
    return summary(taken, time.perf_counter() - start)


def summary(taken, wall):
    """Rates and percentiles of steps that took so long each, in seconds."""
    ordered = sorted(taken)

    def percentile(share):
        return round(1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

    return {"steps": len(taken), "seconds": round(wall, 3), "steps_per_second": round(len(taken) / wall, 4),
            "p50_ms": percentile(0.5), "p99_ms": percentile(0.99), "longest_ms": percentile(1),
            "idle_percent": round(100 * max(0.0, 1 - sum(taken) / wall), 2)} if taken else {"steps": 0}
