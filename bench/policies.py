#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks of policies, lineages and impact, and writes their figures as one file for bench/results.

Usage: policies.py BUILD_DIR OUT.json [NOTE]      bench/plot.py OUT.json PREFIX draws how they grow
"""
import json
import os
import pathlib
import platform
import subprocess
import sys

COMMANDS = {"evaluate": "policy_evaluate_bench", "match": "policies_match_bench", "lineage": "lineage_store_bench",
            "impact": "impact_bench"}
# Of the rows of a benchmark: what it grows with, and its members with their unit in us.
GROWTH = {"match": ("policies", {"each looked at": ("scanned_us", 1), "through the index": ("indexed_us", 1)}),
          "lineage": ("nodes", {"read cold": ("cold_ms", 1000), "collected from memory": ("memory_ms", 1000),
                                "judged": ("judged_ms", 1000), "judged again": ("again_us", 1),
                                "found warm": ("warm_us", 1)})}


def limits(results):
    """[{"growth", "line", "limit": its words, "us"}]: the bars that the programs hold their figures to."""
    one = results["evaluate"]["limits"]["us"]
    rows = [{"growth": what, "line": "one evaluation", "limit": "limit, 12 statements", "us": one}
            for what in dict.fromkeys(row["growth"] for row in results["evaluate"]["figures"])]
    match, lineage = results["match"], results["lineage"]["limits"]
    rows.append({"growth": "policies in force", "line": "through the index", "limit": f"limit at {match['at']:,}",
                 "us": match["limit_added_us"] + match["rows"][0]["indexed_us"]})
    rows.append({"growth": "nodes", "line": "read cold", "limit": "limit, cold", "us": lineage["cold_ms"] * 1000})
    rows.append({"growth": "nodes", "line": "found warm", "limit": "limit, warm", "us": lineage["warm_us"]})
    return rows


def growth(results):
    """[{"growth": what grows, "line", "x", "us"}] of all results."""
    rows = [{"growth": row["growth"], "line": "one evaluation", "x": row["x"], "us": row["us"]}
            for row in results["evaluate"]["figures"]]
    for name, (what, lines) in GROWTH.items():
        of = {"policies": "policies in force"}.get(what, what)
        rows += [{"growth": of, "line": line, "x": row[what], "us": row[member] * unit}
                 for line, (member, unit) in lines.items() for row in results[name]["rows"]]
    return rows


def main():
    build, out, *note = sys.argv[1:]
    results, kept = {}, True
    for name, program in COMMANDS.items():
        run = subprocess.run([pathlib.Path(build) / "bin" / program, "json=-"], stdout=subprocess.PIPE, check=False)
        if run.returncode not in (0, 1):
            sys.exit(f"{program} failed")
        kept = kept and run.returncode == 0
        results[name] = json.loads(run.stdout)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True, check=False)
    report = {"commit": commit.stdout.strip(), "build": "release", "machine": platform.machine(),
              "cores": os.cpu_count(), "kernel": platform.release(), "note": " ".join(note),
              "commands": [f"{program} json=-" for program in COMMANDS.values()], "kept": kept,
              "results": results, "figures": growth(results), "limits": limits(results)}
    pathlib.Path(out).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
