#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a manifest costs to make and to verify, by what it lists, and what very many small tensors
cost: processor time, wall clock and greatest memory of the assay program on safetensors shards that
are in the page cache. Beside it SHA-256 by OpenSSL over the same bytes, read by `openssl dgst`.

Usage: bench/manifest_cost.py [--assay PROGRAM] [--mebibytes N] [--repeats N]
Prints a line of JSON for each figure: the medians of repeats that take turns. Exits with 1 when
listing the tensors of large shards costs more than 1.05 times what listing files does. Entries of
very many small tensors cost more than their bytes: each is written, signed and read.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SHARDS = 8
BAR = 1.05  # processor time of a list of tensors by that of files


def write_shard(path, tensors, size):
    """A safetensors file of so many tensors, which have `size` bytes together."""
    header, at = {}, 0
    for number in range(tensors):
        end = (number + 1) * size // tensors
        header[f"layer.{number}"] = {"dtype": "U8", "shape": [end - at], "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    block = os.urandom(1 << 20)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for begin in range(0, size, len(block)):
            file.write(block[: size - begin])


def measure(command):
    """Processor seconds, wall seconds and MiB of one run."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: {errors.decode()}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, usage.ru_maxrss / 1024


def runs_of(assay, folder, model):
    create = [assay, "manifest", "create", model, "--name", "acme/bench", "--device", "cpu"]
    key = folder / "k.pem"
    if not key.exists():
        subprocess.run([assay, "key", "new", "--out", key], check=True, stdout=subprocess.DEVNULL)
    found = {}
    for objects in ("both", "files"):
        signed = folder / f"{model.name}.{objects}.json"
        made = [*create, "--objects", objects, "--key", key, "--out", signed]
        found[f"create {objects}"] = made
        found[f"verify {objects}"] = [assay, "manifest", "verify", signed, model, "--key", f"{key}.pub",
                                      "--device", "cpu"]  # fmt: skip
    found["openssl"] = ["openssl", "dgst", "-sha256", *sorted(model.iterdir())]
    return found


def compare(assay, folder, model, repeats):
    runs = runs_of(assay, folder, model)
    taken = {name: [] for name in runs}
    for _ in range(repeats + 1):  # the first one is warm-up
        for name, command in runs.items():
            taken[name].append(measure(command))
    cost = {}
    for name, figures in taken.items():
        cpu, wall, memory = (round(statistics.median(column), 3) for column in zip(*figures[1:]))
        cost[name] = cpu
        print(json.dumps({"model": model.name, "run": name, "cpu_s": cpu, "wall_s": wall, "peak_mib": memory}))
    return cost["create both"] / cost["create files"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay", default="build/release/bin/assay")
    parser.add_argument("--mebibytes", type=int, default=2048)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    assay = pathlib.Path(options.assay).resolve()
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top)
        ratios = {}
        for name, tensors, size in (("shards", 40, options.mebibytes << 20), ("small-tensors", 10_000, 200 << 20)):
            model = folder / name
            model.mkdir()
            for number in range(SHARDS):
                write_shard(model / f"model-{number}.safetensors", tensors // SHARDS, size // SHARDS)
            ratios[name] = compare(assay, folder, model, options.repeats)
            print(json.dumps({"model": name, "both_by_files": round(ratios[name], 3)}))
    return 1 if ratios["shards"] > BAR else 0


if __name__ == "__main__":
    sys.exit(main())
