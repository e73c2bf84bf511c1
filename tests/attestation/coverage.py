#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which branches of attestation/ its tests take, counted by clang (make coverage).

Usage: coverage.py BUILD_DIR [--bar PERCENT] [--list] [--json FILE]

Runs the test programs and the replays of fuzz targets that link attestation, and prints the share
of branches taken, by file. Fails when it is below the bar, when a branch that no test takes has no
reason in uncovered.txt, and when a reason there is about a line that is gone. A reason for a branch
that this run shows as taken is told and no failure: counters of processes that are killed lose some,
and one outcome of a condition is what the other leaves of the whole. A branch is one of the
two outcomes of a condition. Conditions that mean "the system has no memory left" stand in
ASSAY_NO_MEMORY(...) and do not count.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
REASONS = ROOT / "tests/attestation/uncovered.txt"
PROGRAMS = ("attestation_tests", "cose_tests", "device_evidence_tests", "evidence_tests",
            "nvidia_registry_tests", "nvidia_tests", "oms_tests", "plugin_tests", "snp_test", "tdx_test", "x509_tests")
REPLAYS = ("cbor", "checkpoint", "corim", "cose", "ear", "envelope", "event_log", "identity_token",
           "nvidia_evidence", "nvidia_fwid", "nvidia_ocsp", "nvidia_opaque", "nvidia_report", "nvidia_rim",
           "oms", "plugin_answer", "snp_extensions", "snp_report", "tdx_collateral", "tdx_parts", "tdx_quote")
NO_MEMORY = "ASSAY_NO_MEMORY("


def find(build, name):
    found = [path for path in build.rglob(name) if path.is_file() and os.access(path, os.X_OK)]
    if not found:
        sys.exit(f"{build} has no {name}; build the target attestation-tests first")
    return found[0]


def run(build, raw):
    """Runs everything that counts. Returns the programs."""
    commands = [[str(find(build, name))] for name in PROGRAMS]
    for name in REPLAYS:
        places = [str(ROOT / f"tests/{where}/{name}") for where in ("fuzz/corpus", "vectors/regress")]
        commands.append([str(find(build, f"{name}_replay")), *places])

    def one(command):
        # %c: counters lie in the file, so that processes that are killed have counted as well.
        variables = dict(os.environ, LLVM_PROFILE_FILE=str(raw / "%c%m-%p.profraw"))
        done = subprocess.run(command, env=variables, capture_output=True, text=True, cwd=build)
        return command, done

    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for command, done in pool.map(one, commands):
            if done.returncode != 0:
                failed.append(command[0])
                print(done.stdout[-2000:], done.stderr[-2000:], file=sys.stderr)
    if failed:
        sys.exit("failed: " + ", ".join(failed))
    return [command[0] for command in commands] + [str(find(build, "assay-verifier-host"))]


def name_in_tree(build, name):
    """The compiler names files as seen from the build folder, or from the root of the tree."""
    path = ROOT / name
    for folder in (build, ROOT):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return name


def branches(build, programs, raw):
    """{(file, line, column, outcome): times} of attestation/, templates and headers joined."""
    merged = raw / "all.profdata"
    files = sorted(str(path) for path in raw.glob("*.profraw"))
    listing = raw / "files"
    listing.write_text("\n".join(files))
    subprocess.run(["llvm-profdata-19", "merge", "-sparse", "-failure-mode=all", "-f", str(listing),
                    "-o", str(merged)], check=True)
    command = ["llvm-cov-19", "export", f"-instr-profile={merged}", programs[0]]
    for program in programs[1:]:
        command += ["-object", program]
    command += ["-format=text", "-skip-expansions"]
    exported = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    taken = collections.Counter()
    for entry in exported["data"][0]["files"]:
        name = name_in_tree(build, entry["filename"])
        if not name.startswith("attestation/"):
            continue
        for line, column, _, _, yes, no, *_ in entry["branches"]:
            taken[name, line, column, "true"] += yes
            taken[name, line, column, "false"] += no
    return taken


def reasons():
    """{(file, text of the line): reason}"""
    result = {}
    if REASONS.exists():
        for line in REASONS.read_text().splitlines():
            if line and not line.startswith("#"):
                name, text, reason = (part.strip() for part in line.split(" | "))
                result[name, text] = reason
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--bar", type=float, default=95.0, help="percent that must be taken")
    parser.add_argument("--list", action="store_true", help="every branch that is not taken")
    parser.add_argument("--json", type=pathlib.Path, help="write the counts of each file there")
    options = parser.parse_args()
    build = options.build.resolve()
    raw = build / "coverage"
    raw.mkdir(exist_ok=True)
    for old in raw.iterdir():
        old.unlink()
    taken = branches(build, run(build, raw), raw)

    lines = {}
    known = reasons()
    there = set()
    used = set()
    counts = collections.defaultdict(lambda: [0, 0])
    without = []
    for (name, line, column, outcome), times in sorted(taken.items()):
        if name not in lines:
            lines[name] = (ROOT / name).read_text().splitlines()
        text = lines[name][line - 1].strip()
        if NO_MEMORY in text:
            continue
        there.add((name, text))
        counts[name][0] += 1
        counts[name][1] += 1 if times else 0
        if times:
            continue
        if (name, text) in known:
            used.add((name, text))
        else:
            without.append(f"{name}:{line}:{column}: never {outcome}: {text}")
    for name, (all_of_them, seen) in sorted(counts.items()):
        print(f"{100 * seen / all_of_them:6.1f} %  {seen:4} of {all_of_them:4}  {name}")
    everything = sum(count for count, _ in counts.values())
    seen = sum(count for _, count in counts.values())
    share = 100 * seen / everything
    print(f"{share:6.1f} %  {seen} of {everything} branches of attestation/ are taken by its tests; "
          f"{everything - seen - len(without)} of the others have a reason")
    if options.json:
        files = {name: {"branches": all_of_them, "taken": seen_there}
                 for name, (all_of_them, seen_there) in sorted(counts.items())}
        result = {"branches": everything, "taken": seen, "percent": round(share, 1),
                  "bar": options.bar, "with_reason": everything - seen - len(without),
                  "without_reason": without, "files": files}  # fmt: skip
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    if options.list:
        print("\n".join(without))
    stale = sorted(key for key in known if key not in there)
    for name, text in stale:
        print(f"uncovered.txt: {name} has no such line left: {text}", file=sys.stderr)
    for name, text in sorted(key for key, reason in known.items()
                             if key in there and key not in used and not reason.startswith("sometimes:")):
        print(f"taken in this run: {name}: {text}")
    if share < options.bar:
        print(f"below {options.bar:g} %", file=sys.stderr)
    if without:
        print(f"{len(without)} branches have no reason in uncovered.txt (--list)", file=sys.stderr)
    return 1 if share < options.bar or without or stale else 0


if __name__ == "__main__":
    sys.exit(main())
