# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes/pod-conditions.yaml: what the node agent's token may change, and what nobody else
may; the agent itself on the real API server; the examples of docs/kserve.md."""
import itertools
import json
import re
import unittest

import cluster
import test_examples
from cluster import MERGE, STRATEGIC
from control_plane import until
from test_pods import Case

SPACE, AGENT, GATE = "conditions", "assay-node-agent", "assay.dev/verified"
NODES = ("node-c1", "node-c2")
ID = "0190a1b2-0000-7000-8000-000000000001"
FILE = cluster.ROOT / "deploy/kubernetes/pod-conditions.yaml"
PLATFORM = ("--simulator-platform", "55" * 16)  # another machine than those of other tests


def condition(status="True", message=f"decision {ID}", kind=GATE, **members):
    return {"type": kind, "status": status, "reason": "Test", "message": message, **members}


def change(*conditions, metadata=None, **status):
    made = {"status": {**status}}
    if conditions:
        made["status"]["conditions"] = list(conditions)
    if metadata:
        made["metadata"] = metadata
    return made


class Conditions(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kube.install_node_agent()
        cls.kube.must_apply(FILE.read_text())
        cls.kube.namespace(SPACE)
        cls.tokens = {}
        for node in NODES:
            if cls.kube.get("Node", node, None) is None:
                cls.kube.node(node)
            cls.tokens[node] = cls.token(cls.agent_pod(node))
        cls.unbound = cls.token(None)
        probe = cls.gated("probe", NODES[0])
        # Each attempt is another change: one that was made before the policies came changes nothing.
        attempts = itertools.count()
        until("the condition is guarded", lambda: "only the node agent" in cls.patch(
            probe, change(condition("False", f"{next(attempts)}")), None).message)
        until("the agent is bounded", lambda: "of its own node" in cls.patch(
            probe, change(condition("False", f"{next(attempts)}")), cls.unbound).message)

    @classmethod
    def agent_pod(cls, node):
        """A pod as the DaemonSet has on the node; for the token alone."""
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"agent-{node}", "namespace": "assay"},
                "spec": {"serviceAccountName": AGENT, "nodeName": node, "automountServiceAccountToken": False,
                         "containers": [{"name": "agent", "image": "registry.example.com/x:1"}]}}
        found = cls.kube.get("Pod", f"agent-{node}", "assay")
        return found or cls.kube.must_create(made)

    @classmethod
    def token(cls, bound):
        spec = {"expirationSeconds": 3600}
        if bound:
            spec["boundObjectRef"] = {"apiVersion": "v1", "kind": "Pod", "name": bound["metadata"]["name"],
                                      "uid": bound["metadata"]["uid"]}
        answer = cls.kube.request("POST", f"/api/v1/namespaces/assay/serviceaccounts/{AGENT}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        return answer.body["status"]["token"]

    @classmethod
    def gated(cls, name, node):
        made = {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": name, "namespace": SPACE, "labels": {"app": "x"}, "annotations": {"note": "x"}},
            "spec": {"nodeName": node, "readinessGates": [{"conditionType": GATE}],
                     "containers": [{"name": "server", "image": "registry.example.com/x:1"}]}}  # fmt: skip
        return cls.kube.get("Pod", name, SPACE) or cls.kube.must_create(made)

    @classmethod
    def patch(cls, pod, body, token, sub="status", content_type=STRATEGIC, method="PATCH"):
        path = cluster.path_of("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], sub)
        return cls.kube.request(method, path, body, content_type=content_type, token=token)

    def shown(self, pod):
        found = self.kube.get("Pod", pod["metadata"]["name"], SPACE)
        return {one["type"]: one for one in found["status"].get("conditions", [])}

    def refused(self, answer, text, status=(403, 422)):
        self.assertIn(answer.status, status, str(answer))
        self.assertIn(text, answer.message)


class Agent(Conditions):
    def test_sets_its_condition_of_pods_of_its_node(self):
        for node in NODES:
            made = self.gated(f"own-{node}", node)
            for one in (condition(), condition("False", "decision x: report-missing"), condition()):
                self.assert_allowed(self.patch(made, change(one), self.tokens[node]))
                self.assertEqual(self.shown(made)[GATE]["status"], one["status"])
            # Others go on, and do not disturb it.
            self.assert_allowed(self.patch(made, change(condition("True", "x", "Ready"), phase="Running"), None))
            shown = self.shown(made)
            self.assertEqual((shown[GATE]["status"], shown["Ready"]["status"]), ("True", "True"))
            self.assert_allowed(self.patch(made, change(condition("False", "no")), self.tokens[node]))
            self.assertEqual(self.shown(made)["Ready"]["status"], "True")

    def test_not_of_another_node_nor_without_a_node(self):
        made = self.gated("elsewhere", NODES[1])
        for token in (self.tokens[NODES[0]], self.unbound):
            self.refused(self.patch(made, change(condition()), token), "of its own node")
        waiting = self.kube.must_create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waiting", "namespace": SPACE},
            "spec": {"schedulerName": "none", "containers": [{"name": "x", "image": "registry.example.com/x:1"}]}})
        self.refused(self.patch(waiting, change(condition()), self.tokens[NODES[0]]), "of its own node")

    def test_no_other_condition(self):
        made = self.gated("others", NODES[0])
        self.assert_allowed(self.patch(made, change(condition("False", "x", "Ready")), None))
        for changed in (condition("True", "x", "Ready"), condition("True", "x", "DisruptionTarget"),
                        {"type": "Ready", "$patch": "delete"}):  # fmt: skip
            for one in ((condition(), changed), (changed,)):
                self.refused(self.patch(made, change(*one), self.tokens[NODES[0]]), "no condition but")
        self.refused(self.patch(made, {"status": {"conditions": [condition()]}}, self.tokens[NODES[0]],
                                content_type=MERGE), "no condition but")  # fmt: skip

    def test_nothing_but_true_with_a_decision_or_false(self):
        made = self.gated("worded", NODES[0])
        for one in (condition("Unknown"), condition("true"), condition(message=""), condition(message="fine"),
                    condition(message=f"decision {ID} and more"), condition(message=f"\ndecision {ID}"),
                    condition(message="decision 0190a1b2-0000-4000-8000-000000000001")):  # fmt: skip
            self.assertFalse(self.patch(made, change(one), self.tokens[NODES[0]]).ok, one)
        self.assert_allowed(self.patch(made, change(condition()), self.tokens[NODES[0]]))
        self.refused(self.patch(made, change({"type": GATE, "$patch": "delete"}), self.tokens[NODES[0]]),
                     "True with the id")  # fmt: skip

    def test_no_metadata(self):
        made = self.gated("labelled", NODES[0])
        for metadata in ({"labels": {"app": "y"}}, {"labels": {"more": "x"}}, {"labels": None},
                         {"annotations": {"note": "y"}}, {"annotations": {"assay.dev/model": "x"}},
                         {"finalizers": ["example.com/stay"]}):  # fmt: skip
            self.refused(self.patch(made, change(condition(), metadata=metadata), self.tokens[NODES[0]]),
                         "changes no labels")  # fmt: skip

    def test_nothing_else_of_the_status(self):
        made = self.gated("status", NODES[0])
        for status in ({"phase": "Succeeded"}, {"podIP": "10.0.0.1"}, {"podIPs": [{"ip": "10.0.0.1"}]},
                       {"hostIP": "10.0.0.1"}, {"message": "x"}, {"reason": "Evicted"}, {"qosClass": "Guaranteed"},
                       {"nominatedNodeName": "x"}, {"startTime": "2026-01-01T00:00:00Z"},
                       {"containerStatuses": [{"name": "server", "ready": True, "restartCount": 0, "image": "x",
                                               "imageID": "x"}]}):  # fmt: skip
            answer = self.patch(made, change(condition(), **status), self.tokens[NODES[0]])
            self.assertFalse(answer.ok, status)
            self.assertRegex(answer.message, "nothing of a pod's status|immutable|is invalid", status)

    def test_every_member_of_a_status_is_named(self):
        """A newer Kubernetes has more: then this test fails, and the file takes them up."""
        text = FILE.read_text()
        schema = self.kube.request("GET", "/openapi/v3/api/v1").body["components"]["schemas"]
        for name in set(schema["io.k8s.api.core.v1.PodStatus"]["properties"]) - {"conditions"}:
            self.assertIn(f"object.status.?{name} == oldObject.status.?{name}\n", text)

    def test_expressions_have_the_types_of_pods(self):
        for name in ("assay-node-agent-status", "assay-verified-condition"):
            path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/{name}"
            status = until("types were checked", lambda: (self.kube.request("GET", path).body.get("status") or {}))
            warnings = status.get("typeChecking", {}).get("expressionWarnings", [])
            # Members that this version does not have yet, or any more.
            self.assertFalse([one for one in warnings if "undefined field" not in one["warning"]], warnings)

    def test_rights_end_there(self):
        token, made = self.tokens[NODES[0]], self.gated("rights", NODES[0])
        for answer in (self.patch(made, {"metadata": {"labels": {"app": "y"}}}, token, sub=None),
                       self.patch(made, {"metadata": {"annotations": {"x": "y"}}}, token, sub=None),
                       self.patch(made, None, token, sub=None, method="DELETE"),
                       self.patch(made, None, token, sub=None, method="GET"),
                       self.kube.request("PUT", cluster.path_of("Pod", SPACE, "rights", "status"), made, token=token),
                       self.kube.request("GET", f"/api/v1/namespaces/{SPACE}/secrets", token=token),
                       self.kube.request("GET", "/api/v1/nodes", token=token),
                       self.kube.patch("Node", NODES[0], {"metadata": {"labels": {"x": "y"}}}, None, token=token)):
            self.assertEqual(answer.status, 403, str(answer))
        listed = self.kube.request("GET", f"/api/v1/pods?fieldSelector=spec.nodeName%3D{NODES[0]}", token=token)
        self.assertIn("rights", [one["metadata"]["name"] for one in listed.body["items"]])

    def test_pod_of_the_same_name_made_again(self):
        made = self.gated("again", NODES[0])
        body = change(condition(), metadata={"uid": made["metadata"]["uid"]})
        self.assert_allowed(self.patch(made, body, self.tokens[NODES[0]]))
        self.kube.delete("Pod", "again", SPACE)
        remade = self.gated("again", NODES[0])
        self.assertIn(self.patch(remade, body, self.tokens[NODES[0]]).status, (409, 422))
        self.assertNotIn(GATE, self.shown(remade))


class Others(Conditions):
    def test_nobody_else_sets_changes_or_removes_it(self):
        made = self.gated("guarded", NODES[0])
        self.refused(self.patch(made, change(condition()), None), "only the node agent")
        self.assert_allowed(self.patch(made, change(condition("False", "no")), self.tokens[NODES[0]]))
        for one in (condition(), condition("False", "another text"), {"type": GATE, "$patch": "delete"}):
            self.refused(self.patch(made, change(one), None), "only the node agent")
        self.refused(self.patch(made, {"status": {"conditions": []}}, None, content_type=MERGE),
                     "only the node agent")  # fmt: skip
        found = self.kube.get("Pod", "guarded", SPACE)
        found["status"]["conditions"] = []
        self.refused(self.kube.request("PUT", cluster.path_of("Pod", SPACE, "guarded", "status"), found),
                     "only the node agent")  # fmt: skip

    def test_kubelets_and_controllers_go_on(self):
        made = self.gated("kubelet", NODES[0])
        self.assert_allowed(self.patch(made, change(condition()), self.tokens[NODES[0]]))
        self.assert_allowed(self.patch(made, change(condition("True", "x", "ContainersReady"), phase="Running",
                                                    podIP="10.1.1.1"), None))  # fmt: skip
        self.assertEqual(self.shown(made)[GATE]["status"], "True")

    def test_a_pod_is_not_made_with_it(self):
        made = self.kube.must_create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "born", "namespace": SPACE},
            "spec": {"nodeName": NODES[0], "containers": [{"name": "x", "image": "registry.example.com/x:1"}]},
            "status": {"phase": "Running", "conditions": [condition()]}})
        self.assertNotIn(GATE, self.shown(made))
        made["status"] = {"conditions": [condition()]}
        answer = self.kube.request("PUT", cluster.path_of("Pod", SPACE, "born"), made)
        self.assertNotIn(GATE, self.shown(made), str(answer))


class Running(Conditions):
    """The agent as a program, with the token of its pod."""

    def test_condition_follows_the_service(self):
        token = self.service.dir / "api-server.token"
        token.write_text(self.tokens[NODES[0]])
        token.chmod(0o600)
        options = ("--pod-conditions", "kube-apiserver", "--api-server", f"https://127.0.0.1:{self.kube.port}",
                   "--api-server-ca", str(self.kube.dir / "pki/apiserver.crt"), "--api-server-token", str(token),
                   "--condition-period", "1")  # fmt: skip
        policy = {"name": "conditions", "version": 1, "mode": "enforce", "match": {"namespaces": [SPACE]},
                  "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}}]}
        unselected = self.gated("unselected", NODES[0])
        self.kube.claim("followed", SPACE)
        artifact = self.service.publish_at("followed", f"pvc://{SPACE}/followed", model="acme/followed")
        self.service.activate(policy)
        followed = self.kube.must_create({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "followed", "namespace": SPACE},
            "spec": {"nodeName": NODES[0], "readinessGates": [{"conditionType": GATE}],
                     "containers": [{"name": "server", "image": "registry.example.com/x:1",
                                     "volumeMounts": [{"name": "m", "mountPath": "/models", "readOnly": True}]}],
                     "volumes": [{"name": "m", "persistentVolumeClaim": {"claimName": "followed"}}]}})  # fmt: skip
        with self.service.worker(NODES[0], "conditions-agent", options=PLATFORM + options):
            shown = until("it is verified", lambda: self.status(followed, "True"))
            decision = re.fullmatch(r"decision ([0-9a-f-]{36})", shown["message"])[1]
            status, recorded = self.service.request("GET", f"/v1/decisions/{decision}")
            self.assertEqual(status, 200, recorded)
            self.assertEqual((recorded["point"], recorded["request"]["pod_uid"]),
                             ("serve", followed["metadata"]["uid"]))
            self.assertEqual([one["artifact"] for one in recorded["models"]], [artifact])
            until("a pod from before the policy is not", lambda: self.status(unselected, "False"))

            # The model's manifest stops to count.
            strict = {**policy, "version": 2}
            strict["require"] = [{"id": "published", "manifest": {"signers": {"at_least": 2}}}]
            self.service.activate(strict)
            shown = until("it is verified no longer", lambda: self.status(followed, "False"))
            self.assertRegex(shown["message"], r"^decision [0-9a-f-]{36}: ")

    def status(self, pod, wanted):
        shown = self.shown(pod).get(GATE)
        return shown if shown and shown["status"] == wanted else None

    def test_daemon_set_takes_the_patch(self):
        patch = (cluster.ROOT / "deploy/kubernetes/pod-conditions-agent.yaml").read_text()
        path = self.service.dir / "pod-conditions-agent.yaml"
        path.write_text(patch.replace("--pod-conditions=CLUSTER", "--pod-conditions=kube-apiserver"))
        done = self.kube.kubectl("-n", "assay", "patch", "daemonset", AGENT, "--type", "json", "--dry-run=server",
                                 "-o", "json", "--patch-file", str(path))  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        spec = json.loads(done.stdout)["spec"]["template"]["spec"]
        self.assertIn("--pod-conditions=kube-apiserver", spec["containers"][0]["args"])
        mounts = {one["name"]: one["mountPath"] for one in spec["containers"][0]["volumeMounts"]}
        self.assertEqual(mounts["api-server"], "/api-server")
        self.assertIn("api-server", [one["name"] for one in spec["volumes"]])


class KServe(test_examples.Section):
    def test_in_kserve(self):
        self.shared.verified_node()
        self.kube.namespace("models")
        self.kube.claim("store", "models")
        self.hold("In KServe")


if __name__ == "__main__":
    unittest.main()
