# SPDX-License-Identifier: Apache-2.0
"""Figures of a run: kept as JSON after each part, printed as a table, compared with their bars."""
import json
import statistics
import sys
import time
import traceback

READ_GBPS = 4600.0  # of an H200, where the run itself could not measure reading
PLAN = (2.0, 9)  # seconds and slices of the default plan, which the bars are about
# Of the whole model every 2 s: percent of steps a second lost, and ratio of the p99 steps.
BARS = {"decode": (1.5, 1.15), "products": (2.5, 1.30)}
IDLE_BAR = (0.5, 1.02)  # with hints, and 5 % idle time
SATURATED_POINTS = 0.4  # above the floor, with hints and no idle time


class Report:
    """`file` is written after every part, so that a run that is cut short leaves what it has."""

    def __init__(self, file, budget, **about):
        self._file, self._end = file, time.monotonic() + budget
        self.json = {**about, "parts": {}, "figures": []}

    def left(self):
        """Seconds of the budget."""
        return self._end - time.monotonic()

    def part(self, name, work, needs=0.0):
        """Does a part; what it returns is kept. A failure is written down, and None is returned."""
        if self.left() < needs:
            self._keep(name, {"skipped": f"{needs:.0f} s are needed, {max(self.left(), 0):.0f} s are left"})
            return None
        start, found = time.monotonic(), None
        try:
            found = work()
            kept = dict(found) if isinstance(found, dict) else {}
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            kept = {"error": f"{type(error).__name__}: {error}"[:2000]}
        kept["part_seconds"] = round(time.monotonic() - start, 1)
        self._keep(name, kept)
        return found

    def _keep(self, name, found):
        self.json["parts"][name] = found
        said = found.get("error") or found.get("skipped") or "done"
        print(f"-- {name}: {said} ({found.get('part_seconds', 0)} s, {self.left():.0f} s left)", flush=True)
        self.write()

    def write(self):
        if self._file:
            self._file.write_text(json.dumps(self.json, indent=1, default=str) + "\n")

    def add(self, name, value, unit, bar=None, at_least=False, **details):
        """A figure; `bar` is the most it may be, or with `at_least` the least."""
        row = {"name": name, "value": value, "unit": unit, **details}
        if bar is not None:
            row["bar"] = bar
            row["reached"] = value is not None and (value >= bar if at_least else value <= bar)
        self.json["figures"].append(row)
        mark = {True: "reached", False: "NOT reached", None: ""}[row.get("reached")]
        limit = "" if bar is None else f"{'>=' if at_least else '<='} {bar:g}"
        print(f"   {name:<70} {'-' if value is None else f'{value:g}':>10} {unit:<6} {limit:>8} {mark}", flush=True)
        self.write()

    def reading_gbps(self):
        """What the card reads, measured in this run where that worked."""
        return self.json["parts"].get("plain", {}).get("reading_gbps")


def floor_percent(bytes_, period, reading_gbps):
    """Share of the time that reading all bytes once a period takes at the card's rate."""
    return 100 * bytes_ / ((reading_gbps or READ_GBPS) * 1e9) / period


def compare(watched, alone):
    """A watched run against the runs alone around it: steps lost, and the ratio of the slowest."""
    rate = statistics.mean(run["steps_per_second"] for run in alone)
    p99 = statistics.mean(run["p99_ms"] for run in alone)
    p50 = statistics.mean(run["p50_ms"] for run in alone)
    rates = [run["steps_per_second"] for run in alone]
    tails = [run["p99_ms"] for run in alone]
    return {"lost_percent": round(100 * (1 - watched["steps_per_second"] / rate), 3),
            "p99_ratio": round(watched["p99_ms"] / p99, 4), "p50_ratio": round(watched["p50_ms"] / p50, 4),
            "alone_spread_percent": round(100 * (max(rates) - min(rates)) / rate, 3),
            "alone_p99_spread_percent": round(100 * (max(tails) - min(tails)) / p99, 3)}


def bars_of(load, period, slices, hints, idle, floor):
    """(percent lost, ratio of p99) that are asked for, or None for either."""
    if (period, slices) != PLAN:
        return None, None
    if hints:
        return IDLE_BAR if idle else (round(floor + SATURATED_POINTS, 2), None)
    return (None, None) if idle else BARS[load]


def add_watch(report, bytes_, watched, alone, load, period, slices, hints="none", idle=False):
    """One row of the trade-off: how a load ran while it was watched."""
    floor = floor_percent(bytes_, period, report.reading_gbps())
    lost_bar, p99_bar = bars_of(load, period, slices, hints != "none", idle, floor)
    found = compare(watched, alone)
    how = (", hints" if hints != "none" else "") + (", idle time" if idle else "")
    name = f"{load}, all bytes every {period:g} s in {slices} slices{how}"
    details = {"sweep": "watch", "load": load, "period": period, "slices": slices, "hints": hints, "idle": idle}
    report.add(name + ": steps lost", found["lost_percent"], "%", lost_bar, **details, **found,
               floor_percent=round(floor, 3), watched=watched, alone=alone)
    report.add(name + ": p99 step", found["p99_ratio"], "x", p99_bar)
