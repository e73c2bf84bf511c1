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
    "evaluate": {"figures": [{"growth": "conditions", "x": 4, "us": 10.0, "p50_us": 11.0},
                             {"growth": "conditions", "x": 64, "us": 120.0, "p50_us": 130.0},
                             {"growth": "statements", "x": 3, "us": 9.0, "p50_us": 11.0}]},
    "match": {"rows": [{"policies": count, "scanned_us": 2.0 * count, "indexed_us": 3.0} for count in (1, 1000)]},
    "lineage": {"rows": [{"nodes": nodes, "cold_ms": 0.5 * nodes, "memory_ms": 0.1, "judged_ms": 0.2, "again_us": 3.0,
                          "warm_us": 5.0} for nodes in (33, 10017)]}}


class Growth(unittest.TestCase):
    def test_every_row_is_in_microseconds(self):
        rows = policies.growth(RESULTS)
        self.assertIn({"growth": "nodes", "line": "read cold", "x": 33, "us": 16500.0}, rows)
        self.assertIn({"growth": "nodes", "line": "judged again", "x": 33, "us": 3.0}, rows)
        self.assertIn({"growth": "policies in force", "line": "each looked at", "x": 1000, "us": 2000.0}, rows)
        self.assertIn({"growth": "conditions", "line": "one evaluation", "x": 64, "us": 120.0}, rows)
        self.assertEqual(len(rows), 3 + 2 * 2 + 2 * 5)

    def test_plots_have_a_line_for_each_kind(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "figures.json")
            file.write_text(json.dumps({"machine": "two cores", "figures": policies.growth(RESULTS)}))
            arguments, sys.argv = sys.argv, ["plot.py", str(file), folder + "/p"]
            self.addCleanup(setattr, sys, "argv", arguments)
            plot.main()
            for name, lines in (("conditions", 1), ("statements", 1), ("policies-in-force", 2), ("nodes", 5)):
                tree = xml.etree.ElementTree.parse(f"{folder}/p-{name}.svg")
                self.assertEqual(len(tree.findall("{http://www.w3.org/2000/svg}polyline")), lines)


if __name__ == "__main__":
    unittest.main()
