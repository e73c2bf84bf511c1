#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs on processors that this machine does not have.

other_processors.py BIN GPU_HASH_TESTS MASK PROCESSOR [--all]

PROCESSOR is a model that qemu-x86_64 emulates (Nehalem, Westmere, Haswell), or instructions that
MASK (tests/gpu_hash/cpu/masked_processor.cc) hides from this machine's own: "without:avx512,gfni".
`assay hash`, `manifest create` and `device list` run there, then tests of GPU_HASH_TESTS: those of
the CPU engine, or all with --all. Exits with 77 where the machine can do neither.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# What chooses by the processor's features, and what runs the code that was chosen.
QUICK = "LeafVariants.*:*EveryVariant.*:CpuEngine.*:*Nist*"
# Under emulation a device that is a CPU would be compiled for by the driver's own compiler.
NO_OPENCL = {"OCL_ICD_VENDORS": "/nonexistent"}


def skip(why):
    print("skipped:", why)
    sys.exit(SKIPPED)


def environment_and_prefix(assay, mask, processor):
    """What makes a command run on `processor`."""
    if processor.startswith("without:"):
        hidden = {"HIDE_INSTRUCTIONS": processor.removeprefix("without:"), "LD_PRELOAD": mask}
        probe = subprocess.run([assay, "--version"], env={**os.environ, **hidden}, capture_output=True, text=True)
        if probe.returncode == SKIPPED:
            skip(probe.stderr.strip())
        return hidden, []
    if os.uname().machine != "x86_64" or shutil.which("qemu-x86_64") is None:
        skip("qemu-x86_64 (Debian qemu-user) is not here, or this is no x86 processor")
    return NO_OPENCL, ["qemu-x86_64", "-cpu", processor]


def run(command, environment):
    result = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {result.returncode}\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
    return result.stdout


def check_programs(assay, environment, prefix, work):
    model = work / "model"
    model.mkdir()
    for name, size in (("empty", 0), ("small", 70_001), ("large", 3_000_000)):
        (model / name).write_bytes(bytes(i * i % 251 for i in range(size)))
    for algorithm in ("sha256", "sha384"):
        command = [assay, "hash", model, "--hash", algorithm, "--device", "cpu", "-o", "json"]
        there = json.loads(run(prefix + command, environment))
        here = json.loads(run(command, {}))
        if there["artifact"] != here["artifact"]:
            sys.exit(f"{algorithm}: {there['artifact']} instead of {here['artifact']}")
        print(f"{algorithm}: {there['driver']}")
    manifest = work / "manifest.json"
    run(prefix + [assay, "manifest", "create", model, "--name", "acme/model", "--out", manifest], environment)
    listed = json.loads(run(prefix + [assay, "device", "list", "-o", "json"], environment))
    if "cpu" not in json.dumps(listed):
        sys.exit(f"device list: {listed}")


def main():
    binaries, tests, mask, processor = sys.argv[1:5]
    assay = pathlib.Path(binaries) / "assay"
    environment, prefix = environment_and_prefix(assay, mask, processor)
    with tempfile.TemporaryDirectory() as work:
        environment["HOME"] = work
        check_programs(assay, environment, prefix, pathlib.Path(work))
        some = [] if "--all" in sys.argv[5:] else [f"--gtest_filter={QUICK}"]
        output = run(prefix + [tests, *some], environment)
        print(*[line for line in output.splitlines() if "tests ran" in line or "PASSED" in line], sep="\n")


if __name__ == "__main__":
    main()
