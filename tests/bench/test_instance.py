#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu_instance.py without a GPU and without PyTorch: times of steps and of full passes, figures with
their bars, parts that fail, and the plots."""
import argparse
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import time
import types
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench")]

import gpu_instance  # noqa: E402
import plot  # noqa: E402
from instance import figures, loads, owner, site  # noqa: E402


class Step:
    """A load whose step takes so long."""

    def __init__(self, seconds):
        self._seconds, self.steps = seconds, 0

    def step(self):
        self.steps += 1
        time.sleep(self._seconds)


class Hints:
    def __init__(self):
        self.said, self.open = [], 0

    def __enter__(self):
        self.open += 1

    def __exit__(self, *_):
        self.open -= 1

    def idle_for(self, seconds):
        self.said.append(seconds)


class Loops(unittest.TestCase):
    def test_percentiles_are_those_of_the_steps(self):
        found = loads.summary([0.010] * 98 + [0.020, 0.040], 2.0)
        self.assertEqual((found["p50_ms"], found["p99_ms"], found["longest_ms"]), (10, 40, 40))
        self.assertEqual(found["steps_per_second"], 50)
        self.assertEqual(loads.summary([], 1.0), {"steps": 0})

    def test_idle_time_is_said_and_is_no_part_of_a_step(self):
        hints, load = Hints(), Step(0.01)
        found = loads.run(load, 0.5, idle=0.2, idle_after=0.035, hints=hints)
        self.assertEqual((found["steps"], hints.open), (load.steps, 0))
        self.assertTrue(hints.said)
        for pause in hints.said:  # a fifth of the time: a quarter of what was computed
            self.assertGreaterEqual(pause, 0.035 / 4)
        self.assertGreater(found["idle_percent"], 10)
        self.assertLess(found["idle_percent"], 45)
        self.assertGreaterEqual(found["p50_ms"], 10)

    def test_moments_are_offered_between_steps(self):
        hints, load = Hints(), Step(0.005)
        hints.offer = lambda max_ms: hints.said.append((max_ms, hints.open, load.steps))
        loads.run(load, 0.05, hints=hints, offer_ms=7)
        self.assertEqual(hints.said, [(7, 0, step) for step in range(load.steps)])

    def test_poll_ends_a_loop(self):
        load = Step(0.001)
        loads.run(load, float("inf"), poll=lambda: load.steps >= 3)
        self.assertEqual(load.steps, 3)


class Passes(unittest.TestCase):
    """The length of a full pass, from the requests that the owner saw."""

    def exports(self, pieces, frames=()):
        """Of an owner with so many pieces; `frames`: when each request came, was answered, and its pieces."""
        kinds = [types.SimpleNamespace(kind="device")] * pieces + [types.SimpleNamespace(kind="staged")]
        self.answered = []
        self.link = types.SimpleNamespace(_plan=types.SimpleNamespace(pieces=kinds),
                                          _on_export=lambda frame: self.answered.append(frame))
        exports = owner.Exports(self.link)
        exports._frames.extend(frames)
        return exports

    def test_hashing_lies_between_the_last_piece_and_the_next_request(self):
        found = self.exports(625, [(1.0, 1.1, 250), (1.12, 1.2, 250), (1.22, 1.25, 125), (1.45, 1.46, 16),
                                   (3.0, 3.1, 16)]).summary()
        self.assertEqual((found["requests"], found["begin"], found["end"]), (3, 1.0, 1.45))
        self.assertAlmostEqual(found["hash_seconds"], 0.19)  # less the import of 125 pieces
        self.assertAlmostEqual(found["import_seconds"], 0.05)
        self.assertAlmostEqual(found["export_seconds"], 0.21)

    def test_requests_are_answered_and_timed(self):
        exports = self.exports(2)
        for numbers in ([0, 1], [1]):
            self.link._on_export({"pieces": numbers})
        self.assertEqual(self.answered, [{"pieces": [0, 1]}, {"pieces": [1]}])
        self.assertEqual(exports.summary()["requests"], 1)

    def test_half_of_a_pass_is_none(self):
        exports = self.exports(625, [(1.0, 1.1, 250), (1.2, 1.3, 16)])
        self.assertIsNone(exports.summary())
        exports.clear()
        self.assertIsNone(exports.summary())

    def test_ranks_take_as_long_as_the_slowest(self):
        check = {"hashed": [{"hashing_seconds": 0.4}, {"hashing_seconds": 0.5}]}
        self.assertAlmostEqual(gpu_instance.hashing(check), 0.5)
        self.assertIsNone(gpu_instance.hashing({"hashed": []}))


def steps(rate, p99, p50=10.0):
    return {"steps_per_second": rate, "p99_ms": p99, "p50_ms": p50}


class Figures(unittest.TestCase):
    def setUp(self):
        self.enterContext(contextlib.redirect_stdout(io.StringIO()))
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.file = self.folder / "figures.json"
        self.report = figures.Report(self.file, 60, machine="NVIDIA H200, 16 cores")

    def stored(self):
        return json.loads(self.file.read_text())

    def test_a_watched_run_is_held_against_both_runs_alone(self):
        found = figures.compare(steps(98, 12), [steps(101, 10), steps(99, 10)])
        self.assertAlmostEqual(found["lost_percent"], 2.0)
        self.assertAlmostEqual(found["p99_ratio"], 1.2)
        self.assertAlmostEqual(found["alone_spread_percent"], 2.0)

    def test_the_floor_is_reading_everything_once_a_period(self):
        self.assertAlmostEqual(figures.floor_percent(107.4e9, 2, 4500), 1.193, delta=0.001)
        self.assertAlmostEqual(figures.floor_percent(107.4e9, 2, None), 1.167, delta=0.001)

    def test_bars_are_those_of_the_plan_that_is_asked_for(self):
        self.assertEqual(figures.bars_of("decode", *figures.PLAN, False, False, 1.2), (1.5, 1.15))
        self.assertEqual(figures.bars_of("products", *figures.PLAN, False, False, 1.2), (2.5, 1.30))
        self.assertEqual(figures.bars_of("decode", *figures.PLAN, True, True, 1.2), (0.5, 1.02))
        self.assertEqual(figures.bars_of("decode", *figures.PLAN, True, False, 1.2), (1.6, None))
        self.assertEqual(figures.bars_of("decode", 4.0, 9, False, False, 1.2), (None, None))

    def test_a_missed_bar_is_said(self):
        figures.add_watch(self.report, 107.4e9, steps(98, 11), [steps(100, 10)] * 2, "decode", *figures.PLAN)
        lost, slow = self.stored()["figures"]
        self.assertEqual((lost["value"], lost["bar"], lost["reached"]), (2.0, 1.5, False))
        self.assertEqual((slow["value"], slow["reached"]), (1.1, True))
        self.report.add("linear", 1.89, "x", 1.9, at_least=True)
        self.report.add("unknown", None, "s", 1.0)
        self.assertEqual([row["reached"] for row in self.stored()["figures"][2:]], [False, False])

    def test_a_part_that_fails_leaves_the_others(self):
        def fails():
            raise site.Failed("the serving process ended")

        self.assertIsNone(self.report.part("one", fails))
        self.assertEqual(self.report.part("two", lambda: {"seconds": 1}), {"seconds": 1})
        self.assertIsNone(self.report.part("three", dict, needs=600))
        parts = self.stored()["parts"]
        self.assertIn("the serving process ended", parts["one"]["error"])
        self.assertEqual(parts["two"]["seconds"], 1)
        self.assertIn("skipped", parts["three"])

    def test_ranges_of_a_tensor_are_found_in_a_job(self):
        detail = {"differences": [{"tensor": "a", "ranges": [[0, 4]]}, {"tensor": "b", "ranges": [[8, 12]]}]}
        self.assertEqual(gpu_instance.find_ranges(detail, "b"), [[8, 12]])
        self.assertEqual(gpu_instance.find_ranges({}, "b"), [])

    def test_parts_are_those_that_there_are(self):
        self.assertEqual(gpu_instance.parts_of("plain,death"), ("plain", "death"))
        self.assertEqual(gpu_instance.loads_of("decode"), ("decode",))
        for wrong in ("plain,flip", "", "plain,", "Plain", "plain, watch"):
            with self.subTest(wrong=wrong):
                with self.assertRaisesRegex(argparse.ArgumentTypeError, "there are plain"):
                    gpu_instance.parts_of(wrong)

    def test_ranges_in_findings_are_read(self):
        run = gpu_instance.Run(None, self.report, None, None, None)
        state = {"findings": [["changed", "b", "its bytes changed: bytes 0 to 4"],
                              ["changed", "a", "its bytes changed: bytes 1048576 to 2097152"]]}
        run.owner = types.SimpleNamespace(ask=lambda do: state)
        self.assertEqual(run._told("a"), (state, [[1048576, 2097152]]))

    def test_plots_show_each_plan(self):
        for period in (2.0, 4.0):
            for slices in (1, 8):
                for load in ("decode", "products"):
                    figures.add_watch(self.report, 107.4e9, steps(98, 11), [steps(100, 10)] * 2, load, period,
                                      slices)
        figures.add_watch(self.report, 107.4e9, steps(50, 99), [steps(100, 10)] * 2, "decode", 2.0, 8,
                          hints="page", idle=True)  # no line of its own
        lines = plot.watch_lines(self.stored()["figures"][::2], "lost_percent")
        self.assertEqual(lines["decode", 2.0], [(1, 2.0), (8, 2.0)])
        arguments, sys.argv = sys.argv, ["plot.py", str(self.file), str(self.file), str(self.folder / "p")]
        self.addCleanup(setattr, sys, "argv", arguments)
        plot.main()
        # A line for each load and period, for what is asked of each load, and two floors.
        for name, lines in (("lost", 8), ("p99", 6)):
            tree = xml.etree.ElementTree.parse(self.folder / f"p-watch-{name}.svg")
            found = tree.findall("{http://www.w3.org/2000/svg}polyline")
            self.assertEqual(len(found), lines)

    def test_plots_of_one_value_have_a_height(self):
        for name in plot.WATCH:
            rows = [{"load": "decode", "period": 2.0, "slices": 8, "hints": "none", "idle": False,
                     "lost_percent": 0.0, "p99_ratio": 1.0, "floor_percent": 1.2}]
            self.assertIn("<circle", plot.draw_watch(name, rows, "NVIDIA H200"))


if __name__ == "__main__":
    unittest.main()
