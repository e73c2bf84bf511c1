# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of many calls. Used by bench/limits_load.py."""
import time


def quantile(values, part):
    ordered = sorted(values)
    return round(ordered[min(int(part * len(ordered)), len(ordered) - 1)], 2)


def spread(values, bar=None):
    figure = {"p50_ms": quantile(values, 0.5), "p99_ms": quantile(values, 0.99),
              "max_ms": round(max(values), 2), "requests": len(values)}
    return figure if bar is None else {**figure, "bar_p99_ms": bar}


def timed(seconds, ask):
    """Milliseconds of each call of `ask` until the time is over."""
    taken = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        ask()
        taken.append(1000 * (time.monotonic() - start))
    return taken
