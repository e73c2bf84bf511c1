#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replicas on two GPUs: what a check of assay.ranks costs, beside the memory's own rate and the check on the CPU that
training frameworks have (each parameter copied to the host, SHA-1, the digests gathered and compared).

Usage: bench/ranks.py [--gb N] [--layers N] [--rounds N] [--json FILE]      (starts one process for each GPU)

  copy    a copy within the device of the same bytes: what its memory does
  tags    kernels, and 16 bytes for 16 MiB to the host
  check   all of it: names, tags, root, one all_gather of 32 bytes
  cpu     the same question answered on the CPU
  steps   a loop with real gradients (DDP, SGD), without checks and with one every so many steps
  flip    one bit of one tensor of the second rank changes: it must be named, and nothing else

Ends with 1 when a check says something else than what is so.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "python" / "src")]

BAR_MS_PER_GB = 15 / 20
BAR_TIMES = 300
WIDTH = 8192


def ready(torch):
    torch.cuda.synchronize()
    return time.perf_counter()


def timed(torch, dist, rounds, call):
    """Median and largest in milliseconds, of rounds that all ranks begin together."""
    times = []
    for _ in range(rounds):
        dist.barrier()
        start = ready(torch)
        call()
        times.append(1e3 * (ready(torch) - start))
    return {"ms": round(statistics.median(times), 3), "ms_max": round(max(times), 3)}


def on_the_cpu(torch, dist, model):
    """Megatron's check by its description: copy, SHA-1, all_gather of the digests, compared with replica 0."""
    for parameter in model.parameters():
        data = parameter.detach().cpu().view(torch.uint8)
        digest = torch.frombuffer(bytearray(hashlib.sha1(memoryview(data.numpy())).digest()), dtype=torch.uint8).cuda()
        every = [torch.empty_like(digest) for _ in range(dist.get_world_size())]
        dist.all_gather(every, digest)
        assert all(bool((one == every[0]).all()) for one in every)


def step_times(torch, model, optimizer, steps):
    batch = torch.randn(256, WIDTH, device="cuda", dtype=torch.bfloat16)
    start = ready(torch)
    for _ in range(steps):
        optimizer.zero_grad()
        model(batch).float().pow(2).mean().backward()
        optimizer.step()
    return 1e3 * (ready(torch) - start) / steps


def steps_with(torch, ranks, model, plain, options):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    step_times(torch, model, optimizer, 3)
    rows = []
    for every in (0, 1, 10, 100):
        check = ranks.check(plain, every=every, optimizer=optimizer) if every else None
        milliseconds = step_times(torch, model, optimizer, 100 if every == 100 else 20)
        if check is not None:
            check.remove()
        rows.append({"every": every, "ms_per_step": round(milliseconds, 3)})
    for row in rows:
        row["share"] = round(row["ms_per_step"] / rows[0]["ms_per_step"] - 1, 5)
    return rows


def flipped(torch, ranks, dist, model):
    check = ranks.check(model, on_difference=lambda outcome: None)
    quiet = list(check.now().differences)
    name, tensor = list(model.named_parameters())[7]
    place = tensor.numel() - 1
    if dist.get_rank() == 1:
        tensor.detach().view(-1).view(torch.uint8)[2 * place] ^= 1
    start = time.perf_counter()
    found = check.now()
    seconds = time.perf_counter() - start
    if dist.get_rank() == 1:
        tensor.detach().view(-1).view(torch.uint8)[2 * place] ^= 1
    named = [one.tensor for one in found.differences]
    return {"ok": quiet == [] and named == [name] and list(check.now().differences) == [], "named": named,
            "seconds": round(seconds, 3)}


def rank_main(rank, world, store, options):
    import torch
    import torch.distributed as dist

    from assay import ranks
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=world)
    layer = WIDTH * WIDTH * 2 + 4 * WIDTH
    count = options.layers or max(1, options.gb * 1000**3 // layer)
    torch.manual_seed(5)
    with torch.device("cuda"):
        model = torch.nn.Sequential(*[part for _ in range(count) for part in (
            torch.nn.Linear(WIDTH, WIDTH, bias=False, dtype=torch.bfloat16), torch.nn.RMSNorm(WIDTH, dtype=torch.bfloat16))])
    size = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    check = ranks.check(model)
    tagger = check._sets[0].tagger
    tensors = [parameter for parameter in model.parameters()]
    key = bytes(32)
    result = {"bytes": size, "tensors": len(tensors), "tagger": tagger.name}
    target = torch.empty(max(t.numel() for t in tensors), dtype=torch.bfloat16, device="cuda")
    for _ in range(3):
        check.now()
    result["copy"] = timed(torch, dist, options.rounds, lambda: [target[:t.numel()].copy_(t.view(-1)) for t in tensors])
    result["tags"] = timed(torch, dist, options.rounds, lambda: tagger.tags(tensors, key))
    result["check"] = timed(torch, dist, options.rounds, check.now)
    result["cpu"] = timed(torch, dist, 2, lambda: on_the_cpu(torch, dist, model))
    result["flip"] = flipped(torch, ranks, dist, model)
    check.remove()
    del target
    parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
    result["steps"] = steps_with(torch, ranks, parallel, model, options)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        gigabytes = size / 1e9
        result["check"].update(gb_per_second=round(gigabytes / result["check"]["ms"] * 1e3, 1),
                               bar_ms=round(BAR_MS_PER_GB * gigabytes, 2))
        result["copy"]["gb_read_per_second"] = round(gigabytes / result["copy"]["ms"] * 1e3, 1)
        result["times_the_cpu"] = {"measured": round(result["cpu"]["ms"] / result["check"]["ms"], 1), "bar": BAR_TIMES}
        result["gpu"] = torch.cuda.get_device_name(0)
        result["torch"] = torch.__version__
        print(json.dumps(result, indent=1))
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps({"benchmark": "ranks", **result}, indent=1) + "\n")
    return 0 if result["flip"]["ok"] else 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gb", type=int, default=20, help="gigabytes of parameters on each GPU")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--store")
    options = parser.parse_args()
    if options.rank is not None:
        raise SystemExit(rank_main(options.rank, options.gpus, options.store, options))
    with tempfile.TemporaryDirectory() as folder:
        processes = [subprocess.Popen([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--rank", str(rank),
                                       "--store", f"{folder}/store"]) for rank in range(options.gpus)]
        raise SystemExit(max(process.wait() for process in processes))


if __name__ == "__main__":
    main()
