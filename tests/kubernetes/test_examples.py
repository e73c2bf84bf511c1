# SPDX-License-Identifier: Apache-2.0
"""The examples of docs/kubernetes.md and docs/kserve.md, section by section, sent to a real API server.

A fenced block says after its language what is done with it:
    console publish      its commands are run (the model is made up), signed and pushed
    json policy          put in force
    json registration    a change of trust
    yaml allow           applied; no warning is expected of a Pod
    yaml deny CODE...    refused, and the refusal holds every CODE
Other blocks are for people. Simulated nodes need their anchor named, so the test adds it to
conditions on nodes.
"""
import json
import re
import shlex
import unittest

import cluster
import nodes
import pod_process
from control_plane import until
from test_pods import Case

PAGES = (cluster.ROOT / "docs/kubernetes.md", cluster.ROOT / "docs/kserve.md")
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```(\w+)((?: [\w-]+)+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DOES = {"console publish": "publish", "json policy": "enforce", "json registration": "register",
        "yaml allow": "allow", "yaml deny": "deny"}


def sections():
    """Title -> its blocks: (kind, further words, text)."""
    parts = [part for page in PAGES for part in SECTION.split(page.read_text())[1:]]
    found = {}
    for title, text in zip(parts[::2], parts[1::2]):
        blocks = [(f"{language} {words.split()[0]}", words.split()[1:], body)
                  for language, words, body in FENCE.findall(text)]
        if blocks:
            found[title] = blocks
    return found


class Section(Case):
    """Does what the blocks of a section say."""

    def hold(self, title):
        for kind, words, text in sections()[title]:
            with self.subTest(title, kind=kind, words=words):
                getattr(self, DOES[kind])(text, *words)

    weights = {}  # files of models that are published, beside their config.json

    def publish(self, text):
        for line in text.splitlines():
            words = shlex.split(line)
            directory, out = words[3], words[words.index("--out") + 1]
            (self.service.dir / directory).mkdir(parents=True)
            (self.service.dir / directory / "config.json").write_text(json.dumps({"of": directory}))
            for name, content in self.weights.items():
                (self.service.dir / directory / name).write_bytes(content)
            self.service.run(*words)
            self.service.sign_and_push(out.removesuffix(".json"))

    def enforce(self, text):
        policy = json.loads(text)
        for condition in policy["require"]:
            if "node" in condition:
                condition["node"]["anchors"] = [self.service.anchor]
        self.service.activate(policy)

    def make_namespaces(self, text):
        for name in re.findall(r"^  namespace: (\S+)$", text, re.MULTILINE):
            self.kube.namespace(name)

    def allow(self, text):
        self.make_namespaces(text)
        done = self.kube.apply(text)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        if "kind: Pod\n" in text:
            self.assertNotIn("Warning", done.stderr)

    def deny(self, text, *codes):
        self.make_namespaces(text)
        done = self.kube.apply(text)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for code in codes:
            self.assertIn(code, done.stderr)


class Examples(Section):
    def test_a_model_on_a_claim(self):
        self.hold("A model on a claim")
        self.assert_pinned("claims", "llama", "acme/llama")

    def test_a_cache_that_many_models_share(self):
        self.hold("A cache that many models share")
        self.assert_pinned("cache", "mistral", "acme/mistral")

    def test_an_image_volume(self):
        self.hold("An image volume")
        made = self.kube.get("Pod", "phi", "image-volumes")
        self.assertRegex(made["spec"]["volumes"][0]["image"]["reference"], "@sha256:4bf5122f")

    def test_claims_that_a_stateful_set_makes(self):
        self.hold("Claims that a StatefulSet makes")
        until("two replicas", lambda: len(self.kube.pods("qwen", "sets")) == 2)
        self.assertTrue(self.kube.get("PersistentVolumeClaim", "model-qwen-0", "sets"))
        until("the third is refused",
              lambda: self.kube.event_with("model-reference-missing", "sets"))
        self.assertIsNone(self.kube.get("Pod", "qwen-2", "sets"))

    def test_an_init_container_that_downloads_the_model(self):
        self.shared.verified_node()
        self.kube.only_node("node-1")
        self.addCleanup(self.kube.only_node, None)
        self.hold("An init container that downloads the model")
        made = self.kube.get("Pod", "gemma", "downloads")
        said = self.decision(made)
        self.assertEqual(said["reference-bound"], "deferred")
        self.assertEqual(said["verified-in-the-pod"], "deferred")
        self.served_when_verified()

    def served_when_verified(self):
        """The answer at `serve` follows what lies in the empty directory of this very pod."""
        made = until("it is bound", lambda: self.bound("gemma", "downloads"))
        uid = made["metadata"]["uid"]
        self.assertIn("report-missing", self.asked_at_serve(uid))
        volume = self.service.kubelet / f"pods/{uid}/volumes/kubernetes.io~empty-dir/model"
        volume.mkdir(parents=True)
        (volume / "config.json").write_bytes(b"other bytes")
        self.verified_in(uid, "mismatch")
        self.assertIn("model-mismatch", self.asked_at_serve(uid))
        (volume / "config.json").write_bytes(
            (self.service.dir / "gemma/config.json").read_bytes())
        self.verified_in(uid, "verified")
        self.assertEqual(self.asked_at_serve(uid), "allow")

    def test_a_server_that_registers_its_weights(self):
        self.shared.verified_node()
        self.kube.install_node_agent()
        self.kube.only_node("node-1")
        self.addCleanup(self.kube.only_node, None)
        self.weights = {"model.safetensors": nodes.MODEL["model.safetensors"]}
        self.kube.namespace("serving")
        self.kube.claim("llama-70b", "serving")
        self.hold("A server that registers its weights")
        made = until("it is bound", lambda: self.bound("llama-70b", "serving"))
        uid = made["metadata"]["uid"]
        self.assertIn("report-missing", self.asked_at_serve(uid))
        try:
            group = pod_process.Group(uid)
        except OSError as error:
            self.skipTest(f"no group of a pod can be made here: {error}")
        self.addCleanup(group.close)
        self.served_while_verified(uid, group)

    def served_while_verified(self, uid, group):
        """A process in the pod's group registers; one of its bytes changes."""
        statement = json.loads((self.service.dir / "llama-70b.json").read_text())
        root = statement["subject"][0]["digest"]["assay-tree-v1-sha256"]
        server = group.start(cluster.ROOT / "deploy/demo/serve.py", self.service.dir / "llama-70b",
                             self.service.dir / "register.sock", f"assay-tree-v1-sha256:{root}")
        self.assertEqual(server.says()["type"], "registered")
        status, job = self.service.request("POST", "/v1/jobs", json.dumps({
            "artifact": f"assay-tree-v1-sha256:{root}", "node": "node-1", "scope": "device-memory",
            "instance": {"pod": uid, "instance": "main"}}))
        self.assertIn(status, (200, 201), job)
        self.assertEqual(self.service.finished(job["id"])["result"], "verified")
        until("it may serve", lambda: self.asked_at_serve(uid) == "allow")
        server.tell("flip layer.0.weight")
        until("it may not", lambda: "instance-violated" in self.asked_at_serve(uid))
        self.assertEqual(server.says(lambda said: said["state"] == "violated")["findings"][0]["tensor"],
                         "layer.0.weight")

    def bound(self, name, namespace):
        made = self.kube.get("Pod", name, namespace)
        return made if made["spec"].get("nodeName") == "node-1" else None

    def verified_in(self, uid, result):
        statement = json.loads((self.service.dir / "gemma.json").read_text())
        root = statement["subject"][0]["digest"]["assay-tree-v1-sha256"]
        status, job = self.service.request("POST", "/v1/jobs", json.dumps({
            "artifact": f"assay-tree-v1-sha256:{root}", "node": "node-1",
            "pod": {"uid": uid, "volume": "model"}}))
        self.assertIn(status, (200, 201), job)
        self.assertEqual(self.service.finished(job["id"])["result"], result)

    def asked_at_serve(self, uid):
        """"allow", or the reasons against it."""
        status, decision = self.service.request("POST", "/v1/decisions", json.dumps({
            "point": "serve", "pod": {"cluster": "kube-apiserver", "uid": uid}}))
        self.assertIn(status, (200, 201), decision)
        verdict = decision["decision"]["verdict"]
        return "allow" if verdict["allowed"] else " ".join(verdict["reasons"])

    def test_a_model_in_a_sidecar(self):
        self.hold("A model in a sidecar")
        made = self.kube.get("Pod", "pair", "sidecars")
        pinned = made["metadata"]["annotations"]["assay.dev/model"].split(",")
        self.assertEqual([one.split("@")[0] for one in pinned], ["acme/base", "acme/draft"])

    def test_gpu_operators_and_other_daemon_sets(self):
        self.shared.verified_node()
        self.hold("GPU operators and other DaemonSets")
        until("pods of the DaemonSet",
              lambda: len(self.kube.pods("device-plugin", "gpu-operator")) >= 2)

    def assert_pinned(self, namespace, name, model):
        notes = self.kube.get("Pod", name, namespace)["metadata"]["annotations"]
        self.assertRegex(notes["assay.dev/model"], f"^{model}@assay-tree-v1-sha256:[0-9a-f]{{64}}$")

    def decision(self, made):
        """Id of a condition -> outcome, of the pod's decision."""
        shown = self.service.run("assay", "decision", "show",
                                 made["metadata"]["annotations"]["assay.dev/decision-id"],
                                 "-o", "json", token="ci")
        verdict = json.loads(shown.stdout)["verdict"]
        conditions = verdict["preconditions"] + [
            condition for policy in verdict["policies"] for condition in policy["conditions"]]
        return {condition["id"]: condition["outcome"] for condition in conditions}


class Page(unittest.TestCase):
    def test_every_section_with_examples_has_a_test(self):
        text = (cluster.ROOT / "tests/kubernetes/test_examples.py").read_text()
        for name in ("test_pools.py", "test_pod_conditions.py"):
            text += (cluster.ROOT / "tests/kubernetes" / name).read_text()
        for title in sections():
            self.assertIn(f'hold("{title}")', text)

    def test_examples_of_policies_have_a_name_of_their_own(self):
        names = [(policy["name"], policy["version"]) for blocks in sections().values()
                 for kind, _, text in blocks if kind == "json policy"
                 for policy in [json.loads(text)]]
        self.assertEqual(len(names), len(set(names)))


if __name__ == "__main__":
    unittest.main()
