#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The process that serves: holds the weights on the device, computes with them, registers them.

Started by bench/gpu_instance.py. Reads one JSON object a line from its standard input, {"number": ...,
"do": ...} with the arguments of the method of that name, and answers each with one line that has the same
number, and "error" where it failed. `start` computes until `stop` comes, which has no answer of its own;
commands between the two are done between two steps.
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import queue
import statistics
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2] / "python/src"), str(HERE.parents[1])]

from instance import loads  # noqa: E402

BLOCK = 64 << 20  # bytes copied from the device at a time
WRITERS = 8


class Told:
    """Hints in the form that loads.run() uses, over those of the package."""

    def __init__(self, hints, offer):
        self._hints, self._offer, self.slices = hints, offer, 0
        self.idle_for = hints.idle_for

    def __enter__(self):
        self._hints.begin()

    def __exit__(self, *_):
        self._hints.end()

    def offer(self, max_ms):
        """Waits so long, at most, for slices of the watch that are due."""
        if self._offer is not None:
            self.slices += self._offer(max_ms) or 0


class Exports:
    """When the node agent asked for descriptors, and when it had them: the length of a full pass.

    Between the last descriptors of a full pass and the next request, for the pieces that are drawn anew,
    the node agent imports the last pieces and hashes all bytes.
    """

    def __init__(self, link):
        self._frames, self._pieces = [], sum(piece.kind != "staged" for piece in link._plan.pieces)
        answer = link._on_export

        def timed(frame):
            asked = time.monotonic()
            answer(frame)
            self._frames.append((asked, time.monotonic(), len(frame["pieces"])))

        link._on_export = timed

    def clear(self):
        self._frames.clear()

    def summary(self):
        """Of the first full pass since clear(); times are those of time.monotonic()."""
        frames, seen = list(self._frames), 0
        for at, (_, answered, count) in enumerate(frames[:-1]):
            seen += count
            if seen < self._pieces:
                continue
            gaps = [after[0] - before[1] for before, after in zip(frames[:at], frames[1:at + 1])]
            imports = statistics.median(gaps) * count / frames[0][2] if gaps else 0.0
            longest = frames[at + 1][0] - answered
            return {"requests": at + 1, "export_seconds": round(sum(f[1] - f[0] for f in frames[:at + 1]), 4),
                    "import_seconds": round(sum(gaps) + imports, 4), "begin": frames[0][0],
                    "answered": answered, "end": frames[at + 1][0],
                    "hash_seconds": round(max(longest - imports, 0.0), 5)}
        return None


class Owner:
    def __init__(self, options):
        import torch

        import assay

        self.torch, self.assay, self.options = torch, assay, options
        self.model = loads.build(torch, options.gib, options.device, options.rank, options.world)
        self.tensors = dict(self.model.named_parameters())
        self.loads, self.registration, self.timed, self.hints = {}, None, None, loads.NoHints()
        self.commands, self.running = queue.Queue(), False
        self._sync()

    def _sync(self):
        if self.options.device == "cuda":
            self.torch.cuda.synchronize()

    def hello(self):
        cuda = self.options.device == "cuda"
        return {"bytes": sum(t.numel() * t.element_size() for t in self.tensors.values()),
                "tensors": list(self.tensors), "tensor_bytes": [t.numel() * 2 for t in self.tensors.values()],
                "device": self.torch.cuda.get_device_name() if cuda else "cpu", "pid": os.getpid(),
                "torch": self.torch.__version__}

    def shard(self, path, first, count):
        """Writes tensors `first` to `first + count - 1` as a safetensors file, block by block."""
        start, offset, header, chosen = time.monotonic(), 0, {}, list(self.tensors.items())[first:first + count]
        for name, tensor in chosen:
            size = tensor.numel() * tensor.element_size()
            header[name] = {"dtype": "BF16", "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        head = len(text).to_bytes(8, "little") + text
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.write(fd, head)
            os.ftruncate(fd, len(head) + offset)
            with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
                local, at, jobs = threading.local(), len(head), []
                for _, tensor in chosen:
                    flat = tensor.detach().view(self.torch.uint8).view(-1)
                    for begin in range(0, flat.numel(), BLOCK):
                        part = flat[begin:begin + BLOCK]
                        jobs.append(pool.submit(self._write, fd, part, at + begin, local))
                    at += flat.numel()
                for job in jobs:
                    job.result()
        finally:
            os.close(fd)
        return {"header": len(head), "bytes": len(head) + offset, "seconds": round(time.monotonic() - start, 3)}

    def _write(self, fd, part, offset, local):
        torch = self.torch
        if self.options.device == "cuda":
            if not hasattr(local, "buffer"):
                local.buffer = torch.empty(BLOCK, dtype=torch.uint8, pin_memory=True)
                local.stream = torch.cuda.Stream()
            with torch.cuda.stream(local.stream):
                local.buffer[:part.numel()].copy_(part, non_blocking=True)
            local.stream.synchronize()
            part = local.buffer[:part.numel()]
        else:
            part = part.clone()  # as an array, memory of PyTorch can no longer be moved
        rest = memoryview(part.numpy())
        while rest:
            done = os.pwrite(fd, rest, offset)
            rest, offset = rest[done:], offset + done

    def register(self, artifact, hints=False, rank=0, world=1, device=None):
        """Registers as this rank; with `hints`, loops that ask for them write into the registration's page.

        `device`: another device than the memory lies on, which the registration then claims.
        """
        start = time.monotonic()
        with self._claiming(device) if device else contextlib.nullcontext():
            self.registration = self.assay.register(self.model, artifact=artifact, socket=self.options.socket,
                                                    rank=rank, world=world)
        seconds = time.monotonic() - start
        self.hints = Told(self.registration.hints, self.registration.yield_slice) if hints else loads.NoHints()
        self.timed = Exports(self.registration._link)
        kinds = {}
        for piece in self.registration._link._plan.pieces:
            kinds[piece.kind] = kinds.get(piece.kind, 0) + 1
        return {"seconds": round(seconds, 3), "pieces": kinds}

    @contextlib.contextmanager
    def _claiming(self, device):
        layout = sys.modules["assay._layout"]
        build = layout.build

        def lying(*arguments):
            plan = build(*arguments)
            plan.device = device
            return plan

        layout.build = lying
        try:
            yield
        finally:
            layout.build = build

    def claimed(self):
        """The device that the registration names."""
        return {"device": self.registration._link._plan.device}

    def replace(self, piece):
        """From now on, exports of a piece are of another allocation of its size; the time before that.

        What the package itself compares would show it at once, so that is off for this piece.
        """
        piece = self.registration._link._plan.pieces[piece]
        other = self.torch.zeros(piece.size, dtype=self.torch.uint8, device=self.options.device)
        self._sync()
        driver, at = piece._driver, time.time()
        start, size = driver.address_range(other.data_ptr())
        handle = driver.retain(start)
        self.replaced, self.given = other, 0

        def export(maps):
            self.given += 1
            return driver.export(handle)

        piece.check, piece.export = (lambda maps: True), export
        return {"at": at, "bytes": [piece.size, size]}

    def replacements(self):
        """How often the other allocation was exported."""
        return {"given": self.given, "state": self.registration.state}

    def verify(self):
        self.timed.clear()
        start = time.monotonic()
        state = self.registration.verify_now()
        return {"state": state, "seconds": round(time.monotonic() - start, 4), "pass": self.timed.summary()}

    def exports(self, clear=False):
        found = self.timed.summary()
        if clear:
            self.timed.clear()
        return {"pass": found, "pieces": len(self.registration._link._plan.pieces)}

    def release(self):
        pieces = len(self.registration._link._plan.pieces)
        start = time.monotonic()
        self.registration.release()
        return {"seconds": round(time.monotonic() - start, 4), "pieces": pieces}

    def close(self):
        if self.registration is not None:
            self.registration.close()
        self.registration, self.hints = None, loads.NoHints()
        return {}

    def state(self):
        return {"state": self.registration.state,
                "findings": [[f.kind, f.tensor, f.detail] for f in self.registration.findings]}

    def flip(self, tensor, byte, bit):
        """Changes one bit on the device; the time before that."""
        at = time.time()
        flat = self.tensors[tensor].detach().view(self.torch.uint8).view(-1)
        flat[byte:byte + 1].bitwise_xor_(1 << bit)
        self._sync()
        return {"at": at}

    def load(self, name):
        if name not in self.loads:
            self.loads[name] = loads.Load(self.torch, name, self.model, self.options.device)
        return self.loads[name]

    def prepare(self):
        """Makes the loads; some steps of each, in milliseconds."""
        return {name: loads.run(self.load(name), 0.5)["p50_ms"] for name in ("decode", "products")}

    def loop(self, load, seconds, hints=False, **how):
        told = None
        if hints:  # the calls cost the same where nobody reads them
            if isinstance(self.hints, loads.NoHints):
                self.hints = Told(self.assay.Hints(), None)
            told = self.hints
        loaded = self.load(load)
        loads.run(loaded, min(1.0, seconds / 4))  # warm
        before = told.slices if told else 0
        found = loads.run(loaded, seconds, hints=told, **how)
        return dict(found, slices_offered=told.slices - before) if told else found

    def start(self, load):
        """Computes until `stop`, whose answer says how it went."""
        self.running = True
        return loads.run(self.load(load), float("inf"), poll=self._between)

    def stop(self):
        self.running = False

    def _between(self):
        while not self.commands.empty():
            self.obey(self.commands.get())
        return not self.running

    def obey(self, line):
        command = json.loads(line)
        number = command.pop("number")
        try:
            answer = getattr(self, command.pop("do"))(**command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        if answer is not None:
            print(json.dumps({"number": number, **answer}), flush=True)

    def serve(self):
        def read():
            for line in sys.stdin:
                self.commands.put(line)
            os._exit(0)  # whoever started this process has gone

        threading.Thread(target=read, daemon=True).start()
        print(json.dumps({"number": 0, **self.hello()}), flush=True)
        while True:
            self.obey(self.commands.get())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--socket", required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1, help="processes that the layers are dealt to")
    Owner(parser.parse_args()).serve()


if __name__ == "__main__":
    main()
