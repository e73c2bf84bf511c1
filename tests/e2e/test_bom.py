# SPDX-License-Identifier: Apache-2.0
"""Bills of materials over HTTPS: what the service knows goes out, what others wrote comes in."""
import json
import unittest

import harness

AT = "2027-01-31T12:00:00Z"


class Bills(harness.Service):
    def _extend(self):
        self.key("trainer", "signer", "trainer", "--role", f"train:{harness.LIFECYCLE}:acme",
                 "--role", f"collect:{harness.LIFECYCLE}:acme")
        self.key("mallory", "signer", "mallory", "--role", f"evaluate:{harness.LIFECYCLE}:mallory")
        self.key("auditor", "signer", "auditor", "--role", "*:https://cyclonedx.org/bom:acme")

    def artifact(self, name, *options):
        (self.dir / name).mkdir()
        (self.dir / name / "data").write_text(name)
        self.run("assay", "manifest", "create", name, "--name", f"acme/{name}", "--key",
                 "keys/publisher.pem", "--out", f"{name}.json", *options)
        self.run("assay", "push", f"{name}.json", token="ci")
        shown = self.run("assay", "manifest", "show", f"{name}.json", "-o", "json").stdout
        return json.loads(shown)["artifact"]

    def state(self, stage, key, *options):
        self.run("assay", "attest", "create", "--stage", stage, "--key", f"keys/{key}.pem",
                 "--out", "made.json", *options)
        return self.run("assay", "push", "made.json", token="ci").stdout.strip()

    def bom(self, *options, model="acme/model", check=True):
        done = self.run("assay", "bom", model, "--at", AT, *options, token="ci", check=check)
        return json.loads(done.stdout) if check else done


class Bom(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Bills()
        cls.service.__enter__()
        cls.corpus = cls.service.artifact("corpus")
        cls.model = cls.service.artifact("model")
        cls.service.state("train", "trainer", "--subject", "model.json", "--input",
                          "dataset=corpus.json")
        cls.evaluated = cls.service.state("evaluate", "evaluator", "--subject", "model.json",
                                          "--metric", "accuracy=0.9")

    @classmethod
    def tearDownClass(cls):
        cls.service.__exit__()

    def metrics(self, bill):
        card = bill["metadata"]["component"]["modelCard"]
        return [one["value"] for one in card.get("quantitativeAnalysis", {})
                .get("performanceMetrics", [])]

    def test_1_what_the_service_knows(self):
        bill = self.service.bom()
        model = bill["metadata"]["component"]
        self.assertEqual(model["bom-ref"], self.model)
        self.assertEqual([one["bom-ref"] for one in bill["components"]], [self.corpus])
        self.assertEqual(self.metrics(bill), ["0.9"])
        targets = {claim["target"] for claim in bill["declarations"]["claims"]}
        self.assertEqual(targets, {self.model, self.corpus})  # its manifest counts by its name
        self.assertIn("assay:log-tree-size", [one["name"] for one in bill["metadata"]["properties"]])
        self.assertEqual(self.service.bom(model=self.model), bill)
        self.assertEqual(self.service.bom(model="model.json"), bill)
        nobody = self.service.bom(model="acme/nobody", check=False)
        self.assertEqual((nobody.returncode, "not-found" in nobody.stderr), (2, True))

    def test_1_an_input_by_the_hash_of_its_bytes(self):
        """Its manifest names both digests, so what was said about either is about it."""
        service = self.service
        digest = "sha256:" + "5" * 64
        parts = service.artifact("parts", "--digest", digest)
        service.artifact("other")
        service.state("collect", "trainer", "--subject", "parts.json", "--parameter", "license=MIT")
        service.state("train", "trainer", "--subject", "other.json", "--input",
                      f"dataset:acme/parts={digest}")
        part = service.bom(model="acme/other")["components"][0]
        self.assertEqual((part["bom-ref"], part["licenses"][0]["expression"]), (parts, "MIT"))
        self.assertEqual(part["hashes"], [{"alg": "SHA-256", "content": "5" * 64}])

    def test_2_a_stranger_adds_nothing(self):
        before = self.service.bom()
        self.service.state("evaluate", "mallory", "--subject", self.model, "--name", "mallory/x",
                           "--metric", "accuracy=1")
        self.assertEqual(self.metrics(self.service.bom()), ["0.9"])
        self.assertEqual(self.service.bom()["declarations"], before["declarations"])

    def test_3_a_bill_of_others(self):
        service = self.service
        service.bom("--out", "out.cdx.json", check=False)
        service.run("assay", "bom", "import", "out.cdx.json", "--key", "keys/auditor.pem", "--out",
                    "in.json")
        pushed = service.run("assay", "push", "in.json", token="ci").stdout.strip()
        stored = json.loads(service.run("assay", "get", pushed, token="ci").stdout)
        self.assertEqual(stored["predicate_type"], "https://cyclonedx.org/bom")
        self.assertIn(self.model, stored["subjects"])
        said = [one["predicate"] for one in service.bom()["declarations"]["claims"]]
        self.assertIn("statement: https://cyclonedx.org/bom", said)

    def test_4_what_was_withdrawn_is_left_out(self):
        service = self.service
        service.run("assay", "withdraw", self.evaluated, "--reason", "incorrect", "--text",
                    "Wrong data.", "--key", "keys/evaluator.pem", "--out", "withdrawal.json")
        service.run("assay", "push", "withdrawal.json", token="ci")
        bill = service.bom()
        self.assertEqual(self.metrics(bill), [])
        left = [one["value"] for one in bill["metadata"]["properties"]
                if one["name"] == "assay:left-out"]
        self.assertEqual(left, [f"{self.evaluated}: withdrawn: incorrect"])


if __name__ == "__main__":
    unittest.main()
