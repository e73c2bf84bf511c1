# SPDX-License-Identifier: Apache-2.0
"""docs/policies: each policy lints without a warning, answers as its suite says, and has no demand
that the suite would not miss."""
import copy
import json
import pathlib

import harness
from harness import NO, TROUBLE

FOLDER = pathlib.Path(__file__).parents[3] / "docs/policies"
NAMES = ("signed-model", "atlas-three-stage", "confidential-inference", "licence-gate",
         "two-person-release")  # fmt: skip
# Lists of demands: without one of the items the policy asks for less.
LISTS = ("require", "all", "edges", "stages", "where", "none_of")
# What a case cannot show: how names are resolved, where pods go, what a condition is called; that
# a default is written down; and the identity of a document.
SILENT = ("names", "node_affinity", "id", "name", "version", "description", "mode", "at_least",
          "scope", "appraised", "type")  # fmt: skip


def sets_of(name):
    """The options that give a policy the reference set beside it, if it has one."""
    file = FOLDER / f"{name}.set.json"
    return ("--set", file) if file.exists() else ()


def policy(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def weaker(document):
    """(place, policy) for each policy that lacks one member, or one item of a list of demands."""
    def places(value, path):
        if isinstance(value, dict):
            for name, inner in value.items():
                if name not in SILENT:
                    yield path + [name]
                    yield from places(inner, path + [name])
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                if path[-1] in LISTS:
                    yield path + [i]
                yield from places(inner, path + [i])

    for path in places(document, []):
        changed = copy.deepcopy(document)
        holder = changed
        for part in path[:-1]:
            holder = holder[part]
        del holder[path[-1]]
        yield "/".join(map(str, path)), changed


class ReadyPolicies(harness.TestCase):
    def test_folder_holds_these_and_their_page(self):
        found = {path.name.split(".")[0] for path in FOLDER.glob("*.json")}
        self.assertEqual(found, set(NAMES))
        page = (FOLDER / "README.md").read_text()
        for name in NAMES:
            self.assertIn(f"## {name}\n", page)
            self.assertTrue((FOLDER / f"{name}.tests.json").exists())

    def test_lint_has_no_warning(self):
        for name in NAMES:
            with self.subTest(policy=name):
                got = self.assay("policy", "lint", "--strict", FOLDER / f"{name}.json",
                                 *sets_of(name), "-o", "json").json()
                self.assertEqual(got["name"], name)
                self.assertEqual({item["level"] for item in got["findings"]} - {"note"}, set())

    def test_suites_come_out(self):
        for name in NAMES:
            with self.subTest(policy=name):
                got = self.assay("policy", "test", FOLDER / f"{name}.json", *sets_of(name), "-o",
                                 "json").json()  # fmt: skip
                self.assertEqual(got["failed"], 0)
                expected = [case["expected"] for case in got["cases"]]
                self.assertIn("allow", expected)
                self.assertGreater(expected.count("deny"), 8)

    def test_a_policy_with_a_set_denies_without_it(self):
        got = self.assay("policy", "test", FOLDER / "licence-gate.json", "-o", "json", code=NO).json()
        allowed = [case for case in got["cases"] if case["expected"] == "allow"]
        self.assertGreater(len(allowed), 0)
        for case in allowed:
            self.assertFalse(case["verdict"]["allowed"], case)

    def test_no_demand_could_be_lost_unnoticed(self):
        seen = 0
        for name in NAMES:
            for place, document in weaker(policy(name)):
                self.write_json("weaker.json", document)
                got = self.assay("policy", "test", "weaker.json", "--facts",
                                 FOLDER / f"{name}.tests.json", *sets_of(name), code=None)  # fmt: skip
                seen += got.code == NO
                with self.subTest(policy=name, without=place):  # or it is no policy any more
                    self.assertIn(got.code, (NO, TROUBLE), got)
        self.assertGreater(seen, 40)


if __name__ == "__main__":
    harness.main()
