# SPDX-License-Identifier: Apache-2.0
"""Writes the AdmissionReview of a pod: pod.py NAME CLAIM [MODEL] prints it.

The pod asks for a GPU, mounts the volume claim CLAIM and, with MODEL, names it in the annotation
assay.dev/model, as an inference server's manifest would.
"""
import json
import sys
import uuid

name, claim = sys.argv[1], sys.argv[2]
metadata = {"name": name, "namespace": "inference", "labels": {"app": "llm"}}
if len(sys.argv) > 3:
    metadata["annotations"] = {"assay.dev/model": sys.argv[3]}
pod = {
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
                "volumeMounts": [{"name": "model", "mountPath": "/models"}],
            }
        ],
        "volumes": [{"name": "model", "persistentVolumeClaim": {"claimName": claim}}],
    },
}
review = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": str(uuid.uuid4()),
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "name": name,
        "namespace": "inference",
        "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
        "object": pod,
        "oldObject": None,
        "dryRun": False,
        "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"},
    },
}
json.dump(review, sys.stdout, indent=1)
