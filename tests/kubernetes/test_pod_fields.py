# SPDX-License-Identifier: Apache-2.0
"""Fields of pods that nobody has judged: a new one may start again what had finished, or mount."""
import unittest

import cluster

CORE = "io.k8s.api.core.v1."
JUDGEMENTS = {"read", "whole", "other"}


def judged_fields():
    """The judgement of each "Type.field" of pod_fields.txt."""
    found, judgement, of = {}, None, None
    for line in (cluster.ROOT / "tests/kubernetes/pod_fields.txt").read_text().splitlines():
        if line.startswith("["):
            judgement = line.strip("[]")
        elif line and not line.startswith("#"):
            if not line.startswith(" "):
                of, line = line.split(":")
            for field in line.split():
                found.setdefault(f"{of}.{field}", []).append(judgement)
    return found


def named_types(schema):
    """The core types that a property holds, at any depth of lists, maps and allOf."""
    if isinstance(schema, list):
        return {name for one in schema for name in named_types(one)}
    if not isinstance(schema, dict):
        return set()
    own = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
    return own | {name for one in schema.values() for name in named_types(one)}


def fields_below(schemas, start):
    """Every "Type.field" of core types that `start` leads to."""
    seen, waiting, found = set(), {CORE + start}, set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for field, schema in schemas[name].get("properties", {}).items():
            found.add(f"{name.removeprefix(CORE)}.{field}")
            waiting |= {one for one in named_types(schema) if one.startswith(CORE)} - seen
    return found


class PodFields(unittest.TestCase):
    def test_each_has_one_judgement(self):
        for field, judgements in judged_fields().items():
            with self.subTest(field):
                self.assertEqual(len(judgements), 1)
                self.assertIn(judgements[0], JUDGEMENTS)

    def test_a_new_field_is_found_at_any_depth(self):
        schemas = {
            CORE + "PodSpec": {"properties": {"containers": {
                "type": "array", "items": {"allOf": [{"$ref": f"#/components/schemas/{CORE}Container"}]}}}},
            CORE + "Container": {"properties": {"restartAgain": {"type": "boolean"}}}}
        self.assertEqual(fields_below(schemas, "PodSpec") - set(judged_fields()),
                         {"Container.restartAgain"})

    def test_the_api_server_has_no_other(self):
        answer = cluster.shared().cluster.request("GET", "/openapi/v3/api/v1")
        self.assertTrue(answer.ok, str(answer))
        served = fields_below(answer.body["components"]["schemas"], "PodSpec")
        self.assertIn("Container.restartPolicyRules", served)
        self.assertGreater(len(served), 400)
        unjudged = sorted(served - set(judged_fields()))
        self.assertEqual(unjudged, [], "judge these fields in tests/kubernetes/pod_fields.txt")


if __name__ == "__main__":
    unittest.main()
