#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rate of Python's hashlib over a thread pool, file shards hashed as streams: how model signing
tools in Python do it. Beside it, in the same run and taking turns, the assay program on the same
files.

Usage: bench/hashlib_rate.py [--assay PROGRAM] [--mebibytes N] [--files N] [--repeats N]
Prints one line of JSON with medians in GB/s (10^9 bytes). The files are in the page cache.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

SHARD = 1 << 30  # bytes hashed as one stream
READ = 1 << 20  # bytes of one read


def hash_shard(task):
    path, begin, end = task
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        file.seek(begin)
        while begin < end:
            data = file.read(min(READ, end - begin))
            if not data:
                raise OSError("the file became shorter")
            digest.update(data)
            begin += len(data)
    return digest.digest()


def hashlib_pool(files):
    tasks = [(path, begin, min(begin + SHARD, path.stat().st_size))
             for path in files for begin in range(0, path.stat().st_size, SHARD)]  # fmt: skip
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        return list(pool.map(hash_shard, tasks))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--assay")
    parser.add_argument("--mebibytes", type=int, default=512)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        block = os.urandom(1 << 20)
        files = []
        for number in range(options.files):
            files.append(pathlib.Path(folder) / f"shard-{number}.bin")
            with open(files[-1], "wb") as file:
                for _ in range(options.mebibytes // options.files):
                    file.write(block)
        total = sum(path.stat().st_size for path in files)
        ways = {"hashlib, thread pool": lambda: hashlib_pool(files)}
        if options.assay:
            for threads in (0, 1):
                command = [options.assay, "hash", folder, "--device", "cpu", "--quiet",
                           *(["--threads", str(threads)] if threads else [])]  # fmt: skip
                name = f"assay hash, {threads or 'all'} threads, whole process"
                ways[name] = lambda command=command: subprocess.run(
                    command, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        rates = {name: [] for name in ways}
        for _ in range(options.repeats):
            for name, way in ways.items():
                start = time.perf_counter()
                way()
                rates[name].append(total / (time.perf_counter() - start) / 1e9)
    print(json.dumps({"bytes": total, "files": options.files, "cores": os.cpu_count(),
                      "gbps": {name: statistics.median(values) for name, values in rates.items()}}))  # fmt: skip


if __name__ == "__main__":
    main()
