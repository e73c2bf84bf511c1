# SPDX-License-Identifier: Apache-2.0
"""Pods, bindings, claims and policies of tests, and reviews of them as an API server sends them."""
import copy
import uuid

NAMESPACE = "inference"
MODEL = "acme/demo"
CLAIM = "models"
VOLUME = "pv-models"  # behind the claim
GPU = "nvidia.com/gpu"


def pod_spec(claim=CLAIM, gpu=True, scheduler="none", **spec):
    """An inference server with its model on a claim, read-only."""
    container = {"name": "server", "image": "registry.example.com/serving/vllm:0.11",
                 "args": ["--model", "/models"]}
    if gpu:
        container["resources"] = {"limits": {GPU: "1"}}
    made = {"containers": [container], "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0}
    if claim:
        container["volumeMounts"] = [{"name": "model", "mountPath": "/models", "readOnly": True}]
        made["volumes"] = [{"name": "model", "persistentVolumeClaim": {"claimName": claim}}]
    made.update(spec)
    return made


def pod(name, model=MODEL, namespace=NAMESPACE, annotations=None, **spec):
    """Without a scheduler (the default) the test binds the pod."""
    annotations = dict(annotations or {})
    if model:
        annotations["assay.dev/model"] = model
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "annotations": annotations,
                         "labels": {"app": "llm"}},
            "spec": pod_spec(**spec)}


def mount(made, volume, path, container=0, **members):
    """Adds a volume and its mount in a container."""
    spec = made["spec"]
    spec.setdefault("volumes", []).append(volume)
    mounts = spec["containers"][container].setdefault("volumeMounts", [])
    mounts.append({"name": volume["name"], "mountPath": path, **members})
    return made


def host_path(path, name="host"):
    return {"name": name, "hostPath": {"path": path}}


def binding(name, node, uid=None, namespace=NAMESPACE, annotations=None):
    metadata = {"name": name, "namespace": namespace}
    if uid:
        metadata["uid"] = uid
    if annotations:
        metadata["annotations"] = annotations
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata,
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}}


def claim(name=CLAIM, volume=VOLUME, namespace=NAMESPACE):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": namespace, "uid": str(uuid.uuid4())},
            "spec": {"accessModes": ["ReadOnlyMany"], "volumeName": volume}}


def stored(made, uid=None):
    """A pod as validation sees it: with a uid."""
    made = copy.deepcopy(made)
    made["metadata"]["uid"] = uid or str(uuid.uuid4())
    return made


def uid_of(made):
    return made["metadata"]["uid"]


def review(made, operation=None, sub=None, old=None, resource=None, dry_run=False):
    """An AdmissionReview about an object: a claim that is bound, anything else that is made."""
    kind = made["kind"]
    operation = operation or ("UPDATE" if kind == "PersistentVolumeClaim" else "CREATE")
    if kind == "Binding" and resource is None:
        resource, sub = "pods", "binding"
    version = made["apiVersion"].rpartition("/")
    request = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": version[0], "version": version[2], "kind": kind},
        "resource": {"group": version[0], "version": version[2],
                     "resource": resource or kind.lower() + "s"},
        "name": made["metadata"]["name"],
        "namespace": made["metadata"]["namespace"],
        "operation": operation,
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": None if operation == "DELETE" else made,
        "oldObject": made if operation == "DELETE" else old,
        "dryRun": dry_run,
    }
    if sub:
        request["subResource"] = sub
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def node_policy(name, anchor, version=1, namespaces=(NAMESPACE,), age=86400, **members):
    """Asks for a publisher, a measured node, and its report on what the pod mounts."""
    return {
        "name": name, "version": version, "mode": "enforce",
        "match": {"accelerators": "any", "namespaces": list(namespaces)},
        "require": [
            {"id": "published", "manifest": {"signers": {"at_least": 1}}},
            {"id": "node", "node": {"max_evidence_age_seconds": 86400, "anchors": [anchor]}},
            {"id": "verified", "report": {"max_age_seconds": age}},
        ], **members}


def manifest_policy(name, namespaces=(NAMESPACE,), version=1, signers=None, **members):
    """A policy that is decided at create."""
    match = {"accelerators": "any", "namespaces": list(namespaces), **members.pop("match", {})}
    return {"name": name, "version": version, "mode": "enforce", "match": match,
            "require": [{"id": "published", "manifest": {"signers": signers or {"at_least": 1}}}],
            **members}
