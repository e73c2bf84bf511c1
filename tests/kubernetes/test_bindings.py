# SPDX-License-Identifier: Apache-2.0
"""What happens between the creation of a pod and its start on a node."""
import unittest

import cluster
from cluster import NAMESPACE, pod
from control_plane import until
from test_pods import Case


class Bindings(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.shared.verified_node()

    def create(self, name, **options):
        return self.kube.must_create(pod(name, **options))

    def node_of(self, name, namespace=NAMESPACE):
        return self.kube.get("Pod", name, namespace)["spec"].get("nodeName")

    def test_scheduler_brings_the_pod_to_the_verified_node(self):
        self.kube.patch("Node", "node-1", {"metadata": {"labels": {"pool": "verified"}}},
                        namespace=None)
        self.create("scheduled", scheduler="default-scheduler", nodeSelector={"pool": "verified"})
        until("it is bound", lambda: self.node_of("scheduled") == "node-1")

    def test_scheduler_is_refused_a_node_that_never_enrolled(self):
        self.create("misled", scheduler="default-scheduler",
                    nodeSelector={"kubernetes.io/hostname": "node-2"})
        until("the scheduler was refused", lambda: self.kube.event_with("node-not-enrolled"))
        self.assertIsNone(self.node_of("misled"))

    def test_binding_by_hand(self):
        made = self.create("by-hand")
        self.assert_refused(self.kube.bind_created(made, "node-2"), "node-not-enrolled")
        self.assert_allowed(self.kube.bind_created(made, "node-1"))
        self.assertEqual(self.node_of("by-hand"), "node-1")

    def test_legacy_bindings(self):
        """The API server takes the uid off these, so that nobody knows which pod is meant."""
        made = self.create("legacy")
        self.assert_refused(self.kube.bind_created(made, "node-1", legacy=True),
                            "binding-without-uid")
        self.assertIsNone(self.node_of("legacy"))
        self.kube.namespace("without-models")  # no policy is about it
        plain = self.create("legacy", namespace="without-models", model=None, claim=None)
        self.assert_allowed(self.kube.bind_created(plain, "node-1", legacy=True))

    def test_binding_without_uid(self):
        self.create("anonymous")
        self.assert_refused(self.kube.bind("anonymous", "node-1"), "binding-without-uid")
        self.assertIsNone(self.node_of("anonymous"))

    def test_uid_of_another_pod(self):
        other = self.create("uid-of-this")
        self.create("uid-other")
        self.assert_refused(
            self.kube.bind("uid-other", "node-1", other["metadata"]["uid"]), "pod-unknown")

    def test_annotation_in_a_binding(self):
        made = self.create("noted")
        notes = {"assay.dev/model": "acme/other"}
        self.assert_refused(self.kube.bind_created(made, "node-1", annotations=notes),
                            "annotation-reserved")
        self.assert_allowed(self.kube.bind_created(made, "node-1", annotations={"note": "x"}))

    def test_name_that_is_taken_leaves_the_waiting_pod_alone(self):
        made = self.create("taken")
        again = self.kube.create(pod("taken"))
        self.assertEqual(again.status, 409, str(again))
        self.assert_allowed(self.kube.bind_created(made, "node-1"))

    def test_pod_that_was_made_again(self):
        first = self.create("again")
        self.kube.delete("Pod", "again")
        second = self.create("again")
        old = self.kube.bind("again", "node-1", first["metadata"]["uid"])
        self.assertFalse(old.ok, str(old))
        self.assert_allowed(self.kube.bind_created(second, "node-1"))

    def test_pod_with_a_node_of_its_own(self):
        self.assert_refused(self.kube.create(pod("preset-bad", nodeName="node-2")),
                            "node-not-enrolled")
        self.assert_allowed(self.kube.create(pod("preset-good", nodeName="node-1")))

    def served(self, made, **members):
        """"allow", or the reasons against it."""
        pod_of = {"cluster": "kube-apiserver", "uid": made["metadata"]["uid"]}
        status, answer = self.service.request("POST", "/v1/decisions", cluster.json.dumps(
            {"point": "serve", "pod": pod_of, **members}))
        self.assertIn(status, (200, 201), answer)
        verdict = answer["decision"]["verdict"]
        return "allow" if verdict["allowed"] else " ".join(verdict["reasons"])

    def test_binding_that_the_api_server_refuses_does_not_move_the_pod(self):
        self.kube.namespace("anywhere")
        self.kube.claim("models", "anywhere")
        self.service.publish_at("anywhere", "pvc://anywhere/models", model="acme/anywhere")
        self.service.activate(cluster.manifest_policy("anywhere", ["anywhere"]))
        made = self.create("llm", model="acme/anywhere", namespace="anywhere")
        self.assert_allowed(self.kube.bind_created(made, "node-1"))
        self.assertEqual(self.served(made), "allow")
        again = self.kube.bind_created(made, "node-2")
        self.assertEqual(again.status, 409, str(again))
        self.assertIn("node-unknown", self.served(made))
        self.assertEqual(self.served(made, node="node-1"), "allow")
        self.assertIn("node-unknown", self.served(made, node="node-3"))
        self.assert_allowed(self.kube.patch(
            "Pod", "llm", {"metadata": {"annotations": {"note": "x"}}}, namespace="anywhere"))
        self.assertEqual(self.served(made), "allow")
        self.assertIn("node-unknown", self.served(made, node="node-2"))

    def test_claim_made_under_a_name_that_is_taken_erases_nothing(self):
        made = self.create("claimed")
        answer = self.kube.create({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": cluster.CLAIM, "namespace": NAMESPACE},
            "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "",
                     "volumeName": "pv-evil", "resources": {"requests": {"storage": "1Gi"}}}})
        self.assertEqual(answer.status, 409, str(answer))
        self.assert_allowed(self.kube.bind_created(made, "node-1"))

    def test_claim_made_again_is_another_volume(self):
        """The node read the claim of this name before; what has its name now it never read."""
        location = f"pvc://{NAMESPACE}/remade"
        artifact = self.service.publish_at("remade", location, model="acme/remade")
        content = (self.service.dir / "model-remade/config.json").read_bytes()
        (self.service.claim_on("node-1").parent / "remade/config.json").write_bytes(content)
        self.assertEqual(self.kube.claim("remade"), "pv-remade")
        job = self.service.new_job(artifact, location=location)
        self.assertEqual(self.service.finished(job)["result"], "verified")
        made = [self.create(f"remade-{i}", model="acme/remade", claim="remade") for i in (1, 2)]
        self.assert_allowed(self.kube.bind_created(made[0], "node-1"))
        self.kube.request("DELETE", cluster.path_of("PersistentVolumeClaim", NAMESPACE, "remade"))
        self.kube.patch("PersistentVolumeClaim", "remade", {"metadata": {"finalizers": None}})
        until("it is gone", lambda: not self.kube.get("PersistentVolumeClaim", "remade"))
        self.assert_refused(self.kube.bind_created(made[1], "node-1"), "claim-unknown")
        self.kube.must_create({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": "remade", "namespace": NAMESPACE},
            "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "",
                     "volumeName": "pv-other", "resources": {"requests": {"storage": "1Gi"}}}})
        self.assert_refused(self.kube.bind_created(made[1], "node-1"), "claim-unknown")
        self.kube.patch("PersistentVolumeClaim", "remade",
                        {"metadata": {"annotations": {"seen": "1"}}})
        self.assert_refused(self.kube.bind_created(made[1], "node-1"), "volume-changed")

    def test_grace_period_beyond_what_json_keeps_exact(self):
        """The API server takes 64 bits, and so do reviews."""
        longest = 2**63 - 1
        made = self.create("patient", terminationGracePeriodSeconds=longest)
        self.assertEqual(made["spec"]["terminationGracePeriodSeconds"], longest)
        self.assert_allowed(self.kube.bind_created(made, "node-1"))
        self.assert_allowed(self.kube.patch(
            "Pod", "patient", {"metadata": {"finalizers": ["example.com/x"]}}))
        self.assert_allowed(self.kube.patch("Pod", "patient", {"metadata": {"finalizers": None}}))

    def test_publisher_revoked_between_create_and_bind(self):
        self.kube.namespace("revoked")
        self.kube.claim("models", "revoked")
        self.service.publish_at("second", "pvc://revoked/models", key="publisher-2",
                                model="acme/second")
        self.service.activate(cluster.manifest_policy("revoked", ["revoked"]))
        made = [self.create(f"llm-{number}", model="acme/second", namespace="revoked")
                for number in (1, 2)]
        self.assert_allowed(self.kube.bind_created(made[0], "node-1"))
        described = self.service.run("assay", "key", "show", "keys/publisher-2.pem.pub",
                                     "-o", "json").stdout
        key = cluster.json.loads(described)["key_id"]
        self.service.change_trust("--revoke", key, "--reason", "lost")
        self.assert_refused(self.kube.bind_created(made[1], "node-1"), "key-revoked")


if __name__ == "__main__":
    unittest.main()
