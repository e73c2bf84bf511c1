# SPDX-License-Identifier: Apache-2.0
"""Pods at their creation and afterwards, as a real API server sends them."""
import unittest

import cluster
from cluster import MODEL, NAMESPACE, STRATEGIC, pod, pod_spec
from control_plane import until

VOLUME = {"name": "model", "persistentVolumeClaim": {"claimName": cluster.CLAIM, "readOnly": True}}
EVIL = {"name": "evil", "hostPath": {"path": "/data/evil"}}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shared = cluster.shared()
        cls.service, cls.kube = cls.shared.service, cls.shared.cluster

    def assert_refused(self, answer, *codes):
        self.assertEqual(answer.status, 403, str(answer))
        for code in codes:
            self.assertIn(code, answer.message)

    def assert_allowed(self, answer):
        self.assertTrue(answer.ok, str(answer))


class Created(Case):
    def test_good_pod_is_pinned_to_its_bytes(self):
        made = self.kube.must_create(pod("good"))
        notes = made["metadata"]["annotations"]
        self.assertEqual(notes["assay.dev/model"], f"{MODEL}@{self.shared.artifact}")
        self.assertIn("assay.dev/decision-id", notes)

    def test_model_is_found_by_what_the_pod_mounts(self):
        made = self.kube.must_create(pod("unannotated", model=None))
        self.assertEqual(made["metadata"]["annotations"]["assay.dev/model"],
                         f"{MODEL}@{self.shared.artifact}")

    def test_model_that_nobody_signed(self):
        other = "assay-tree-v1-sha256:" + "5a" * 32
        self.assert_refused(self.kube.create(pod("unsigned", model=other)), "manifest-missing")

    def test_selected_pod_without_a_model(self):
        self.assert_refused(self.kube.create(pod("nameless", model=None, claim=None)),
                            "model-reference-missing")

    def test_good_claim_declared_and_another_directory_mounted(self):
        spec = pod_spec(volumes=[VOLUME, EVIL])
        spec["containers"][0]["volumeMounts"] = [{"name": "evil", "mountPath": "/models"}]
        made = pod("elsewhere")
        made["spec"] = spec
        self.assert_refused(self.kube.create(made), "reference-unbound", "volume-unaccounted")

    def test_second_volume_beside_the_model(self):
        made = pod("beside")
        made["spec"]["volumes"].append(EVIL)
        made["spec"]["containers"][0]["volumeMounts"].append({"name": "evil", "mountPath": "/evil"})
        self.assert_refused(self.kube.create(made), "volume-unaccounted")
        made["metadata"]["name"] = "beside-unmounted"  # what no container mounts does not count
        made["spec"]["containers"][0]["volumeMounts"].pop()
        self.assert_allowed(self.kube.create(made))

    def test_sidecar_that_only_names_the_place(self):
        made = pod("named", claim=None)
        made["spec"]["containers"].append({
            "name": "sidecar", "image": "registry.example.com/pause:1",
            "env": [{"name": "MODEL_URI", "value": f"pvc://{NAMESPACE}/{cluster.CLAIM}"}]})
        self.assert_refused(self.kube.create(made), "reference-unbound")

    def test_config_map_over_the_model(self):
        made = pod("covered")
        made["spec"]["volumes"].append({"name": "code", "configMap": {"name": "code"}})
        mounts = made["spec"]["containers"][0]["volumeMounts"]
        mounts.append({"name": "code", "mountPath": "/models/modeling.py", "subPath": "m.py"})
        self.assert_refused(self.kube.create(made), "mount-overlaps")
        made["metadata"]["name"] = "configured"
        mounts[-1]["mountPath"] = "/etc/serving"
        self.assert_allowed(self.kube.create(made))

    def test_writable_mount(self):
        made = pod("writable")
        made["spec"]["containers"][0]["volumeMounts"][0].pop("readOnly")
        self.assert_refused(self.kube.create(made), "mount-writable")

    def test_forged_annotations_do_not_survive(self):
        made = self.kube.must_create(pod("forged", annotations={
            "assay.dev/decision-id": "00000000-0000-4000-8000-000000000000",
            "assay.dev/verdict": "allow"}))
        notes = made["metadata"]["annotations"]
        self.assertNotEqual(notes["assay.dev/decision-id"], "00000000-0000-4000-8000-000000000000")
        self.assertNotIn("assay.dev/verdict", notes)

    def test_dry_run_is_judged_and_leaves_nothing(self):
        before = self.service.tree_size()
        self.assert_allowed(self.kube.create(pod("dry"), dry_run=True))
        self.assert_refused(self.kube.create(pod("dry", model=None, claim=None), dry_run=True),
                            "model-reference-missing")
        self.assertIsNone(self.kube.get("Pod", "dry"))
        kinds = [row["type"] for row in self.service.records()
                 if row["index"] >= before and "not-applicable" not in row["type"]]
        self.assertEqual(kinds, [])

    def test_audit_log_of_the_cluster_names_the_decision(self):
        self.kube.must_create(pod("audited"))
        self.kube.create(pod("audited-bad", model=None, claim=None))
        notes = until("audit", lambda: self.kube.admission_events(name="audited"))[0]
        self.assertEqual(notes["verdict"], "allow")
        stored = [row["id"] for row in self.service.decisions()]
        self.assertIn(notes["decision-id"], stored)

    def test_mode_warn_shows_warnings(self):
        self.kube.namespace("warned")
        self.service.activate({**cluster.manifest_policy("warned", ["warned"]), "mode": "warn"})
        answer = self.kube.create(pod("llm", model=None, claim=None, namespace="warned"))
        self.assert_allowed(answer)
        self.assertIn("model-reference-missing", " ".join(answer.warnings))


class Unselected(Case):
    def test_pod_is_left_as_it_is(self):
        made = self.kube.must_create(pod("plain", model=None, claim=None, gpu=False))
        self.assertNotIn("assay.dev/model", made["metadata"].get("annotations", {}))
        self.assert_allowed(self.kube.bind_created(made, "node-2"))

    def test_many_cost_few_records(self):
        before = self.service.tree_size()
        for number in range(40):
            self.kube.must_create(pod(f"plain-{number}", model=None, claim=None, gpu=False))
        until("they are counted", lambda: self.service.tree_size() > before)
        self.assertLess(self.service.tree_size() - before, 25)

    def test_ways_to_an_accelerator_are_selected(self):
        container = pod_spec(claim=None, gpu=False)["containers"][0]
        ways = {
            "visible": {"runtimeClassName": "nvidia", "containers": [
                {**container, "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]},
            "mig": {"containers": [
                {**container, "resources": {"limits": {"nvidia.com/mig-1g.10gb": "1"}}}]},
            "shared": {"containers": [
                {**container, "resources": {"limits": {"nvidia.com/gpu.shared": "1"}}}]},
            "privileged": {"containers": [{**container, "securityContext": {"privileged": True}}]},
            "device": {"volumes": [{"name": "gpu", "hostPath": {"path": "/dev/nvidia0"}}],
                       "containers": [{**container, "volumeMounts": [
                           {"name": "gpu", "mountPath": "/dev/nvidia0"}]}]},
            "claims": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
                       "containers": [{**container, "resources": {"claims": [{"name": "gpu"}]}}]},
        }
        self.kube.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", {
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass",
            "metadata": {"name": "nvidia"}, "handler": "nvidia"})
        for way, spec in ways.items():
            with self.subTest(way):
                made = pod("way-" + way, model=None, claim=None, gpu=False, **spec)
                self.assert_refused(self.kube.create(made, dry_run=True), "model-reference-missing")


class Changed(Case):
    """After its creation."""

    def test_metadata_alone_is_not_judged_again(self):
        self.kube.must_create(pod("relabelled"))
        before = len(self.service.decisions())
        self.assert_allowed(self.kube.patch("Pod", "relabelled", {
            "metadata": {"labels": {"tier": "gold"}}}))
        self.assertEqual(len(self.service.decisions()), before)

    def test_annotations_beside_a_decision_stay_as_they_are(self):
        self.kube.must_create(pod("renamed"))
        self.assert_refused(self.kube.patch("Pod", "renamed", {"metadata": {"annotations": {
            "assay.dev/model": "acme/unknown"}}}), "annotation-reserved")
        self.assert_allowed(self.kube.patch("Pod", "renamed", {"metadata": {"annotations": {
            "assay.dev/model": MODEL}}}))

    def test_annotation_written_with_the_status_changes_nothing(self):
        made = self.kube.must_create(pod("restated"))
        other = "assay-tree-v1-sha256:" + "5a" * 32
        self.assert_allowed(self.kube.patch("Pod", "restated", {"metadata": {"annotations": {
            "assay.dev/model": other}}}, sub="status"))
        self.shared.verified_node()
        self.assert_allowed(self.kube.bind_created(made, "node-1"))

    def test_ephemeral_container_with_another_model(self):
        made = pod("debugged")
        made["spec"]["volumes"].append(EVIL)
        self.kube.must_create(made)
        debugger = {"name": "debugger", "image": "registry.example.com/tools:1"}
        self.assert_refused(self.ephemeral("debugged", {
            **debugger, "volumeMounts": [{"name": "evil", "mountPath": "/evil"}]}),
            "volume-unaccounted")
        self.assert_allowed(self.ephemeral("debugged", debugger))

    def ephemeral(self, name, container):
        change = {"spec": {"ephemeralContainers": [container]}}
        return self.kube.patch("Pod", name, change, sub="ephemeralcontainers",
                               content_type=STRATEGIC)

    def test_other_image(self):
        self.kube.namespace("images")
        self.kube.claim("models", "images")
        self.service.publish_at("images", "pvc://images/models", model="acme/images")
        self.service.activate(cluster.manifest_policy(
            "images", ["images"], images=["registry.example.com/serving/*"]))
        made = pod("llm", "acme/images", namespace="images")
        self.kube.must_create(made)

        def change(image):
            return self.kube.patch("Pod", "llm", {"spec": {"containers": [
                {"name": "server", "image": image}]}}, namespace="images", content_type=STRATEGIC)
        self.assert_refused(change("docker.io/evil/vllm:1"), "image-not-allowed")
        self.assert_allowed(change("registry.example.com/serving/vllm:0.12"))
        made["metadata"]["name"] = "strange"
        made["spec"]["containers"][0]["image"] = "docker.io/evil/vllm:1"
        self.assert_refused(self.kube.create(made), "image-not-allowed")


class Templates(Case):
    KINDS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob")

    def test_good_ones_make_no_noise(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                answer = self.kube.create(cluster.template(kind, f"good-{kind.lower()}"))
                self.assert_allowed(answer)
                self.assertEqual(answer.warnings, [])

    def test_bad_ones_are_warned_of_and_their_pods_refused(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                name = f"bad-{kind.lower()}"
                answer = self.kube.create(cluster.template(kind, name, model=None, claim=None))
                self.assert_allowed(answer)
                self.assertIn("model-reference-missing", " ".join(answer.warnings))
                self.assertEqual(self.kube.pods(name), [])
        until("a controller was refused",
              lambda: self.kube.event_with("model-reference-missing"))

    def test_pods_of_a_deployment(self):
        self.kube.must_create(cluster.template("Deployment", "served"))
        made = until("its pod", lambda: self.kube.pods("served"))[0]
        self.assertEqual(made["metadata"]["annotations"]["assay.dev/model"],
                         f"{MODEL}@{self.shared.artifact}")


if __name__ == "__main__":
    unittest.main()
