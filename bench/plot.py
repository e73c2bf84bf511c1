#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws sweeps as SVG: of gpu_hash_device_bench the rate against x, the limit as a dashed line; of
gpu_instance.py what a load loses to the watch against the number of slices, a line for each period, and
dotted what is asked of the default period; of policies.py what an evaluation takes against what grows, both on logarithmic scales, limits as dashed lines.

Usage: plot.py FIGURES.json... OUT_PREFIX      several files of gpu_instance.py make one plot
"""
import json
import math
import pathlib
import statistics
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent)]

from instance import figures  # noqa: E402

AXES = {"chunk_size": "chunk size, bytes", "object_size": "size of one object, bytes",
        "objects": "objects in 1 GB", "devices": "GPUs"}
WATCH = {"lost": ("lost_percent", "steps a second lost, %"), "p99": ("p99_ratio", "p99 step, watched : alone")}
DASHES = {"decode": "none", "products": "7 4"}
COLOURS = ("#06c", "#c30", "#390", "#939", "#963")
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 560, 320, 60, 30, 20, 50


class Chart:
    """An empty frame: x on a logarithmic scale from `low` to `high`, y from `bottom` to `top`, which are powers
    of ten with `decades`."""

    def __init__(self, title, label, low, high, bottom, top, right=RIGHT, decades=False):
        self._low, self._wide = math.log2(low), (math.log2(high) - math.log2(low)) or 1
        self._bottom, self._tall, self._right = bottom, top - bottom, right
        self.out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                    'font-family="sans-serif" font-size="11">',
                    f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
                    f'<text x="{LEFT}" y="18">{title}</text>']
        step = 1 if decades else 10 ** math.floor(math.log10(self._tall)) / 2
        for tick in range(math.ceil(bottom / step - 1e-9), int(top / step + 1e-9) + 1):
            _, y = self.place(low, tick * step)
            self.out.append(f'<line x1="{LEFT}" x2="{WIDTH - right}" y1="{y:.1f}" y2="{y:.1f}" '
                            f'stroke="#ddd"/><text x="{LEFT - 8}" y="{y + 4:.1f}" '
                            f'text-anchor="end">{10 ** tick if decades else tick * step:g}</text>')
        self._label = (f'<text x="{(LEFT + WIDTH - right) / 2}" y="{HEIGHT - 10}" '
                       f'text-anchor="middle">{label}</text>')

    def place(self, x, y):
        across = (math.log2(x) - self._low) / self._wide
        return (LEFT + across * (WIDTH - LEFT - self._right),
                HEIGHT - BOTTOM - (y - self._bottom) / self._tall * (HEIGHT - TOP - BOTTOM))

    def dot(self, x, y, colour):
        x, y = self.place(x, y)
        self.out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')

    def tick(self, value):
        x, _ = self.place(value, self._bottom)
        self.out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" '
                        f'text-anchor="middle">{value:.5g}</text>')

    def line(self, points, style):
        points = " ".join("%.1f,%.1f" % self.place(x, y) for x, y in points)
        self.out.append(f'<polyline fill="none" {style} points="{points}"/>')

    def legend(self, row, text, style):
        y = TOP + 14 * row + 4
        self.out.append(f'<line x1="{WIDTH - self._right + 8}" x2="{WIDTH - self._right + 32}" y1="{y}" y2="{y}" '
                        f'{style}/><text x="{WIDTH - self._right + 38}" y="{y + 4}">{text}</text>')

    def text(self):
        return "\n".join([*self.out, self._label, "</svg>"]) + "\n"


def draw_rates(name, rows, machine):
    top = 1.1 * max(max(row["gbps"], row["limit_gbps"]) for row in rows)
    chart = Chart(f'SHA-256 tree, GB/s ({machine}); dashed: {rows[0]["limit"]}', AXES[name],
                  rows[0]["x"], rows[-1]["x"], 0, top)
    for row in rows:
        chart.dot(row["x"], row["gbps"], "#06c")
        chart.tick(row["x"])
    chart.line([(row["x"], row["gbps"]) for row in rows], 'stroke="#06c" stroke-width="2"')
    chart.line([(row["x"], row["limit_gbps"]) for row in rows], 'stroke="#c30" stroke-dasharray="5 4"')
    return chart.text()


def watch_lines(rows, key):
    """{(load, period): [(slices, value)]}, of runs without hints; the mean where a plan was run twice."""
    found = {}
    for row in rows:
        if row["hints"] == "none" and not row["idle"]:
            found.setdefault((row["load"], row["period"]), {}).setdefault(row["slices"], []).append(row[key])
    return {name: sorted((slices, statistics.mean(values)) for slices, values in points.items())
            for name, points in sorted(found.items())}


def draw_watch(measure, rows, machine):
    key, what = WATCH[measure]
    lines = watch_lines(rows, key)
    bars = {load: figures.BARS[load][list(WATCH).index(measure)] for load, period in lines
            if period == figures.PLAN[0]}
    values = [value for points in lines.values() for _, value in points] + list(bars.values())
    slices = sorted({x for points in lines.values() for x, _ in points})
    bottom = min(0, *values) if measure == "lost" else min(1, *values)
    top = max(values) + 0.1 * (max(values) - bottom)
    top += top == bottom
    chart = Chart(f"{what} ({machine}); short dashes: reading alone" if measure == "lost" else
                  f"{what} ({machine})", "slices that all bytes are looked at in", slices[0], slices[-1], bottom, top,
                  right=150)
    for x in slices:
        chart.tick(x)
    periods = sorted({period for _, period in lines})
    for at, ((load, period), points) in enumerate(lines.items()):
        colour = COLOURS[periods.index(period) % len(COLOURS)]
        style = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{DASHES[load]}"'
        chart.line(points, style)
        for x, y in points:
            chart.dot(x, y, colour)
        chart.legend(at, f"{load}, {period:g} s", style)
    for at, (load, bar) in enumerate(bars.items(), len(lines)):
        style = f'stroke="#777" stroke-width="{1 + (load == "products")}" stroke-dasharray="1 4"'
        chart.line([(slices[0], bar), (slices[-1], bar)], style)
        chart.legend(at, f"asked: {load}", style)
    if measure == "lost":
        for period in periods:
            floor = next(row["floor_percent"] for row in rows if row["period"] == period)
            colour = COLOURS[periods.index(period) % len(COLOURS)]
            chart.line([(slices[0], floor), (slices[-1], floor)], f'stroke="{colour}" stroke-dasharray="2 3"')
    return chart.text()


def draw_growth(what, rows, limits, machine):
    lines = {}
    for row in rows:
        lines.setdefault(row["line"], []).append((row["x"], math.log10(max(row["us"], 0.1))))
    xs = sorted({row["x"] for row in rows})
    ys = [y for points in lines.values() for _, y in points] + [math.log10(row["us"]) for row in limits]
    bottom, top = math.floor(min(ys)), math.ceil(max(ys))
    chart = Chart(f"microseconds of processor time ({machine})", what, xs[0], xs[-1], bottom, max(top, bottom + 1),
                  right=190, decades=True)
    for x in xs:
        chart.tick(x)
    for at, (line, points) in enumerate(lines.items()):
        style = f'stroke="{COLOURS[at % len(COLOURS)]}" stroke-width="2"'
        chart.line(sorted(points), style)
        for x, y in points:
            chart.dot(x, y, COLOURS[at % len(COLOURS)])
        chart.legend(at, line, style)
    for at, row in enumerate(limits, len(lines)):
        colour = COLOURS[list(lines).index(row["line"]) % len(COLOURS)]
        style = f'stroke="{colour}" stroke-dasharray="5 4"'
        chart.line([(x, math.log10(row["us"])) for x in (xs[0], xs[-1])], style)
        chart.legend(at, row["limit"], style)
    return chart.text()


def main():
    *files, prefix = sys.argv[1:]
    data = []
    for name in files:
        with open(name, encoding="utf-8") as file:
            data.append(json.load(file))
    machine = data[0]["machine"].split(",")[0]

    def write(name, text):
        with open(f"{prefix}-{name}.svg", "w", encoding="utf-8") as out:
            out.write(text)

    rows = [row for one in data for row in one["figures"]]
    for name in AXES:
        swept = [row for row in rows if row.get("sweep") == name]
        if len(swept) > 1:
            write(name.replace("_", "-"), draw_rates(name, swept, machine))
    watched = [row for row in rows if row.get("sweep") == "watch"]
    if watched:
        for name in WATCH:
            write(f"watch-{name}", draw_watch(name, watched, machine))
    for what in dict.fromkeys(row["growth"] for row in rows if "growth" in row):
        limits = [row for one in data for row in one.get("limits", []) if row["growth"] == what]
        write(what.replace(" ", "-"),
              draw_growth(what, [row for row in rows if row.get("growth") == what], limits, machine))


if __name__ == "__main__":
    main()
