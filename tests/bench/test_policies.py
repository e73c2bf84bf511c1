#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/policies.py: what it takes from the results of the benchmarks, and the plots of it."""
import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench")]

import plot  # noqa: E402
import policies  # noqa: E402

RESULTS = {
    "evaluate": {"limits": {"us": 50.0}, "figures": [{"growth": "conditions", "x": 4, "us": 10.0, "p50_us": 11.0},
                             {"growth": "conditions", "x": 64, "us": 120.0, "p50_us": 130.0},
                             {"growth": "statements", "x": 3, "us": 9.0, "p50_us": 11.0}]},
    "match": {"limit_added_us": 100.0, "at": 10000,
              "rows": [{"policies": count, "scanned_us": 2.0 * count, "indexed_us": 3.0} for count in (1, 1000)]},
    "lineage": {"limits": {"cold_ms": 20.0, "warm_us": 50.0},
                "rows": [{"nodes": nodes, "cold_ms": 0.5 * nodes, "memory_ms": 0.1, "judged_ms": 0.2, "again_us": 3.0,
                          "warm_us": 5.0} for nodes in (33, 10017)]}}


class Growth(unittest.TestCase):
    def test_every_row_is_in_microseconds(self):
        rows = policies.growth(RESULTS)
        self.assertIn({"growth": "nodes", "line": "read cold", "x": 33, "us": 16500.0}, rows)
        self.assertIn({"growth": "nodes", "line": "judged again", "x": 33, "us": 3.0}, rows)
        self.assertIn({"growth": "policies in force", "line": "each looked at", "x": 1000, "us": 2000.0}, rows)
        self.assertIn({"growth": "conditions", "line": "one evaluation", "x": 64, "us": 120.0}, rows)
        self.assertEqual(len(rows), 3 + 2 * 2 + 2 * 5)

    def test_the_limits_are_those_of_the_programs(self):
        self.assertEqual([(row["growth"], row["us"]) for row in policies.limits(RESULTS)],
                         [("conditions", 50.0), ("statements", 50.0), ("policies in force", 103.0),
                          ("nodes", 20000.0), ("nodes", 50.0)])  # fmt: skip

    def test_plots_have_a_line_for_each_kind_and_limit(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "figures.json")
            file.write_text(json.dumps({"machine": "two cores", "figures": policies.growth(RESULTS),
                                        "limits": policies.limits(RESULTS)}))
            arguments, sys.argv = sys.argv, ["plot.py", str(file), folder + "/p"]
            self.addCleanup(setattr, sys, "argv", arguments)
            plot.main()
            for name, lines, limits in (("conditions", 1, 1), ("statements", 1, 1), ("policies-in-force", 2, 1),
                                        ("nodes", 5, 2)):
                tree = xml.etree.ElementTree.parse(f"{folder}/p-{name}.svg")
                drawn = tree.findall("{http://www.w3.org/2000/svg}polyline")
                self.assertEqual(len(drawn), lines + limits)
                self.assertEqual(sum("stroke-dasharray" in line.attrib for line in drawn), limits)


if __name__ == "__main__":
    unittest.main()
