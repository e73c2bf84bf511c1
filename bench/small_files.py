#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many small files in the page cache: how fast `assay hash` is beside the same bytes in large files,
and what a file of 1 KiB costs in processor time. Beside it, what `cat` takes to read the same files.

Usage: bench/small_files.py ASSAY [--files N] [--repeats N] [--folder FOLDER]
Prints one line of JSON. Rates in GB/s (10^9 bytes) of wall clock, processor time in microseconds a
file, whole processes, best of the repeats, which take turns. Needs twice the bytes (13 GB with
100,000 files) on the disk and in the page cache.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

KIB = 1 << 10
A_FOLDER = 1000  # files
LARGE = 16  # files
BAR_RATIO = 0.5
BAR_MICROSECONDS = 25


def fill(folder, count, size):
    """`count` files of `size` bytes, no two alike, in folders of 1,000."""
    block = os.urandom(min(size, 1 << 20))
    for number in range(count):
        place = folder / str(number // A_FOLDER)
        place.mkdir(parents=True, exist_ok=True)
        with open(place / f"file-{number}", "wb", buffering=0) as file:
            file.write(number.to_bytes(8, "little") + block[8:])
            for _ in range(size // len(block) - 1):
                file.write(block)


def run(command):
    """Seconds of wall clock and of processor time."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", help="where the files are made (default: the temporary folder)")
    options = parser.parse_args()
    top = pathlib.Path(tempfile.mkdtemp(dir=options.folder))
    try:
        sizes = {"64 KiB": (options.files, 64 * KIB), "1 KiB": (options.files, KIB),
                 "large": (LARGE, options.files * 64 * KIB // LARGE)}  # fmt: skip
        best = {}
        for name, (count, size) in sizes.items():
            fill(top / name, count, size)
        for _ in range(options.repeats + 1):  # the first one fills the page cache
            for name in sizes:
                for what, command in (
                        ("hash", [options.assay, "hash", top / name, "--device", "cpu", "--quiet"]),
                        ("cat", ["find", top / name, "-type", "f", "-exec", "cat", "{}", "+"])):  # fmt: skip
                    wall, processor = run(command)
                    known = best.get((name, what), (wall, processor))
                    best[name, what] = min(known[0], wall), min(known[1], processor)
    finally:
        shutil.rmtree(top)
    total = options.files * 64 * KIB
    rates = {name: total / best[name, "hash"][0] / 1e9 for name in ("64 KiB", "large")}
    costs = {f"{name}, {what}": best[name, what][1] / options.files * 1e6
             for name in ("64 KiB", "1 KiB") for what in ("hash", "cat")}  # fmt: skip
    ratio = rates["64 KiB"] / rates["large"]
    print(json.dumps({
        "files": options.files, "cores": os.cpu_count(),
        "gbps": {name: round(rate, 3) for name, rate in rates.items()},
        "ratio": round(ratio, 3), "ratio_bar": BAR_RATIO, "ratio_reached": ratio >= BAR_RATIO,
        "microseconds_a_file": {name: round(cost, 1) for name, cost in costs.items()},
        "microseconds_bar": BAR_MICROSECONDS,
        "microseconds_reached": costs["1 KiB, hash"] <= BAR_MICROSECONDS}))  # fmt: skip


if __name__ == "__main__":
    main()
