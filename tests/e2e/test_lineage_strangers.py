# SPDX-License-Identifier: Apache-2.0
"""What somebody with roles for names of his own can do to the lineages of others: nothing."""
import hashlib
import json
import unittest

import harness
import test_lineage

TREE = "assay-tree-v1-sha256"


class Pipeline(test_lineage.Pipeline):
    def _extend(self):
        super()._extend()
        self.key("stranger", "signer", "mallory", "--role", f"train:{harness.LIFECYCLE}:mallory")
        self.key("stranger-publisher", "publisher", "mallory", "--namespace", "mallory")
        self.principal("outside", "submitter")

    def push(self, name, statement, key, token="ci"):
        (self.dir / f"{name}.json").write_text(json.dumps(statement))
        self.run("assay", "sign", f"{name}.json", "--yes", "--key", f"keys/{key}.pem", "--out",
                 f"{name}.signed.json")
        self.run("assay", "push", f"{name}.signed.json", token=token)

    def artifact(self, name, model, key="publisher", token="ci", hash_name="sha256", also=None):
        """Publishes a directory, with further digests in its subject; returns its digests."""
        (self.dir / name).mkdir()
        (self.dir / name / "data").write_text(name)
        self.run("assay", "manifest", "create", name, "--name", model, "--hash", hash_name, "--out",
                 f"{name}.json")
        statement = json.loads((self.dir / f"{name}.json").read_text())
        statement["subject"][0]["digest"].update(also or {})
        self.push(name, statement, key, token)
        return statement["subject"][0]["digest"]

    def state(self, name, stage, subject, key, inputs=(), token="ci"):
        predicate = {"stage": stage, "parameters": {"license": "MIT"}, "metrics": {},
                     "inputs": [{"role": "dataset", "name": called, "digest": digest}
                                for called, digest in inputs]}
        self.push(name, {"_type": "https://in-toto.io/Statement/v1",
                         "subject": [{"name": subject[0], "digest": subject[1]}],
                         "predicateType": harness.LIFECYCLE, "predicate": predicate}, key, token)

    def reasons(self, artifact):
        body = json.dumps({"point": "create", "model": f"{TREE}:{artifact[TREE]}",
                           "workload": {"namespace": "prod"}})
        status, answer = self.request("POST", "/v1/decisions", body)
        assert status == 200, answer
        decision = answer["decision"]
        status, again = self.request("POST", f"/v1/decisions/{decision['id']}:replay")
        assert (status, again["reproduced"]) == (200, True), again
        return decision["verdict"]["reasons"]


class Strangers(unittest.TestCase):
    """The policy believes every publisher (`manifest: {}`), and then one alone."""

    def test_the_whole_story(self):
        with Pipeline() as service:
            self.service = service
            self.clean = service.artifact("clean", "acme/clean")
            self.poison = service.artifact("poison", "acme/poison")
            self.good = service.artifact("good", "acme/good")
            self.bad = service.artifact("bad", "acme/bad")
            self.nobody = service.artifact("nobody", "acme/nobody")
            service.state("collected", "collect", ("acme/clean", self.clean), "curator")
            service.state("trained", "train", ("acme/good", self.good), "trainer",
                          [("acme/clean", self.clean)])
            service.state("spoiled", "train", ("acme/bad", self.bad), "trainer",
                          [("acme/poison", self.poison)])
            denied = {"deny": {"digests": ["sha256:" + "dd" * 32]}}
            service.activate(1, denied)
            self.expect()
            self.joins()
            self.expect()
            self.picture()
            self.endless()
            self.expect()
            service.activate(2, denied, {"signers": {"at_least": 1, "identities": ["release"]}})
            self.expect()

    def expect(self):
        self.assertEqual(self.service.reasons(self.good), [])
        for artifact in (self.bad, self.nobody):
            self.assertEqual(self.service.reasons(artifact), ["ancestor-unknown"])

    def joins(self):
        """A manifest of the stranger's own tree names the digest of others beside a third one."""
        pairs = [(self.poison, self.clean, "ab" * 32), (self.good, self.bad, "cd" * 32),
                 (self.good, self.nobody, "ce" * 32), (self.clean, self.good, "ef" * 32)]
        for number, (one, other, third) in enumerate(pairs):
            for side, digest in (("a", one), ("b", other)):
                self.service.artifact(f"join{number}{side}", f"mallory/{number}{side}",
                                      "stranger-publisher", "outside", "sha384",
                                      {TREE: digest[TREE], "sha256": third})
        self.service.artifact("denied", "mallory/denied", "stranger-publisher", "outside", "sha384",
                              {TREE: self.clean[TREE], "sha256": "dd" * 32})
        # The same bytes under a name of the stranger, and a digest that is denied.
        manifest = json.loads((self.service.dir / "clean.json").read_text())
        manifest["subject"][0].update(
            name="mallory/clean", digest={**self.clean, "sha256": "dd" * 32})
        manifest["predicate"]["name"] = "mallory/clean"
        self.service.push("same", manifest, "stranger-publisher", "outside")

    def picture(self):
        """What nobody collected is missing, whatever the stranger names beside it."""
        model = f"{TREE}:{self.bad[TREE]}"
        status, graph = self.service.request("GET", f"/v1/models/{model}/lineage")
        self.assertEqual(status, 200, graph)
        poison = [node for node in graph["nodes"]
                  if f"{TREE}:{self.poison[TREE]}" in node["digests"]]
        self.assertEqual([node["missing"] for node in poison], [True], graph)
        tree = self.service.run("assay", "lineage", model, token="ci").stdout
        self.assertIn("MISSING", tree.split("acme/poison")[1].splitlines()[0])

    def endless(self):
        """More steps than a lineage may have, up from a public digest."""
        digest = self.clean
        for number in range(66):
            further = {TREE: hashlib.sha256(b"%d" % number).hexdigest()}
            self.service.state(f"endless{number}", "train", ("mallory/x", digest), "stranger",
                               [("mallory/y", further)], "outside")
            digest = further


if __name__ == "__main__":
    unittest.main()
