# SPDX-License-Identifier: Apache-2.0
"""assay bom: CycloneDX out of signed statements, offline; CycloneDX of others in."""
import copy
import json
import subprocess

import harness
from harness import NO, TROUBLE, YES

import pypi

AT = "2027-01-31T12:00:00Z"
CHECK = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(None if error is None else str(error)[:2000])
"""
SHA256 = "ab" * 32
BILL = {
    "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
    "serialNumber": "urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79",
    "metadata": {"component": {
        "type": "machine-learning-model", "bom-ref": "m", "group": "acme", "name": "llama",
        "version": "2.0", "hashes": [{"alg": "SHA-256", "content": SHA256.upper()}],
        "licenses": [{"license": {"id": "Apache-2.0"}}]}},
    "components": [{"type": "data", "bom-ref": "d", "name": "corpus", "components": [
        {"type": "file", "bom-ref": "f", "name": "part-1"}]}],
    "dependencies": [{"ref": "m", "dependsOn": ["d"]}]}  # fmt: skip


def values(properties, name):
    return [one["value"] for one in properties if one["name"] == "assay:" + name]


class Out(harness.TestCase):
    """A model that was trained from a corpus and a base model, evaluated and approved."""

    def setUp(self):
        super().setUp()
        for name in ("publisher", "trainer", "eva", "stranger"):
            self.key(name)
        self.ids = {name: self.manifest(name) for name in ("model", "corpus", "base")}
        self.state("collect", "corpus", "trainer", "--parameter", "license=CC-BY-4.0")
        self.state("train", "model", "trainer", "--input", "dataset=corpus.json", "--input",
                   "base-model=base.json", "--parameter", "license=Apache-2.0 OR MIT")
        self.state("evaluate", "model", "eva", "--metric", "accuracy=0.93", "--metric",
                   "latency=12.5:ms", "--input", f"dataset:acme/bench=sha256:{SHA256}")
        self.state("approve", "model", "eva")
        self.files = ["model.signed.json", "collect.json", "train.json", "evaluate.json",
                      "approve.json"]

    def manifest(self, name):
        self.write(f"{name}/data.bin", name * 1000)
        self.assay("manifest", "create", name, "--name", f"acme/{name}", "--location",
                   f"pvc://ml/{name}", "--out", f"{name}.json")
        self.assay("sign", f"{name}.json", "--key", "publisher.pem", "--out",
                   f"{name}.signed.json")
        shown = self.assay("manifest", "show", f"{name}.json", "-o", "json").json()
        return shown["artifact"]

    def state(self, stage, subject, key, *options, out=None):
        self.assay("attest", "create", "--stage", stage, "--subject", f"{subject}.json", "--key",
                   f"{key}.pem", "--out", out or f"{stage}.json", *options)

    def bom(self, *options, files=None, keys=("publisher", "trainer", "eva"), code=YES):
        arguments = [part for file in files or self.files for part in ("--document", file)]
        arguments += [part for key in keys for part in ("--key", f"{key}.pem.pub")]
        return self.assay("bom", "model.json", *arguments, "--at", AT, *options, code=code)

    def test_says_what_is_known(self):
        bill = self.bom().json()
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.6"))
        model = bill["metadata"]["component"]
        self.assertEqual((model["type"], model["group"], model["name"], model["bom-ref"]),
                         ("machine-learning-model", "acme", "model", self.ids["model"]))
        self.assertEqual(values(model["properties"], "artifact"), [self.ids["model"]])
        self.assertEqual(model["licenses"], [{"expression": "Apache-2.0 OR MIT",
                                              "acknowledgement": "declared"}])
        self.assertEqual([file["name"] for file in model["components"]], ["data.bin"])
        self.assertEqual([one["url"] for one in model["externalReferences"]], ["pvc://ml/model"])
        card = model["modelCard"]
        self.assertEqual(card["quantitativeAnalysis"]["performanceMetrics"],
                         [{"type": "accuracy", "value": "0.93", "slice": "acme/bench"},
                          {"type": "latency", "value": "12.5 ms", "slice": "acme/bench"}])
        self.assertEqual(card["modelParameters"]["datasets"], [{"ref": self.ids["corpus"]}])
        self.assertEqual([one["name"] for one in model["pedigree"]["ancestors"]], ["base"])
        parts = {one["name"]: one for one in bill["components"]}
        self.assertEqual({name: part["type"] for name, part in parts.items()},
                         {"corpus": "data", "base": "machine-learning-model"})
        self.assertEqual(parts["corpus"]["licenses"][0]["expression"], "CC-BY-4.0")
        edges = {one["ref"]: one.get("dependsOn", []) for one in bill["dependencies"]}
        self.assertEqual(set(edges[self.ids["model"]]), {self.ids["corpus"], self.ids["base"]})
        self.assertEqual(bill["compositions"],
                         [{"aggregate": "unknown", "dependencies": [self.ids["base"]]}])
        self.assertEqual(bill["metadata"]["timestamp"], "2027-01-31T12:00:00.000Z")

    def test_says_who_said_it(self):
        bill = self.bom().json()
        said = bill["declarations"]
        claims = {one["bom-ref"]: one for one in said["claims"]}
        evidence = {one["bom-ref"]: one for one in said["evidence"]}
        by = {}
        for one in said["attestations"]:
            for ref in one["map"][0]["claims"]:
                claim = claims[ref]
                by.setdefault(one["assessor"], set()).add((claim["predicate"], claim["target"]))
                self.assertIn(one["assessor"].removeprefix("identity:"),
                              evidence[claim["evidence"][0]]["description"])
        shown = self.assay("key", "show", "eva.pem.pub", "-o", "json").json()["key_id"]
        self.assertEqual(by["identity:" + shown], {("stage: evaluate", self.ids["model"]),
                                                   ("stage: approve", self.ids["model"])})
        metric = values(bill["metadata"]["component"]["modelCard"]["properties"], "metric")[0]
        self.assertIn("accuracy = 0.93: evaluate by " + shown, metric)

    def test_refs_lead_somewhere(self):
        """Our own check of the form, which always runs."""
        bill = self.bom().json()
        refs = []

        def walk(value):
            if isinstance(value, dict):
                refs.extend([value["bom-ref"]] if "bom-ref" in value else [])
                for part in value.values():
                    walk(part)
            elif isinstance(value, list):
                for part in value:
                    walk(part)

        walk(bill)
        self.assertEqual(len(refs), len(set(refs)))
        said = bill["declarations"]
        used = [one["target"] for one in said["claims"]]
        used += [ref for one in said["claims"] for ref in one["evidence"]]
        used += [one["assessor"] for one in said["attestations"]]
        used += [one["ref"] for one in bill["dependencies"]]
        self.assertLessEqual(set(used), set(refs))

    def odd(self):
        """Signed statements with everything that fits into a field in another way, or into none."""
        self.state("finetune", "model", "trainer", "--input", "adapter:a/b/c=sha1:" + "0" * 40,
                   "--input", "config:settings=sha512:" + "1" * 128, "--input",
                   "code:acme/code=gitCommit:" + "2" * 40, "--parameter", "license=my own words")
        name, root = self.ids["model"].split(":")
        provenance = {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "acme/model", "digest": {name: root}}],
            "predicateType": "https://slsa.dev/provenance/v1",
            "predicate": {"buildDefinition": {"buildType": "x", "resolvedDependencies": [
                {"uri": "git+https://example.com/x", "digest": {"gitCommit": "3" * 40}},
                {"digest": {"blake2b": "4" * 128}}, {"name": "nothing"}]}}}  # fmt: skip
        self.write_json("slsa.json", provenance)
        self.assay("sign", "slsa.json", "--key", "trainer.pem", "--out", "slsa.signed.json")
        self.assay("release", "create", "model.json", "2.1.0", "--supersedes", "none", "--key",
                   "publisher.pem", "--out", "release.json")
        self.assay("manifest", "place", "model.json", "--location", "hostpath:///models/m", "--key",
                   "publisher.pem", "--out", "placement.json")
        return ["finetune.json", "slsa.signed.json", "release.json", "placement.json"]

    def test_odd_statements(self):
        bill = self.bom(files=self.files + self.odd()).json()
        model = bill["metadata"]["component"]
        self.assertEqual(model["version"], "2.1.0")
        self.assertIn("hostpath:///models/m", [one["url"] for one in model["externalReferences"]])
        self.assertEqual({one["license"]["name"] for one in model["licenses"]},
                         {"my own words", "Apache-2.0 OR MIT"})
        parts = {one["name"]: one for one in bill["components"]}
        self.assertEqual((parts["c"]["group"], parts["c"]["type"]), ("a/b", "machine-learning-model"))
        self.assertEqual(parts["c"]["hashes"], [{"alg": "SHA-1", "content": "0" * 40}])
        self.assertEqual(values(parts["code"]["properties"], "digest"), ["gitCommit:" + "2" * 40])
        self.assertEqual(parts["git+https://example.com/x"]["type"], "library")
        said = {one["predicate"] for one in bill["declarations"]["claims"]}
        self.assertLessEqual({"release: 2.1.0", "stage: finetune"}, said)

    def test_follows_the_official_schema(self):
        python = pypi.python_with("cyclonedx-python-lib[validation]==11.12.0", "cyclonedx")
        for files in (self.files, self.files + self.odd(), self.files[:1]):
            done = subprocess.run([python, "-c", CHECK], input=self.bom(files=files).raw,
                                  capture_output=True, check=False, timeout=harness.SLOW)
            self.assertEqual(done.returncode, 0, done.stderr.decode())

    def test_same_statements_give_the_same_bytes(self):
        first = self.bom().raw
        self.assertEqual(self.bom(files=self.files[::-1]).raw, first)
        self.assertEqual(self.bom(files=self.files + self.files[:1]).raw, first)
        other = self.bom(files=self.files[:-1]).json()["serialNumber"]
        self.assertNotEqual(other, json.loads(first)["serialNumber"])

    def test_a_file_that_nobody_trusted_signed_is_refused(self):
        self.state("evaluate", "model", "stranger", "--metric", "accuracy=1", out="lie.json")
        got = self.bom(files=self.files + ["lie.json"], code=NO)
        self.assertIn("untrusted-signer", got.err)
        self.assertEqual(got.out, "")

    def test_a_statement_under_another_name_adds_nothing(self):
        """Trusted for one name, somebody speaks about the bytes of another."""
        self.assay("attest", "create", "--stage", "evaluate", "--subject", self.ids["model"],
                   "--name", "mallory/x", "--metric", "accuracy=1", "--key", "eva.pem", "--out",
                   "other.json")
        self.assertEqual(self.bom(files=self.files + ["other.json"]).raw, self.bom().raw)

    def test_nothing_is_verified_against_nothing(self):
        self.assertIn("usage", self.bom(keys=(), code=TROUBLE).err)
        self.assay("bom", "model.json", "--key", "eva.pem.pub", code=TROUBLE)
        self.assay("bom", code=TROUBLE)
        self.bom("--serial", "no", code=TROUBLE)

    def test_what_went_out_comes_in(self):
        self.bom("--out", "out.cdx.json")
        self.assay("bom", "import", "out.cdx.json", "--key", "eva.pem", "--out", "in.json")
        shown = self.assay("review", "in.json", "-o", "json").json()
        self.assertIn(self.ids["model"].split(":")[1], json.dumps(shown))


class In(harness.TestCase):
    def bring(self, bill, *options, code=YES):
        self.write("bill.cdx.json", bill if isinstance(bill, (str, bytes)) else json.dumps(bill))
        return self.assay("bom", "import", "bill.cdx.json", *options, code=code)

    def test_becomes_a_statement(self):
        statement = self.bring(BILL).json()
        self.assertEqual(statement["predicateType"], "https://cyclonedx.org/bom")
        self.assertEqual(statement["subject"],
                         [{"name": "acme/llama", "digest": {"sha256": SHA256}}])
        self.assertEqual(statement["predicate"], BILL)

    def test_can_be_signed_and_reviewed(self):
        self.key("eva")
        self.bring(BILL, "--key", "eva.pem", "--out", "signed.json")
        self.assay("attest", "verify", "signed.json", "--key", "eva.pem.pub")
        lines = self.assay("review", "signed.json").out
        for text in ("the claim of whoever signs", "claims 3 components", SHA256,
                     'data "corpus", without a hash', "Apache-2.0"):
            self.assertIn(text, lines)

    def test_a_model_is_named_by_the_user(self):
        self.write("model/a", "a")
        self.assay("manifest", "create", "model", "--name", "acme/llama", "--out", "m.json")
        artifact = self.assay("manifest", "show", "m.json", "-o", "json").json()["artifact"]
        root = artifact.split(":")[1]
        subjects = self.bring(BILL, "--subject", "m.json").json()["subject"]
        self.assertEqual(subjects, [{"name": "acme/llama", "digest": {"assay-tree-v1-sha256": root}},
                                    {"name": "acme/llama", "digest": {"sha256": SHA256}}])
        bare = copy.deepcopy(BILL)
        del bare["metadata"]["component"]["hashes"]
        self.assertIn("subject-mismatch", self.bring(bare, code=TROUBLE).err)
        self.assertEqual(len(self.bring(bare, "--subject", artifact).json()["subject"]), 1)
        other = copy.deepcopy(BILL)
        other["metadata"]["component"]["properties"] = [
            {"name": "assay:artifact", "value": "assay-tree-v1-sha256:" + "0" * 64}]
        self.assertIn("subject-mismatch", self.bring(other, "--subject", "m.json", code=TROUBLE).err)

    def test_which_component_is_the_model(self):
        two = copy.deepcopy(BILL)
        two["components"].append({**two["metadata"]["component"], "bom-ref": "n", "name": "second"})
        self.assertEqual(self.bring(two).json()["subject"][0]["name"], "acme/llama")
        chosen = self.bring(two, "--component", "n").json()["subject"][0]["name"]
        self.assertEqual(chosen, "acme/second")
        two["metadata"]["component"]["type"] = "application"
        self.assertEqual(self.bring(two).json()["subject"][0]["name"], "acme/second")
        two["components"].append({**two["components"][1], "bom-ref": "o"})
        self.assertIn("model-reference-ambiguous", self.bring(two, code=TROUBLE).err)
        self.assertIn("not-found", self.bring(two, "--component", "z", code=TROUBLE).err)

    def test_hostile_documents(self):
        def changed(path, value):
            bill = copy.deepcopy(BILL)
            at = bill
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = value
            return bill

        model = ("metadata", "component")
        hashes = (*model, "hashes")
        deep = {"type": "file", "name": "x"}
        for _ in range(40):
            deep = {"type": "file", "name": "x", "components": [deep]}
        table = [
            ("another format", changed(("bomFormat",), "SPDX"), "schema-violation"),
            ("another version", changed(("specVersion",), "1.4"), "schema-violation"),
            ("not an object", [BILL], "schema-violation"),
            ("a member twice", '{"bomFormat":"CycloneDX","bomFormat":"CycloneDX"}',
             "duplicate-key"),
            ("not JSON", "<bom/>", "malformed-json"),
            ("a bom-ref twice", changed(("components", 0, "bom-ref"), "m"), "schema-violation"),
            ("a nested bom-ref twice", changed(("components", 0, "components", 0, "bom-ref"), "d"),
             "schema-violation"),
            ("an empty bom-ref", changed(("components", 0, "bom-ref"), ""), "schema-violation"),
            ("no name", changed((*model, "name"), ""), "schema-violation"),
            ("a name that is a number", changed((*model, "name"), 7), "schema-violation"),
            ("a long name", changed((*model, "name"), "x" * 4097), "limit-exceeded"),
            ("another type", changed((*model, "type"), "thing"), "schema-violation"),
            ("another algorithm", changed(hashes, [{"alg": "CRC32", "content": "0" * 8}]),
             "invalid-digest"),
            ("another length", changed(hashes, [{"alg": "SHA-256", "content": "0" * 40}]),
             "invalid-digest"),
            ("no hex", changed(hashes, [{"alg": "SHA-256", "content": "g" * 64}]),
             "invalid-digest"),
            ("an algorithm twice", changed(hashes, [{"alg": "SHA-256", "content": SHA256}] * 2),
             "invalid-digest"),
            ("a hash that is a text", changed(hashes, [SHA256]), "schema-violation"),
            ("hashes that are a text", changed(hashes, SHA256), "schema-violation"),
            ("a bad hash elsewhere", changed(("components", 0, "externalReferences"), [
                {"type": "website", "url": "x", "hashes": [{"alg": "SHA-256", "content": "0"}]}]),
             "invalid-digest"),
            ("deep nesting", changed(("components", 0), deep), "limit-exceeded"),
            ("a dependency on nothing", changed(("dependencies", 0, "dependsOn"), ["z"]),
             "schema-violation"),
            ("dependencies of nothing", changed(("dependencies", 0, "ref"), "z"),
             "schema-violation"),
            ("dependencies twice", changed(("dependencies",), [{"ref": "m"}, {"ref": "m"}]),
             "schema-violation"),
            ("a weak hash alone", changed(hashes, [{"alg": "SHA-1", "content": "0" * 40}]),
             "subject-mismatch"),
            ("a root that is none", changed((*model, "properties"), [
                {"name": "assay:artifact", "value": "sha256:" + SHA256}]), "invalid-digest"),
            ("two roots", changed((*model, "properties"), [
                {"name": "assay:artifact", "value": "assay-tree-v1-sha256:" + SHA256}] * 2),
             "schema-violation"),
            ("too much for an envelope", changed((*model, "description"), "x" * (900 << 10)),
             "limit-exceeded"),
            ("a large file", json.dumps(changed((*model, "description"), "x" * (9 << 20))),
             "limit-exceeded"),
        ]  # fmt: skip
        for what, bill, code in table:
            with self.subTest(what):
                got = self.bring(bill, "--out", "made.json", code=TROUBLE)
                self.assertIn(f"error: {code}:", got.err)
                self.assertFalse((self.dir / "made.json").exists())


if __name__ == "__main__":
    harness.main()
