#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the sweeps of gpu_hash_device_bench as SVG: rate against x, the limit as a dashed line.

Usage: plot.py FIGURES.json OUT_PREFIX
"""
import json
import math
import sys

AXES = {"chunk_size": "chunk size, bytes", "object_size": "size of one object, bytes",
        "objects": "objects in 1 GB", "devices": "GPUs"}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 560, 320, 60, 30, 20, 50


def draw(name, rows, machine):
    top = 1.1 * max(max(row["gbps"], row["limit_gbps"]) for row in rows)
    low, high = (math.log2(edge["x"]) for edge in (rows[0], rows[-1]))

    def place(x, y):
        across = (math.log2(x) - low) / max(high - low, 1)
        return (LEFT + across * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - y / top * (HEIGHT - TOP - BOTTOM))

    def line(key, style):
        points = " ".join("%.1f,%.1f" % place(row["x"], row[key]) for row in rows)
        return f'<polyline fill="none" {style} points="{points}"/>'

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="18">SHA-256 tree, GB/s ({machine}); dashed: '
           f'{rows[0]["limit"]}</text>']
    step = 10 ** math.floor(math.log10(top)) / 2
    for tick in range(int(top / step) + 1):
        _, y = place(rows[0]["x"], tick * step)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
                   f'stroke="#ddd"/><text x="{LEFT - 8}" y="{y + 4:.1f}" '
                   f'text-anchor="end">{tick * step:g}</text>')
    for row in rows:
        x, y = place(row["x"], row["gbps"])
        out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#06c"/>'
                   f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" '
                   f'text-anchor="middle">{row["x"]:.3g}</text>')
    out += [line("gbps", 'stroke="#06c" stroke-width="2"'),
            line("limit_gbps", 'stroke="#c30" stroke-dasharray="5 4"'),
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 10}" text-anchor="middle">{AXES[name]}</text>',
            "</svg>"]
    return "\n".join(out) + "\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        data = json.load(file)
    for name in AXES:
        rows = [row for row in data["figures"] if row.get("sweep") == name]
        if len(rows) > 1:
            with open(f"{sys.argv[2]}-{name.replace('_', '-')}.svg", "w", encoding="utf-8") as out:
                out.write(draw(name, rows, data["machine"].split(",")[0]))


if __name__ == "__main__":
    main()
