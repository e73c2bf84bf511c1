# SPDX-License-Identifier: Apache-2.0
"""Attacks on what ties signed bytes to mounted bytes, as a pod author, a publisher or an orchestrator
would try them: each is refused with its code, and its honest neighbour is still allowed."""
import base64
import hashlib
import json
import unittest

import pods
from chain import Said, Service, rows_of, said_by
from pods import host_path, mount, pod

FORGED = "00000000-0000-4000-8000-000000000000"
TOOLS = {"name": "debugger", "image": "registry.example.com/tools:1"}
CONFIG = {"name": "code", "configMap": {"name": "code"}}

# Case, attack, code, neighbour.
TABLE = (
    (2, "mounts_another_directory", "volume-unaccounted", "mounts_its_claim"),
    (2, "names_the_place_in_a_sidecar", "reference-unbound", "mounts_its_claim"),
    (2, "place_of_an_unlisted_publisher", "reference-unbound", "place_of_a_listed_publisher"),
    (2, "nameless_pod_at_the_place_of_a_stranger", "signers-insufficient",
     "nameless_pod_at_a_place_that_a_stranger_claims_too"),
    (2, "publisher_revoked_before_the_binding", "key-revoked", "binds_before_the_revocation"),
    (4, "claims_a_device", "model-reference-missing", "asks_for_memory"),
    (4, "runtime_class_and_variable", "model-reference-missing", "asks_for_memory"),
    (4, "slice_of_a_gpu", "model-reference-missing", "asks_for_memory"),
    (4, "shared_gpu", "model-reference-missing", "asks_for_memory"),
    (4, "privileged", "model-reference-missing", "asks_for_memory"),
    (4, "device_file_of_the_node", "model-reference-missing", "asks_for_memory"),
    (7, "binding_without_uid", "binding-without-uid", "binding_with_uid"),
    (7, "binding_by_the_legacy_resource", "binding-without-uid", "legacy_binding_elsewhere"),
    (7, "ephemeral_container_with_a_volume", "volume-unaccounted", "ephemeral_container_alone"),
    (8, "orchestrator_makes_up_a_pod", "forbidden", "mounts_its_claim"),
    (10, "revoked_key_below_not", "condition-undecided", "wrong_value_below_not"),
    (11, "forged_decision_id", "assay.dev/decision-id", "mounts_its_claim"),
    (12, "pod_that_was_never_admitted", "pod-unknown", "waiting_pod_after_a_conflict"),
    (13, "model_in_a_binding", "annotation-reserved", "note_in_a_binding"),
    (13, "other_model_in_the_annotation_later", "manifest-missing", "annotation_changes_nothing"),
    (15, "config_map_over_the_model", "mount-overlaps", "config_map_beside_the_model"),
    (15, "config_map_through_a_link_of_the_image", "mount-overlaps", "config_map_beside_the_model"),
    (15, "message_of_the_container_over_the_model", "mount-overlaps", "message_beside_the_model"),
    (15, "scratch_above_the_model", "mount-overlaps", "scratch_beside_the_model"),
    (15, "annotation_that_mounts", "volume-unaccounted", "annotation_that_mounts_nothing"),
    (15, "container_that_may_mount_again", "mount-writable", "container_without_privileges"),
    (15, "model_where_none_may_be", "mount-path-not-allowed", "model_where_models_may_be"),
    (15, "whole_claim_for_a_directory", "reference-unbound", "directory_of_a_claim"),
    (15, "attribute_of_a_csi_driver", "volume-unaccounted", "csi_volume_by_its_digest"),
    (15, "place_of_one_publisher_of_two", "reference-unbound", "place_of_both_publishers"),
)


@rows_of(TABLE)
class Chain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        cls.artifact = cls.service.publish()
        cls.service.activate(pods.manifest_policy("plain"))

    def create(self, made):
        return self.service.review(pods.stored(made))

    def mounts_its_claim(self):
        return self.create(pod("honest"))

    # 2: mounts

    def mounts_another_directory(self):
        made = pod("elsewhere")
        made["spec"]["containers"][0]["volumeMounts"] = []
        return self.create(mount(made, host_path("/data/evil"), "/models"))

    def names_the_place_in_a_sidecar(self):
        made = pod("sidecar", claim=None)
        made["spec"]["containers"].append({**TOOLS, "env": [
            {"name": "MODEL_URI", "value": "pvc://inference/models"}]})
        return self.create(made)

    def place_of_an_unlisted_publisher(self):
        """The second publisher says that the same bytes lie elsewhere, under another name."""
        self.enforce_listed()
        self.service.sign_manifest("elsewhere", "--location", "pvc://listed/evil",
                                   model="acme/other", key="publisher-2")
        return self.create(pod("unlisted", namespace="listed", claim="evil"))

    def place_of_a_listed_publisher(self):
        self.service.sign_manifest("listed", "--location", "pvc://listed/good")
        return self.create(pod("listed", namespace="listed", claim="good"))

    def enforce_listed(self):
        self.service.activate(pods.manifest_policy(
            "listed", ["listed"], signers={"at_least": 1, "identities": ["release"]}))

    def nameless_pod_at_the_place_of_a_stranger(self):
        """A publisher whom the policy does not list claims two places, one of them somebody's."""
        self.service.activate(pods.manifest_policy(
            "claimed", ["claimed"], signers={"at_least": 1, "identities": ["release"]}))
        self.service.sign_manifest("claimed", "--location", "pvc://claimed/models")
        (self.service.dir / "model-strange").mkdir()
        (self.service.dir / "model-strange/config.json").write_text("strange")
        self.service.sign_manifest(
            "strange", "--location", "pvc://claimed/models", "--location", "pvc://claimed/evil",
            model="strangers/model", key="stranger", directory="model-strange")
        return self.create(pod("strange", None, "claimed", claim="evil"))

    def nameless_pod_at_a_place_that_a_stranger_claims_too(self):
        return self.create(pod("claimed", None, "claimed"))

    def publisher_revoked_before_the_binding(self):
        self.service.activate(pods.manifest_policy("revoked", ["revoked"]))
        (self.service.dir / "model-third").mkdir()
        (self.service.dir / "model-third/config.json").write_text("third")
        self.service.sign_manifest("third", "--location", "pvc://revoked/models",
                                   model="acme/third", key="publisher-3", directory="model-third")
        admitted = [self.service.admit(pod(f"llm-{number}", "acme/third", "revoked"))
                    for number in (1, 2)]
        self.bound_before = self.service.bind(admitted[0])
        self.service.revoke_key("publisher-3")
        return self.service.bind(admitted[1])

    def binds_before_the_revocation(self):
        return self.bound_before

    # 4: ways to an accelerator

    def nameless(self, container=None, **spec):
        made = pod("nameless", model=None, claim=None, gpu=False, **spec)
        made["spec"]["containers"][0].update(container or {})
        return made

    def claims_a_device(self):
        return self.create(self.nameless({"resources": {"claims": [{"name": "gpu"}]}},
                                         resourceClaims=[{"name": "gpu"}]))

    def runtime_class_and_variable(self):
        return self.create(self.nameless(
            {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]},
            runtimeClassName="nvidia"))

    def slice_of_a_gpu(self):
        limits = {"nvidia.com/mig-1g.10gb": "1"}
        return self.create(self.nameless({"resources": {"limits": limits}}))

    def shared_gpu(self):
        limits = {"nvidia.com/gpu.shared": "1"}
        return self.create(self.nameless({"resources": {"limits": limits}}))

    def privileged(self):
        return self.create(self.nameless({"securityContext": {"privileged": True}}))

    def device_file_of_the_node(self):
        return self.create(mount(self.nameless(), host_path("/dev/nvidia0"), "/dev/nvidia0"))

    def asks_for_memory(self):
        limits = {"cpu": "8", "memory": "64Gi", "ephemeral-storage": "1Gi", "hugepages-2Mi": "1Gi"}
        return self.create(self.nameless({"resources": {"limits": limits}}))

    # 7: bindings, ephemeral containers

    def binding_without_uid(self):
        self.service.admit(pod("anonymous"))
        return self.service.review(pods.binding("anonymous", "node-1"))

    def binding_with_uid(self):
        return self.service.bind(self.service.admit(pod("identified")))

    def binding_by_the_legacy_resource(self):
        """The API server takes the uid off these."""
        self.service.admit(pod("legacy"))
        return self.service.review(pods.binding("legacy", "node-1"), resource="bindings")

    def legacy_binding_elsewhere(self):
        """No policy may select a pod there."""
        return self.service.review(pods.binding("legacy", "node-1", namespace="elsewhere"),
                                   resource="bindings")

    def debugged(self, name, **members):
        before = pods.stored(pod(name))
        before["spec"]["volumes"].append(host_path("/data/evil"))  # declared, not mounted
        self.service.admit(before)
        after = {**before, "spec": {**before["spec"],
                                    "ephemeralContainers": [{**TOOLS, **members}]}}
        return self.service.review(after, operation="UPDATE", sub="ephemeralcontainers",
                                   old=before, resource="pods")

    def ephemeral_container_with_a_volume(self):
        mounts = [{"name": "host", "mountPath": "/models"}]
        return self.debugged("debugged", volumeMounts=mounts)

    def ephemeral_container_alone(self):
        return self.debugged("debugged-plainly")

    # 8: who may speak for pods

    def orchestrator_makes_up_a_pod(self):
        review = pods.review(pods.stored(pod("made-up")))
        done = self.service.admission(review, client="orchestrator")
        return Said(done.returncode == 0, done.stdout + done.stderr)

    # 10: not

    def decide(self, namespace):
        return said_by(self.service.run(
            "assay", "decide", "--model", self.artifact, "--namespace", namespace,
            check=False, token="ci"))

    def revoked_key_below_not(self):
        """No manifest by the fourth publisher may count, and his key is revoked: who took it may
        still have made a good model, or a bad one."""
        self.service.sign_manifest("fourth", key="publisher-4")
        self.service.revoke_key("publisher-4")
        self.service.activate({
            "name": "below-not", "version": 1, "mode": "enforce",
            "match": {"namespaces": ["below-not"]},
            "require": [{"id": "published", "manifest": {}}, {"id": "not-by-fourth", "not": {"id": "by-fourth", "manifest": {
                "signers": {"at_least": 1, "identities": ["fourth"]}}}}]})
        return self.decide("below-not")

    def wrong_value_below_not(self):
        lifecycle = "https://assay.dev/lifecycle/v1"
        self.service.run("assay", "attest", "create", "--stage", "evaluate", "--subject", "a.json",
                         "--metric", "loss=0.5", "--out", "evaluated.json")
        self.service.run("assay", "sign", "evaluated.json", "--key", "keys/evaluator.pem", "--out",
                         "evaluated.signed.json")
        self.service.run("assay", "push", "evaluated.signed.json", token="ci")
        self.service.activate({
            "name": "below-not", "version": 2, "mode": "enforce",
            "match": {"namespaces": ["below-not"]},
            "require": [
                {"id": "published", "manifest": {}},
                {"id": "not-lossy", "not": {"id": "lossy", "statement": {
                    "predicate_type": lifecycle, "stage": "evaluate",
                    "where": [{"pointer": "/metrics/loss/value", "op": ">", "value": 2}]}}}]})
        return self.decide("below-not")

    # 11: what a pod says about itself

    def forged_decision_id(self):
        made = pod("forged", annotations={"assay.dev/decision-id": FORGED})
        done = self.service.admission(pods.review(made), "--mutate", "-o", "json")
        patch = json.loads(base64.b64decode(json.loads(done.stdout)["response"]["patch"]))
        replaced = [step for step in patch
                    if step["path"] == "/metadata/annotations/assay.dev~1decision-id"]
        survives = not replaced or replaced[-1].get("value") == FORGED
        return Said(survives, json.dumps(patch).replace("~1", "/"))

    # 12: uids

    def pod_that_was_never_admitted(self):
        return self.service.bind(pods.stored(pod("never")))

    def waiting_pod_after_a_conflict(self):
        waiting = self.service.admit(pod("waiting"))
        self.service.admit(pods.stored(pod("waiting")))  # the API server answers it with 409
        return self.service.bind(waiting)

    # 13: what is read of a pod later

    def model_in_a_binding(self):
        made = self.service.admit(pod("carried"))
        return self.service.bind(made, annotations={"assay.dev/model": "acme/other"})

    def note_in_a_binding(self):
        return self.service.bind(self.service.admit(pod("noted")), annotations={"note": "x"})

    def other_model_in_the_annotation_later(self):
        """At its creation a pod that names it is refused."""
        return self.create(pod("renamed", model="assay-tree-v1-sha256:" + "5a" * 32))

    def annotation_changes_nothing(self):
        made = self.service.admit(pod("restated"))
        after = {**made, "metadata": {**made["metadata"], "annotations": {
            "assay.dev/model": "assay-tree-v1-sha256:" + "5a" * 32}}}
        said = self.service.review(after, operation="UPDATE", old=made)
        return said if not said.allowed else self.service.bind(made)

    # 15: places

    def config_map_over_the_model(self):
        return self.create(mount(pod("covered"), CONFIG, "/models/modeling.py", subPath="m.py"))

    def config_map_beside_the_model(self):
        return self.create(mount(pod("configured"), CONFIG, "/etc/serving"))

    def config_map_through_a_link_of_the_image(self):
        made = pod("linked")
        made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = "/run/models"
        return self.create(mount(made, CONFIG, "/var/run/models/code"))

    def with_message(self, name, path):
        made = pod(name)
        made["spec"]["containers"][0]["terminationMessagePath"] = path
        return self.create(made)

    def message_of_the_container_over_the_model(self):
        """The kubelet mounts a file there to which the container writes."""
        return self.with_message("message", "/models/config.json")

    def message_beside_the_model(self):
        return self.with_message("message-beside", "/tmp/last-words")

    def with_scratch(self, name, path):
        """Two containers have the volume; in one of them it is above the model."""
        made = pod(name)
        made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = "/data/models"
        made["spec"]["containers"].append(
            {**TOOLS, "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]})
        return self.create(mount(made, {"name": "scratch", "emptyDir": {}}, path))

    def scratch_above_the_model(self):
        return self.with_scratch("moved", "/data")

    def scratch_beside_the_model(self):
        return self.with_scratch("not-moved", "/data/cache")

    def annotation_that_mounts(self):
        """A plugin of the runtime mounts a directory of the node over the model."""
        made = self.service.admit(pod("injected"))
        annotations = {**made["metadata"]["annotations"], "mounts.nri.io/container.server":
                       "- {source: /data/evil, destination: /models, type: bind}"}
        after = {**made, "metadata": {**made["metadata"], "annotations": annotations}}
        said = self.service.review(after, operation="UPDATE", old=made)
        return said if said.allowed else self.create(
            pod("injected-first", annotations=annotations))

    def annotation_that_mounts_nothing(self):
        return self.create(pod("pinned", annotations={
            "balloon.balloons.resource-policy.nri.io": "serving"}))

    def with_tools(self, name, security):
        made = pod(name)
        made["spec"]["containers"].append({**TOOLS, "securityContext": security})
        return self.create(made)

    def container_that_may_mount_again(self):
        return self.with_tools("mounting", {"capabilities": {"add": ["sys_admin"]}})

    def container_without_privileges(self):
        return self.with_tools("plain-tools", {"capabilities": {"drop": ["ALL"]}})

    def model_where_none_may_be(self):
        self.service.activate(pods.manifest_policy("paths", ["paths"], mount_paths=["/weights/*"]))
        self.service.sign_manifest("paths", "--location", "pvc://paths/models")
        return self.create(pod("outside", namespace="paths"))

    def model_where_models_may_be(self):
        made = pod("inside", namespace="paths")
        made["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] = "/weights/demo"
        return self.create(made)

    def whole_claim_for_a_directory(self):
        self.service.activate(pods.manifest_policy("parts", ["parts"]))
        self.service.sign_manifest("parts", "--location", "pvc://parts/hub/demo")
        return self.create(pod("whole", namespace="parts", claim="hub"))

    def directory_of_a_claim(self):
        made = pod("part", namespace="parts", claim="hub")
        made["spec"]["containers"][0]["volumeMounts"][0]["subPath"] = "demo"
        return self.create(made)

    def csi(self, name, **attributes):
        made = pod(name, namespace="csi", claim=None)
        return mount(made, {"name": "model", "csi": {
            "driver": "models.example.com", "readOnly": True, "volumeAttributes": attributes}},
            "/models", readOnly=True)

    def attribute_of_a_csi_driver(self):
        self.service.activate(pods.manifest_policy("csi", ["csi"]))
        digest = hashlib.sha256(b'{"volume":"7"}').hexdigest()  # of the attributes in JCS
        self.service.sign_manifest("csi", "--location", "pvc://csi/models",
                                   "--location", f"csi://models.example.com/csi/{digest}")
        return self.create(self.csi("believed", uri="pvc://csi/models"))

    def csi_volume_by_its_digest(self):
        return self.create(self.csi("digested", volume="7"))

    def place_of_one_publisher_of_two(self):
        self.service.activate(pods.manifest_policy("both", ["both"], signers={
            "at_least": 2, "identities": ["release", "second"]}))
        self.service.sign_manifest("one", "--location", "pvc://both/one")
        self.service.sign_manifest("two", "--location", "pvc://both/two")
        self.service.run("assay", "sign", "two.signed.json", "--key", "keys/publisher-2.pem",
                         "--out", "two.both.json")
        self.service.run("assay", "push", "two.both.json", token="ci")
        return self.create(pod("alone", namespace="both", claim="one"))

    def place_of_both_publishers(self):
        return self.create(pod("together", namespace="both", claim="two"))


if __name__ == "__main__":
    unittest.main()
