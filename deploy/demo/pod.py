# SPDX-License-Identifier: Apache-2.0
"""Writes AdmissionReviews of a pod, as a cluster's API server sends them.

    pod.py NAME CLAIM [MODEL]     its creation; in the namespace $NAMESPACE, or inference
    pod.py --bind NAME NODE       its binding to a node
    pod.py --claim CLAIM VOLUME   that a volume claim is bound to a persistent volume

The pod asks for a GPU, mounts the volume claim CLAIM and, with MODEL, names it in the annotation
assay.dev/model, as an inference server's manifest would. Its uid follows from its name.
"""
import json
import os
import sys
import uuid

NAMESPACE = os.environ.get("NAMESPACE", "inference")


def uid_of(name):
    return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.{NAMESPACE}.pod"))


def review(kind, resource, name, user, content, sub_resource=None):
    request = {
        "uid": str(uuid.uuid4()),
        "kind": {"group": "", "version": "v1", "kind": kind},
        "resource": {"group": "", "version": "v1", "resource": resource},
        "name": name,
        "namespace": NAMESPACE,
        "operation": "CREATE",
        "userInfo": {"username": user},
        "object": content,
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    }
    if sub_resource:
        request["subResource"] = sub_resource
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def pod(name, claim, model=None):
    metadata = {"name": name, "namespace": NAMESPACE, "uid": uid_of(name), "labels": {"app": "llm"}}
    if model:
        metadata["annotations"] = {"assay.dev/model": model}
    content = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [
                {
                    "name": "server",
                    "image": "registry.example.com/serving/vllm:0.11",
                    "args": ["--model", "/models/llm"],
                    "resources": {"limits": {"nvidia.com/gpu": "1"}},
                    "volumeMounts": [{"name": "model", "mountPath": "/models", "readOnly": True}],
                }
            ],
            "volumes": [{"name": "model", "persistentVolumeClaim": {"claimName": claim}}],
        },
    }
    user = "system:serviceaccount:kube-system:replicaset-controller"
    return review("Pod", "pods", name, user, content)


def binding(name, node):
    content = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid_of(name)},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return review("Binding", "pods", name, "system:kube-scheduler", content, "binding")


def claim(name, volume):
    content = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid_of(f"{name}.{volume}.claim")},
        "spec": {"volumeName": volume},
    }
    user = "system:serviceaccount:kube-system:persistent-volume-binder"
    # Claims get their volume after they are made.
    said = review("PersistentVolumeClaim", "persistentvolumeclaims", name, user, content)
    said["request"]["operation"] = "UPDATE"
    return said


if __name__ == "__main__":
    make = {"--bind": binding, "--claim": claim}.get(sys.argv[1], pod)
    json.dump(make(*sys.argv[1 if make is pod else 2:]), sys.stdout, indent=1)
