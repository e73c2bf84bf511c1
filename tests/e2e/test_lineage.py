# SPDX-License-Identifier: Apache-2.0
"""Lineage over HTTPS: three statements, an allow, its refusals, and the pictures."""
import json
import unittest
import xml.etree.ElementTree

import harness


class Pipeline(harness.Service):
    def _extend(self):
        self.key("curator", "signer", "curator", "--role", f"collect:{harness.LIFECYCLE}:acme")
        self.key("trainer", "signer", "trainer", "--role", f"train:{harness.LIFECYCLE}:acme")
        self.key("author", "author", "paula")
        self.key("approver", "approver", "quentin")
        self.principal("desk", "policy-author", "policy-approver", "reader")

    def artifact(self, name, model):
        """Publishes the manifest of a directory; returns its id."""
        directory = self.dir / name
        directory.mkdir()
        (directory / "data").write_text(name + model)
        self.run("assay", "manifest", "create", name, "--name", model, "--out", f"{name}.json")
        self.run("assay", "sign", f"{name}.json", "--key", "keys/publisher.pem", "--out",
                 f"{name}.signed.json")
        self.run("assay", "push", f"{name}.signed.json", token="ci")
        shown = self.run("assay", "manifest", "show", f"{name}.json", "-o", "json").stdout
        return json.loads(shown)["artifact"]

    def state(self, stage, subject, key, *options):
        name = f"{stage}-{subject}-{key}"
        self.run("assay", "attest", "create", "--stage", stage, "--subject", f"{subject}.json",
                 "--out", f"{name}.json", *options)
        self.run("assay", "sign", f"{name}.json", "--key", f"keys/{key}.pem", "--out",
                 f"{name}.signed.json")
        self.run("assay", "push", f"{name}.signed.json", token="ci")

    def activate(self, version, condition, manifest=None):
        policy = {"name": "lineage", "version": version, "mode": "enforce",
                  "match": {"namespaces": ["prod"]},
                  "require": [{"id": "published", "manifest": manifest or {}},
                              {"id": "origins", "lineage": condition}]}
        (self.dir / "policy.json").write_text(json.dumps(policy))
        self.run("assay", "sign", "policy.json", "--yes", "--key", "keys/author.pem", "--out",
                 "policy.signed.json")
        pushed = self.run("assay", "push", "policy.signed.json", token="desk")
        self.run("assay", "policy", "activate", pushed.stdout.strip(),
                 "--without-tests", "--key", "keys/approver.pem", token="desk")


class Lineage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Pipeline()
        cls.service.__enter__()
        cls.corpus = cls.service.artifact("corpus", "acme/corpus")
        cls.model = cls.service.artifact("model", "acme/demo")
        cls.service.state("train", "model", "trainer", "--input",
                          f"dataset:acme/corpus={cls.corpus}")

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def reasons(self):
        body = json.dumps({"point": "create", "model": self.model,
                           "workload": {"namespace": "prod"}})
        status, answer = self.service.request("POST", "/v1/decisions", body)
        self.assertEqual(status, 200, answer)
        decision = answer["decision"] if "decision" in answer else answer
        status, again = self.service.request("POST", f"/v1/decisions/{decision['id']}:replay")
        self.assertEqual((status, again["reproduced"]), (200, True), again)
        return decision["verdict"]["reasons"]

    def test_the_whole_story(self):
        service = self.service
        service.activate(1, {})
        self.assertEqual(self.reasons(), ["ancestor-unknown"], "nobody collected the dataset")
        missing = service.run("assay", "lineage", self.model, token="ci").stdout
        self.assertIn("acme/corpus", missing)
        service.state("collect", "corpus", "curator", "--parameter", "license=Apache-2.0")
        self.assertEqual(self.reasons(), [])
        service.activate(2, {"deny": {"digests": [self.corpus]}})
        self.assertEqual(self.reasons(), ["ancestor-denied"])
        service.activate(3, {"licences": {"allow": ["MIT"]}})
        self.assertEqual(self.reasons(), ["licence-not-allowed"])
        service.activate(4, {"stages": ["collect", "train"],
                             "edges": [{"stage": "train", "signers": {"identities": ["trainer"]}}]})
        self.assertEqual(self.reasons(), [])
        self.pictures()
        self.graph()
        service.artifact("other", "acme/corpus")
        both = service.run("assay", "lineage", "acme/corpus", token="ci", check=False)
        self.assertEqual(both.returncode, 2, both.stdout)
        self.assertIn("model-reference-ambiguous", both.stderr)
        self.assertIn(self.corpus, both.stderr)

    def pictures(self):
        tree = self.service.run("assay", "lineage", self.model, token="ci").stdout
        self.assertIn("dataset: acme/corpus", tree)
        self.assertIn("[collect by curator]", tree)
        down = self.service.run("assay", "lineage", self.corpus, "--down", token="ci").stdout
        self.assertIn("train (as dataset): acme/demo", down)
        for same in ("corpus.json", "acme/corpus"):
            self.assertEqual(self.service.run("assay", "lineage", same, "--down", token="ci").stdout, down)
        nobody = self.service.run("assay", "lineage", "acme/nobody", token="ci", check=False)
        self.assertEqual((nobody.returncode, "not-found" in nobody.stderr), (2, True), nobody.stderr)
        shown = json.loads(self.service.run("assay", "lineage", self.model, "-o", "json", token="ci").stdout)
        self.assertEqual([node["names"] for node in shown["nodes"]], [["acme/demo"], ["acme/corpus"]])
        status, graph = self.service.request("GET", f"/v1/models/{self.model}/lineage")
        self.assertEqual((status, shown), (200, graph))
        dot = self.service.run("assay", "lineage", self.model, "-o", "dot", token="ci").stdout
        self.assertTrue(dot.startswith("digraph lineage {"))
        svg = self.service.run("assay", "lineage", self.model, "-o", "svg", token="ci").stdout
        root = xml.etree.ElementTree.fromstring(svg)
        self.assertTrue(root.tag.endswith("svg"))
        self.assertIn("acme/corpus", svg)

    def graph(self):
        status, graph = self.service.request("GET", f"/v1/models/{self.model}/lineage?depth=1")
        self.assertEqual(status, 200, graph)
        self.assertEqual([node["names"] for node in graph["nodes"]], [["acme/demo"], ["acme/corpus"]])
        self.assertEqual(graph["edges"][0]["role"], "dataset")
        for query in ("depth=0", "depth=65", "depth=x", "direction=left"):
            status, _ = self.service.request("GET", f"/v1/models/{self.model}/lineage?{query}")
            self.assertEqual(status, 400, query)
        unknown = "assay-tree-v1-sha256:" + "0" * 64
        self.assertEqual(self.service.request("GET", f"/v1/models/{unknown}/lineage")[0], 404)


if __name__ == "__main__":
    unittest.main()
