#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signatures of OpenSSF Model Signing: how fast `assay verify` and `assay manifest import` are beside
what limits them, in the same run and taking turns.

  one file     beside one stream of OpenSSL over bytes in memory (hashlib): SHA-256 of one file is
               sequential, so this is the limit
  eight files  beside `model_signing verify` of the same files (with --model-signing PROGRAM)
  import       processor time, beside that of `assay verify` (flat digests) and `assay hash` (tree)
               of the same files together: each reads all files once, and so does the import

Usage: bench/model_signature.py ASSAY [--model-signing PROGRAM] [--mebibytes N] [--repeats N]
Prints one line of JSON: medians of the repeats, each with its ratio and its bar. The files are in the
page cache. Processes are measured whole, with their start.
"""
import argparse
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

FILES = 8
BAR_ONE = 0.95  # of the stream's rate
BAR_EIGHT = 2.0  # times as fast
BAR_IMPORT = 1.05  # of the processor time apart


def run(command):
    """Seconds of wall clock and of processor time."""
    start = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def stream(data):
    """Seconds of one stream of OpenSSL."""
    start = time.perf_counter()
    digest = hashlib.sha256()
    for begin in range(0, len(data), 1 << 20):
        digest.update(data[begin:begin + (1 << 20)])
    digest.digest()
    return time.perf_counter() - start


def fill(folder, count, size):
    folder.mkdir()
    block = os.urandom(1 << 20)
    for number in range(count):
        with open(folder / f"weights-{number}.bin", "wb", buffering=0) as file:
            for part in range(size >> 20):
                file.write(part.to_bytes(8, "little") + number.to_bytes(8, "little") + block[16:])


def median(values):
    return round(statistics.median(values), 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("--model-signing")
    parser.add_argument("--mebibytes", type=int, default=1024)  # of each model
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    assay = os.path.abspath(options.assay)
    os.umask(0o077)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        fill(folder / "one", 1, options.mebibytes << 20)
        fill(folder / "eight", FILES, (options.mebibytes << 20) // FILES)
        key = folder / "key.pem"
        run([assay, "key", "new", "--algorithm", "ecdsa-p384", "--out", key])
        for model in ("one", "eight"):
            run([assay, "sign", "--format", "oms", folder / model, "--key", key, "--out",
                 folder / f"{model}.sig"])
        data = memoryview((folder / "one/weights-0.bin").read_bytes())
        trust = ["--key", f"{key}.pub"]
        verify = {model: [assay, "verify", folder / model, folder / f"{model}.sig", *trust]
                  for model in ("one", "eight")}
        theirs = [options.model_signing, "verify", "key", folder / "eight", "--public_key",
                  f"{key}.pub", "--signature", folder / "eight.sig"]
        bring_in = {model: [assay, "manifest", "import", folder / model, folder / f"{model}.sig",
                            *trust, "--name", "a/b", "--out", folder / "manifest.json"]
                    for model in ("one", "eight")}
        tree = {model: [assay, "hash", folder / model, "--device", "cpu"]
                for model in ("one", "eight")}
        seen = {}

        def note(name, value):
            seen.setdefault(name, []).append(value)

        for _ in range(options.repeats):
            limit = stream(data)
            wall, processor = run(verify["one"])
            note("stream_seconds", limit)
            note("one_seconds", wall)
            note("one_of_stream", limit / wall)
            wall, _ = run(verify["eight"])
            note("eight_seconds", wall)
            if options.model_signing:
                other, _ = run(theirs)
                note("model_signing_seconds", other)
                note("eight_times_as_fast", other / wall)
            for model in ("one", "eight"):
                _, apart = run(tree[model])
                _, processor = run(verify[model])
                wall, together = run(bring_in[model])
                note(f"import_{model}_seconds", wall)
                note(f"import_{model}_of_apart", together / (apart + processor))
    result = {name: median(values) for name, values in seen.items()}
    result["bars"] = {"one_of_stream": BAR_ONE, "eight_times_as_fast": BAR_EIGHT,
                      "import_one_of_apart": BAR_IMPORT, "import_eight_of_apart": BAR_IMPORT}
    result["mebibytes"] = options.mebibytes
    result["repeats"] = options.repeats
    print(json.dumps(result))


if __name__ == "__main__":
    main()
