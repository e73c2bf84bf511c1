# SPDX-License-Identifier: Apache-2.0
"""A control plane whose API server asks an Assay of the test's own, by the webhooks that are shipped."""
import atexit
import base64
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
sys.path.insert(0, str(ROOT / "tests/e2e"))

import control_plane  # noqa: E402
import nodes  # noqa: E402
from control_plane import until  # noqa: E402
from pods import (  # noqa: E402, F401 (tests take them from here)
    CLAIM, GPU, MODEL, NAMESPACE, binding, manifest_policy, node_policy, pod, pod_spec)

PATHS = {
    "Namespace": "/api/v1", "Node": "/api/v1", "PersistentVolume": "/api/v1",
    "PersistentVolumeClaim": "/api/v1", "Pod": "/api/v1", "ConfigMap": "/api/v1",
    "ReplicationController": "/api/v1",
    "Deployment": "/apis/apps/v1", "ReplicaSet": "/apis/apps/v1", "StatefulSet": "/apis/apps/v1",
    "DaemonSet": "/apis/apps/v1", "Job": "/apis/batch/v1", "CronJob": "/apis/batch/v1",
    "StorageClass": "/apis/storage.k8s.io/v1",
}
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"


def path_of(kind, namespace=None, name=None, sub=None):
    parts = [PATHS[kind], f"namespaces/{namespace}" if namespace else "", kind.lower() + "s",
             name or "", sub or ""]
    return "/".join(filter(None, parts))


def template(kind, name, model=MODEL, namespace=NAMESPACE, **spec):
    """A workload of this kind whose pods are those of `pod`."""
    made = pod(name, model, namespace, **spec)
    inner = {"metadata": {k: made["metadata"][k] for k in ("annotations", "labels")},
             "spec": made["spec"]}
    inner["metadata"]["labels"] = {"app": name}
    outer = {"selector": {"matchLabels": {"app": name}}, "template": inner}
    if kind in ("Job", "CronJob"):
        inner["spec"]["restartPolicy"] = "Never"
        outer = {"template": inner}
    if kind == "CronJob":
        outer = {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": outer}}
    if kind == "StatefulSet":
        outer["serviceName"] = name
    return {"apiVersion": PATHS[kind].removeprefix("/apis/").removeprefix("/api/"), "kind": kind,
            "metadata": {"name": name, "namespace": namespace}, "spec": outer}


def with_socket(made, path="/run/assay", containers="containers", **mount):
    """The pod, which mounts this directory of the node as well."""
    made["spec"].setdefault("volumes", []).append({"name": "assay", "hostPath": {"path": path}})
    made["spec"].setdefault(containers, [{"name": "more", "image": "registry.example.com/more:1"}])
    made["spec"][containers][0].setdefault("volumeMounts", []).append(
        {"name": "assay", "mountPath": "/run/assay", **mount})
    return made


class Service(nodes.NodeService):
    """Keeps its port over restarts, since webhooks name it; knows the API servers of two clusters."""

    def __init__(self):
        self.admission_port = control_plane.free_ports(1)[0]
        super().__init__(admission={"address": "127.0.0.1", "port": self.admission_port,
                                    "client_auth": "required"})
        self.kubelet = self.dir / "kubelet"  # as if node-1 mounted volumes of pods there

    def _extend(self):
        super()._extend()
        self.key("publisher-2", "publisher", "second", "--namespace", "acme")
        self.certificate("kube-east")
        self.principal("node-agents", "worker")
        self.principal("conditions-agent", "worker", "decider")
        self.registrations.append(self.registration("node-c1", "conditions-agent"))

    def certificate(self, name):
        """Another API server: NAME.crt, NAME.key and its entry in the trust store."""
        self.run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                 "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                 "-keyout", f"{name}.key", "-out", f"{name}.crt")
        (self.dir / f"{name}.key").chmod(0o600)
        self.run("assay", "token", "new", "--principal", name, "--role", "admission",
                 "--certificate", f"{name}.crt", "--out", f"tokens/{name}.json")

    def publish_at(self, name, *locations, key="publisher", files=None, model=MODEL):
        """Like publish(), in any places; the artifact id."""
        directory = self.dir / f"model-{name}"
        if not directory.exists():
            directory.mkdir()
            for path, content in (files or {"config.json": name.encode()}).items():
                (directory / path).write_bytes(content)
        places = [part for location in locations for part in ("--location", location)]
        self.run("assay", "manifest", "create", f"model-{name}", "--name", model, *places,
                 "--out", f"{name}.json")
        return self.sign_and_push(name, key)

    def sign_and_push(self, name, key="publisher"):
        self.run("assay", "sign", f"{name}.json", "--key", f"keys/{key}.pem", "--out",
                 f"{name}.signed.json")
        self.run("assay", "push", f"{name}.signed.json", token="ci")
        statement = json.loads((self.dir / f"{name}.json").read_text())
        return "assay-tree-v1-sha256:" + statement["subject"][0]["digest"]["assay-tree-v1-sha256"]

    def decisions(self, **query):
        text = "&".join(f"{name}={value}" for name, value in query.items())
        status, page = self.request("GET", f"/v1/decisions?limit=1000&{text}")
        if status != 200:
            raise AssertionError(f"no decisions: {status} {page}")
        return page["items"]


class Cluster(control_plane.ControlPlane):
    """With the webhooks of deploy/kubernetes in force."""

    def __init__(self, service, certificate="kube.crt", key="kube.key", managers=True):
        super().__init__(service.dir / certificate, service.dir / key, managers)
        self.service = service

    def __enter__(self):
        super().__enter__()
        try:
            self.namespace(NAMESPACE)
            self.install_webhooks()
            self.claim(CLAIM)  # webhooks see it, as they see everything from now on
        except BaseException:
            self.__exit__()
            raise
        return self

    def install_webhooks(self):
        """deploy/kubernetes/webhooks.yaml as it is, but for host and certificate."""
        certificate = (self.service.dir / "service/tls.crt").read_bytes()
        text = (ROOT / "deploy/kubernetes/webhooks.yaml").read_text()
        text = text.replace("HOST:8444", f"127.0.0.1:{self.service.admission_port}")
        text = text.replace("CA_BUNDLE", base64.b64encode(certificate).decode())
        self.must_apply(text)
        self.wait_for_webhooks()

    def install_node_agent(self):
        """deploy/kubernetes/node-agent.yaml as it is, but for what is to be replaced; waits until its
        admission policy is in force."""
        if self.get("Namespace", "assay", None):
            return
        text = (ROOT / "deploy/kubernetes/node-agent.yaml").read_text()
        for name, value in {"HOST": "assay.example.com", "IMAGE": "registry.example.com/assay/agent:1",
                            "AUDIENCE": self.service.config["log"]["origin"]}.items():  # fmt: skip
            text = text.replace(name, value)
        self.must_apply(text)
        probe = with_socket(pod("socket-probe", model=None, claim=None), readOnly=True)
        probe["metadata"]["namespace"] = "default"
        until("the socket's directory is guarded",
              lambda: "may not register" in self.create(probe, dry_run=True).message)

    def wait_for_webhooks(self):
        """The API server takes some seconds to call new webhooks: those that mutate, that judge."""
        nameless = pod("probe", model=None, claim=None)
        until("pods are mutated", lambda: self.create(nameless, dry_run=True).status == 403)
        warned = template("Deployment", "probe", model=None, claim=None)
        until("templates are judged", lambda: self.create(warned, dry_run=True).warnings)

    # Objects

    def create(self, made, dry_run=False):
        path = path_of(made["kind"], made["metadata"].get("namespace"))
        return self.request("POST", path + ("?dryRun=All" if dry_run else ""), made)

    def get(self, kind, name, namespace=NAMESPACE):
        answer = self.request("GET", path_of(kind, namespace, name))
        return answer.body if answer.ok else None

    def patch(self, kind, name, change, namespace=NAMESPACE, sub=None, content_type=MERGE, token=None):
        return self.request("PATCH", path_of(kind, namespace, name, sub), change,
                            content_type=content_type, token=token)

    def delete(self, kind, name, namespace=NAMESPACE):
        answer = self.request("DELETE", path_of(kind, namespace, name) + "?gracePeriodSeconds=0")
        until(f"{name} is gone", lambda: self.get(kind, name, namespace) is None)
        return answer

    def apply(self, text, dry_run=False):
        """YAML of any objects; the finished kubectl."""
        options = ["--dry-run=server"] if dry_run else []
        return self.kubectl("apply", *options, "-f", "-", text=text)

    def must_apply(self, text):
        done = self.apply(text)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return done

    def must_create(self, made):
        """What the API server stored."""
        answer = self.create(made)
        if not answer.ok:
            raise AssertionError(f"{made['kind']} {made['metadata']['name']}: {answer}")
        return answer.body

    def bind(self, name, node, uid=None, namespace=NAMESPACE, legacy=False, **members):
        """As a scheduler does, or by the older resource `bindings`."""
        path = path_of("Pod", namespace, name, "binding")
        if legacy:
            path = f"/api/v1/namespaces/{namespace}/bindings"
        return self.request("POST", path, binding(name, node, uid, namespace, **members))

    def bind_created(self, made, node, **options):
        """Binds what must_create() gave."""
        metadata = made["metadata"]
        return self.bind(metadata["name"], node, metadata["uid"], metadata["namespace"], **options)

    def pods(self, app, namespace=NAMESPACE):
        found = self.request("GET", path_of("Pod", namespace) + f"?labelSelector=app%3D{app}")
        return found.body["items"]

    def event_with(self, text, namespace=NAMESPACE):
        """An event of the namespace whose message holds the text."""
        events = self.request("GET", f"/api/v1/namespaces/{namespace}/events").body["items"]
        return next((event for event in events if text in event.get("message", "")), None)

    def namespace(self, name):
        self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        if self.managers:
            account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            until("default service account", lambda: self.request("GET", account).ok)
        else:
            self.request("POST", f"/api/v1/namespaces/{name}/serviceaccounts",
                         {"apiVersion": "v1", "kind": "ServiceAccount",
                          "metadata": {"name": "default"}})

    def claim(self, name, namespace=NAMESPACE):
        """A claim and the volume behind it, bound to each other; the volume's name. The webhooks
        hear of the volume by an update, as they do when the controller binds a claim."""
        volume = f"pv-{name}" if namespace == NAMESPACE else f"pv-{namespace}-{name}"
        size = {"storage": "1Gi"}
        self.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
                     "spec": {"capacity": size, "accessModes": ["ReadOnlyMany"],
                              "storageClassName": "", "nfs": {"server": "10.0.0.9", "path": "/x"},
                              "claimRef": {"namespace": namespace, "name": name}}})
        self.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                     "metadata": {"name": name, "namespace": namespace},
                     "spec": {"accessModes": ["ReadOnlyMany"], "storageClassName": "",
                              "volumeName": volume, "resources": {"requests": size}}})
        self.patch("PersistentVolumeClaim", name, {"metadata": {"annotations": {"seen": "1"}}},
                   namespace=namespace)
        return volume

    def node(self, name, gpus=512, **labels):
        """A ready node without a kubelet, with more GPUs than all tests of a run ask for: pods stay
        where they are, and the scheduler counts them."""
        size = {"cpu": "64", "memory": "256Gi", "pods": "500", GPU: str(gpus)}
        self.must_create({"apiVersion": "v1", "kind": "Node", "metadata": {
            "name": name, "labels": {"kubernetes.io/hostname": name, **labels}}})
        self.patch("Node", name, {"spec": {"taints": None}}, namespace=None)
        status = {"status": {"capacity": size, "allocatable": size, "conditions": [
            {"type": "Ready", "status": "True", "reason": "Test"}]}}
        answer = self.patch("Node", name, status, namespace=None, sub="status")
        if not answer.ok:
            raise AssertionError(str(answer))

    def only_node(self, only):
        """Cordons all other nodes, or none."""
        for node in self.request("GET", path_of("Node")).body["items"]:
            name = node["metadata"]["name"]
            self.patch("Node", name, {"spec": {"unschedulable": only not in (None, name)}},
                       namespace=None)

    def admission_events(self, uid=None, name=None, verb="create"):
        """Audit events with what Assay noted on them."""
        found = []
        for event in self.audit():
            notes = {key.removeprefix("judge.assay.dev/"): value
                     for key, value in event.get("annotations", {}).items()
                     if key.startswith("judge.assay.dev/")}
            if notes and event["verb"] == verb and event["objectRef"].get("name") == name:
                found.append(notes)
        return found


class Shared:
    """The service and the cluster that all tests of a run use: each test takes names of its own."""

    def __init__(self):
        self.service = Service()
        self.service.__enter__()
        atexit.register(self.service.__exit__)
        service = self.service
        self.artifact = service.publish()
        service.place("node-1")
        service.activate(node_policy("inference", service.anchor))
        self.cluster = Cluster(service)
        self.cluster.__enter__()
        atexit.register(self.cluster.__exit__)
        self.worker = None

    def verified_node(self):
        """node-1, with a worker that has verified the model; node-2 has none."""
        if self.worker is None:
            for name in ("node-1", "node-2"):
                self.cluster.node(name)
            remade = self.service.claim_on("node-1").parent / "remade"
            remade.mkdir()
            self.worker = self.service.worker("node-1", options=(
                "--kubelet-dir", str(self.service.kubelet),
                "--register-socket", str(self.service.dir / "register.sock"),
                "--map", f"pvc://{NAMESPACE}/remade={remade},volume=pv-remade"))
            atexit.register(self.worker.__exit__)
            self.worker.wait("enrolled")
            job = self.service.new_job(self.artifact)
            if self.service.finished(job)["result"] != "verified":
                raise AssertionError(str(self.worker))
        return "node-1"


_shared = []


def shared():
    if not _shared:
        _shared.append(Shared())
    return _shared[0]
