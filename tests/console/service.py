# SPDX-License-Identifier: Apache-2.0
"""A service with the console and with data as a cluster makes them, hostile texts among them."""
import concurrent.futures
import json
import pathlib
import sys
import uuid

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import harness  # noqa: E402

# What a page that shows it as HTML would run, with a character that turns the reading direction.
HOSTILE = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script>'\"`${1}\u202e"
SECRET = "0123456789abcdef0123456789abcdef"
POLICY = {
    "name": "gpu-models", "version": 1, "mode": "enforce", "description": "published " + HOSTILE,
    "match": {"accelerators": "any"},
    "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                {"id": "evaluated", "statement": {
                    "predicate_type": harness.LIFECYCLE, "stage": "evaluate", "where": [
                        {"pointer": "/metrics/accuracy/value", "op": ">=", "value": 0.9}]}}],
}


class ConsoleService(harness.Service):
    """Two releases of a model, one evaluated; a policy; pods that were admitted and refused."""

    compares = False  # the end-to-end tests compare answers

    def __init__(self):
        super().__init__(
            api={"address": "127.0.0.1", "port": 0, "console": True},
            admission={"port": 0, "client_auth": "path", "path_secret_file": "admission.secret"})
        (self.dir / "service/admission.secret").write_text(SECRET + "\n")

    def _extend(self):
        self.key("author", "author", "paula")
        self.key("approver", "approver", "quentin")
        self.principal("auditor", "auditor", "reader")
        self.principal("reader", "reader")
        self.principal("leaver", "auditor", "reader")
        self.principal("desk", "policy-author", "policy-approver")

    def sign(self, name, *keys):
        options = [part for key in keys for part in ("--key", f"keys/{key}.pem")]
        self.run("assay", "sign", f"{name}.json", "--yes", *options, "--out", f"{name}.signed.json")

    def write(self, name, document):
        (self.dir / f"{name}.json").write_text(json.dumps(document))

    def fill(self):
        """Returns the artifact id of the release that is evaluated."""
        for name in ("good", "bare"):
            model = self.dir / f"model-{name}"
            model.mkdir()
            (model / "config.json").write_text(name)
            self.run("assay", "manifest", "create", str(model), "--name", "acme/demo",
                     "--location", f"pvc://inference/{name}", "--out", f"{name}.json")
            self.sign(name, "publisher")
            self.run("assay", "push", f"{name}.signed.json", token="ci")
        self.run("assay", "attest", "create", "--stage", "evaluate", "--subject", "good.json",
                 "--metric", "accuracy=0.947", "--comment", "all questions " + HOSTILE,
                 "--out", "evaluation.json")
        self.sign("evaluation", "evaluator")
        self.run("assay", "push", "evaluation.signed.json", token="ci")
        self.write("policy", POLICY)
        self.sign("policy", "author")
        made = json.loads(self.run("assay", "push", "policy.signed.json", "-o", "json", token="desk").stdout)
        made = made.get("items", [made])[0] if isinstance(made, dict) else made[0]
        self.run("assay", "policy", "activate", made["id"], "--without-tests", "--key",
                 "keys/approver.pem", token="desk")
        self.policy = made["id"]
        self.write("policy-2", {**POLICY, "version": 2, "mode": "warn"})
        self.sign("policy-2", "author")
        digest = json.loads((self.dir / "good.json").read_text())["subject"][0]["digest"]
        self.artifact = "assay-tree-v1-sha256:" + digest["assay-tree-v1-sha256"]
        for i in range(12):
            claim = "good" if i % 3 == 0 else "bare"
            allowed = self.review(f"llm-{i}", "acme/demo", "inference", f"user-{i % 4}", claim)
            assert allowed == (i % 3 == 0), i
        self.review(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
        return self.artifact

    def review(self, name, model, namespace, user, claim="bare"):
        """An admission review of a pod that names a model."""
        metadata = {"name": name, "namespace": namespace, "uid": str(uuid.uuid4()),
                    "annotations": {"assay.dev/model": model}}
        mounts = [{"name": "model", "mountPath": "/models", "readOnly": True}]
        spec = {"containers": [{"name": "server", "image": "a.example/b:1", "volumeMounts": mounts,
                                "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
                "volumes": [{"name": "model", "persistentVolumeClaim": {"claimName": claim}}]}
        request = {"uid": str(uuid.uuid4()), "kind": {"group": "", "version": "v1", "kind": "Pod"},
                   "resource": {"group": "", "version": "v1", "resource": "pods"}, "name": name,
                   "namespace": namespace, "operation": "CREATE", "userInfo": {"username": user},
                   "object": {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec},
                   "oldObject": None, "dryRun": False}
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        port, self.port = self.port, self.ready["admission_port"]
        try:
            status, answer = self.request("POST", f"/{SECRET}/v1/admission/validate", json.dumps(body), token=None)
        finally:
            self.port = port
        assert status == 200, answer
        return answer["response"]["allowed"]

    def decide_often(self, number, threads=8):
        """That many refused decisions, by several callers at a time."""
        body = json.dumps({"point": "create", "model": "acme/nothing",
                           "workload": {"namespace": "load", "resources": ["nvidia.com/gpu"]}})

        def some(count):
            connection = self.connect()
            try:
                for _ in range(count):
                    status, answer = self.request("POST", "/v1/decisions", body, "ci", connection)
                    assert status == 200, answer
            finally:
                connection.close()

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(some, [number // threads] * threads))

    def remove(self, name):
        """Two operators take away the access of a principal."""
        self.run("assay", "trust", "change", "--remove-principal", name, "--sequence", "auto",
                 "--out", "change.json", token="admin")
        self.sign("change", "operator-1", "operator-2")
        self.run("assay", "trust", "push", "change.signed.json", token="admin")
