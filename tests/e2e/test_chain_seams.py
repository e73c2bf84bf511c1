# SPDX-License-Identifier: Apache-2.0
"""Attacks on seams between parts: whose word counts for a model, which part of a volume is mounted,
what else may be written, and whose volume it is. Each has its code and its honest neighbour."""
import hashlib
import json
import unittest

import pods
from chain import Service, rows_of
from harness import LIFECYCLE
from pods import host_path, mount, pod

FILLER = "sha256:" + "6e" * 32
SCRATCH = {"name": "model", "emptyDir": {}}
CONFIG = {"name": "config", "configMap": {"name": "config"}}
ATTRIBUTES = {"secretProviderClass": "models"}

# Case, attack, code, neighbour.
TABLE = (
    (1, "stranger_speaks_alone", "statement-missing", "evaluator_speaks"),
    (1, "stranger_has_the_last_word", "predicate-mismatch", "evaluator_has_the_last_word"),
    (1, "stranger_names_the_root_beside_his_own", "statement-missing", "stranger_is_believed"),
    (1, "stranger_signs_along", "signers-insufficient", "evaluator_signs_along"),
    (2, "part_of_a_filled_volume", "volume-unaccounted", "whole_filled_volume"),
    (2, "part_that_the_node_works_out", "volume-unaccounted", "known_part_without_links"),
    (4, "writes_by_an_expression", "mount-writable", "writes_elsewhere_by_an_expression"),
    (4, "writes_to_the_root_of_an_export", "mount-writable", "reads_the_root_of_an_export"),
    (4, "writes_to_the_root_of_the_node", "mount-writable", "writes_to_a_directory_of_the_node"),
    (4, "writes_to_the_volumes_of_the_node", "mount-writable", "sees_what_the_node_has_mounted"),
    (4, "reads_the_volumes_of_the_node", "mount-writable", "sees_what_the_node_has_mounted"),
    (4, "reads_the_root_of_the_node", "mount-writable", "reads_a_directory_of_the_node"),
    (6, "csi_volume_of_another_namespace", "volume-unaccounted", "csi_volume_of_its_namespace"),
)


class Strangers(Service):
    """With an evaluator for the stranger's names, and a second one for ours."""

    def _extend(self):
        super()._extend()
        self.key("evaluator-2", "signer", "erik", "--role", f"evaluate:{LIFECYCLE}:acme")
        self.key("friend", "signer", "sven", "--role", f"evaluate:{LIFECYCLE}:strangers")


@rows_of(TABLE)
class Seams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Strangers())
        cls.artifact = cls.service.publish()
        cls.active = set()

    def enforce(self, policy):
        """Makes the policy active, once."""
        if policy["name"] not in self.active:
            self.active.add(policy["name"])
            self.service.activate(policy)

    def create(self, made):
        return self.service.review(pods.stored(made))

    # 1: whose word counts

    def judged(self, name, identities=("release",), at_least=1):
        """A model of its own, on the claim of that name, and a policy on its evaluations."""
        directory = self.service.dir / f"model-{name}"
        directory.mkdir()
        (directory / "config.json").write_text(name)
        self.enforce({
            "name": name, "version": 1, "mode": "enforce",
            "match": {"namespaces": [name], "accelerators": "any"},
            "require": [
                {"id": "published", "manifest": {"signers": {
                    "at_least": 1, "identities": list(identities)}}},
                {"id": "good", "statement": {
                    "predicate_type": LIFECYCLE, "stage": "evaluate", "quantifier": "latest",
                    "signers": {"at_least": at_least},
                    "where": [{"pointer": "/metrics/accuracy/value", "op": ">=", "value": 0.9}]}},
            ]})
        self.service.sign_manifest(name, "--location", f"pvc://{name}/models",
                                   directory=f"model-{name}")

    def as_strangers(self, name):
        """The stranger publishes the same bytes under a name of his own."""
        self.service.sign_manifest(f"{name}-strange", model="strangers/model", key="stranger",
                                   directory=f"model-{name}")

    def evaluate(self, name, accuracy, keys=("evaluator",), called=pods.MODEL):
        run = self.service.run
        run("assay", "attest", "create", "--stage", "evaluate", "--subject",
            self.service.artifact_of(name), "--name", called, "--metric", f"accuracy={accuracy}",
            "--out", "said.json")
        signed = "said.json"
        for number, key in enumerate(keys):
            run("assay", "sign", signed, "--key", f"keys/{key}.pem", "--out",
                f"{name}-{number}.signed.json")
            signed = f"{name}-{number}.signed.json"
        run("assay", "push", signed, token="ci")

    def runs(self, name):
        return self.create(pod(name, namespace=name))

    def stranger_speaks_alone(self):
        self.judged("alone")
        self.as_strangers("alone")
        self.evaluate("alone", 0.99, ["friend"], "strangers/model")
        return self.runs("alone")

    def evaluator_speaks(self):
        self.evaluate("alone", 0.95)
        return self.runs("alone")

    def stranger_has_the_last_word(self):
        self.judged("latest")
        self.as_strangers("latest")
        self.evaluate("latest", 0.2)
        self.evaluate("latest", 0.99, ["friend"], "strangers/model")
        return self.runs("latest")

    def evaluator_has_the_last_word(self):
        self.evaluate("latest", 0.95)
        self.evaluate("latest", 0.1, ["friend"], "strangers/model")  # he cannot deny either
        return self.runs("latest")

    def stranger_names_the_root_beside_his_own(self):
        """He has no byte of the model: his tree is of another hash, and ours is one more digest."""
        self.judged("beside")
        own = self.service.dir / "model-own"
        own.mkdir()
        (own / "x").write_text("mine")
        run = self.service.run
        run("assay", "manifest", "create", "model-own", "--name", "strangers/model", "--hash",
            "sha384", "--out", "own.json")
        manifest = json.loads((self.service.dir / "own.json").read_text())
        root = self.service.artifact_of("beside").rpartition(":")[2]
        manifest["subject"][0]["digest"]["assay-tree-v1-sha256"] = root
        (self.service.dir / "own.json").write_text(json.dumps(manifest))
        run("assay", "sign", "own.json", "--key", "keys/stranger.pem", "--out", "own.signed.json")
        run("assay", "push", "own.signed.json", token="ci")
        self.evaluate("beside", 0.99, ["friend"], "strangers/model")
        return self.runs("beside")

    def stranger_is_believed(self):
        """By a policy that lists him, about the name that he gave."""
        self.judged("believed", ["stranger"])
        self.service.sign_manifest("theirs", "--location", "pvc://believed/models",
                                   model="strangers/model", key="stranger",
                                   directory="model-believed")
        self.evaluate("believed", 0.99, ["friend"], "strangers/model")
        return self.create(pod("believed", "strangers/model", "believed"))

    def stranger_signs_along(self):
        """Two evaluators are needed; the second signature is by one who has no role for the name."""
        self.judged("along", at_least=2)
        self.as_strangers("along")
        self.evaluate("along", 0.95, ["evaluator", "friend"])
        return self.runs("along")

    def evaluator_signs_along(self):
        self.evaluate("along", 0.95, ["evaluator", "evaluator-2"])
        return self.runs("along")

    # 2: parts of volumes that are filled at run time

    def filled(self, name, namespace, **members):
        """The model of all tests, put into a scratch volume by an init container."""
        model = f"{pods.MODEL}@{self.artifact}"
        made = mount(pod(name, model, namespace, claim=None), SCRATCH, "/models",
                     readOnly=True, **members)
        made["spec"]["initContainers"] = [{
            "name": "fill", "image": "registry.example.com/fill@" + FILLER,
            "volumeMounts": [{"name": "model", "mountPath": "/mnt/models"}]}]
        return made

    def part_of_a_filled_volume(self):
        """In the container the links lead to a config map instead of to the filled files."""
        self.enforce(pods.manifest_policy("filled", ["filled"], fill_at_run=[FILLER]))
        made = self.filled("part", "filled", subPath="snapshots/main")
        return self.create(mount(made, CONFIG, "/blobs"))

    def whole_filled_volume(self):
        return self.create(mount(self.filled("whole", "filled"), CONFIG, "/blobs"))

    def part_that_the_node_works_out(self):
        self.enforce(pods.manifest_policy("within", ["within"], fill_at_run=[FILLER],
                                          mounts="within"))
        return self.create(self.filled("expression", "within", subPathExpr="$(PART)"))

    def known_part_without_links(self):
        return self.create(self.filled("known", "within", subPath="demo"))

    # 4: writing past the read-only mount

    def written(self, name, *volumes, **members):
        """The model on a claim, an export and a directory of the node; more volumes, writable."""
        self.enforce(pods.manifest_policy(
            "written", ["written"], other_volumes=["persistentVolumeClaim", "nfs", "hostPath"]))
        self.service.sign_manifest("written", "--location", "pvc://written/models", "--location",
                                   "nfs://filer.example/models", "--location",
                                   "hostpath:///data/models")
        made = pod(name, namespace="written", claim=None)
        first, second = volumes
        mount(made, {"name": "model", **first}, "/models", readOnly=True)
        return self.create(mount(made, {"name": "more", **second}, "/more", **members))

    def claim(self, name="models"):
        return {"persistentVolumeClaim": {"claimName": name}}

    def export(self, path):
        return {"nfs": {"server": "filer.example", "path": path}}

    def node(self, path):
        return {"hostPath": host_path(path)["hostPath"]}

    def writes_by_an_expression(self):
        return self.written("expression", self.claim(), self.claim(), subPathExpr="$(D)")

    def writes_elsewhere_by_an_expression(self):
        return self.written("logs", self.claim(), self.claim("logs"), subPathExpr="$(D)")

    def writes_to_the_root_of_an_export(self):
        return self.written("root", self.export("/models"), self.export("/"))

    def reads_the_root_of_an_export(self):
        return self.written("root-read", self.export("/models"), self.export("/"), readOnly=True)

    def writes_to_the_root_of_the_node(self):
        return self.written("node", self.node("/data/models"), self.node("/"))

    def writes_to_a_directory_of_the_node(self):
        return self.written("cache", self.node("/data/models"), self.node("/data/cache"))

    def reads_the_root_of_the_node(self):
        return self.written("node-read", self.node("/data/models"), self.node("/"), readOnly=True,
                            recursiveReadOnly="IfPossible")

    def reads_a_directory_of_the_node(self):
        return self.written("cache-read", self.node("/data/models"), self.node("/data/cache"),
                            readOnly=True)

    def beside_filled(self, name, **members):
        self.enforce(pods.manifest_policy(
            "kubelet", ["kubelet"], fill_at_run=[FILLER], other_volumes=["hostPath"]))
        return self.create(mount(self.filled(name, "kubelet"),
                                 host_path("/var/lib/kubelet/pods"), "/host", **members))

    def writes_to_the_volumes_of_the_node(self):
        return self.beside_filled("through")

    def reads_the_volumes_of_the_node(self):
        """The volumes are mounted below the directory: they stay writable."""
        return self.beside_filled("looks", readOnly=True)

    def sees_what_the_node_has_mounted(self):
        return self.beside_filled("sees", readOnly=True, recursiveReadOnly="Enabled")

    # 6: volumes of drivers

    def csi(self, namespace):
        made = pod("csi", namespace=namespace, claim=None)
        return self.create(mount(made, {"name": "model", "csi": {
            "driver": "models.example.com", "readOnly": True, "volumeAttributes": ATTRIBUTES}},
            "/models", readOnly=True))

    def csi_volume_of_another_namespace(self):
        """The driver looks up the name in the namespace of the pod: another object."""
        self.enforce(pods.manifest_policy("csi", ["csi-*"]))
        text = json.dumps(ATTRIBUTES, separators=(",", ":"), sort_keys=True).encode()
        self.service.sign_manifest("csi", "--location", "csi://models.example.com/csi-a/"
                                   + hashlib.sha256(text).hexdigest())
        return self.csi("csi-b")

    def csi_volume_of_its_namespace(self):
        return self.csi("csi-a")


if __name__ == "__main__":
    unittest.main()
