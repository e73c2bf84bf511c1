# SPDX-License-Identifier: Apache-2.0
"""Attacks on what ties mounted bytes to those that a node read, and a node to its machine: each is
refused with its code, and its honest neighbour is still allowed."""
import json
import time
import unittest

import nodes
import pods
from breaking_proxy import BreakingProxy
from chain import Said, Service, rows_of, said_by
from pods import pod

NODE = "node-1"
EVIL = b"import os\n"

# Case, attack, code, neighbour.
FILES = (
    (1, "file_beside_the_entries", "model-mismatch", "same_files"),
    (1, "manifest_that_ignores_code", "parameters-mismatch", "same_files"),
    (3, "pod_mounts_the_other_copy", "report-missing", "pod_mounts_the_verified_copy"),
    (9, "tensors_without_files", "extra", "tensors_and_files"),
    (14, "bytes_read_long_ago", "report-stale", "bytes_read_just_now"),
    (15, "claim_made_again", "volume-changed", "claim_as_it_was"),
)
MACHINES = (
    (5, "second_name_with_one_token", "node-not-registered", "same_name_again"),
    (5, "second_name_for_one_platform", "platform-taken", "second_machine"),
    (6, "measurement_replaced", "evidence-stale|worker-not-measured", "measurement_kept"),
    (15, "another_machine_takes_a_free_name", "node-not-registered", "second_machine"),
    (5, "another_machine_takes_the_name", "report-missing", "same_name_again"),
)


class Nodes(unittest.TestCase):
    """A service, and a worker that has verified the model on its claim."""

    @classmethod
    def setUpClass(cls):
        cls.service = cls.enterClassContext(Service())
        cls.artifact = cls.service.publish()
        cls.copy = cls.service.place(NODE)
        cls.service.activate(pods.node_policy("nodes", cls.service.anchor))
        cls.service.review(pods.claim())
        cls.worker = cls.enterClassContext(cls.service.worker(NODE))
        cls.worker.wait("enrolled")

    def verify(self, **members):
        """What came out of a job on the model."""
        view = self.service.finished(self.service.new_job(self.artifact, NODE, **members))
        return Said(view["result"] == "verified", json.dumps(view))

    def bind(self, made):
        return self.service.bind(self.service.admit(made), NODE)


@rows_of(FILES)
class Files(Nodes):
    # 1: what lies beside the entries

    def file_beside_the_entries(self):
        (self.copy / "modeling_evil.py").write_bytes(EVIL)
        try:
            said = self.verify()
            self.assertFalse(said.allowed, said.text)
            self.assertIn("modeling_evil.py", said.text)
            return self.bind(pod("beside"))
        finally:
            (self.copy / "modeling_evil.py").unlink()

    def manifest_that_ignores_code(self):
        """Other rules are another artifact, and one that policies do not take by default."""
        self.service.sign_manifest("ignoring", "--ignore", "*.py", "--location",
                                   "pvc://inference/ignoring", model="acme/ignoring",
                                   key="publisher-2")
        self.assertNotEqual(self.service.artifact_of("ignoring"), self.artifact)
        return self.service.review(pods.stored(
            pod("ignoring", model="acme/ignoring", claim="ignoring")))

    def same_files(self):
        said = self.verify()
        return self.bind(pod("same")) if said.allowed else said

    # 3: which copy

    def pod_mounts_the_other_copy(self):
        self.verify()
        self.service.sign_manifest("copy", "--location", "pvc://inference/copy")
        self.service.review(pods.claim("copy", "copy-volume"))
        return self.bind(pod("other-copy", claim="copy"))

    def pod_mounts_the_verified_copy(self):
        return self.bind(pod("verified-copy"))

    # 9: a manifest of tensors alone

    def tensors(self, name, *options):
        """A model of its own whose copy on the node has other code; what verifying it says."""
        self.service.sign_manifest(name, *options, "--location", f"pvc://inference/{name}",
                                   model=f"acme/{name}")
        self.service.review(pods.claim(name, f"{name}-volume"))
        return self.service.artifact_of(name)

    def tensors_without_files(self):
        done = self.service.run(
            "assay", "manifest", "create", "model-a", "--name", "acme/tensors", "--objects",
            "tensors", "--key", "keys/publisher.pem", "--out", "tensors.signed.json", check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return said_by(self.service.run(
            "assay", "manifest", "verify", "tensors.signed.json", "model-a", "--key",
            "keys/publisher.pem.pub", check=False))

    def tensors_and_files(self):
        return said_by(self.service.run(
            "assay", "manifest", "verify", "a.signed.json", "model-a", "--key",
            "keys/publisher.pem.pub", check=False))

    # 14: how old the bytes are

    def bytes_read_long_ago(self):
        """The worker held its report back: its age counts from the lease."""
        self.service.activate(pods.node_policy("hurried", self.service.anchor,
                                               namespaces=["inference"], age=4))
        with BreakingProxy(self.service, "report", act=lambda: time.sleep(6)) as proxy:
            self.worker.stop()
            with self.service.worker(NODE, server=proxy.url) as slow:
                slow.wait("enrolled")
                said = self.verify()
            self.assertTrue(said.allowed, said.text)
        self.start_again()
        return self.bind(pod("slow"))

    def bytes_read_just_now(self):
        self.verify()
        said = self.bind(pod("quick"))
        self.service.activate(pods.node_policy("hurried", self.service.anchor, version=2,
                                               namespaces=["inference"]))
        return said

    @classmethod
    def start_again(cls):
        cls.worker = cls.enterClassContext(cls.service.worker(NODE))
        cls.worker.wait("enrolled")

    # 15: what is behind a claim

    def claim_made_again(self):
        self.verify()
        self.service.review(pods.claim(volume="another-volume"))
        return self.bind(pod("made-again"))

    def claim_as_it_was(self):
        self.service.review(pods.claim())
        return self.bind(pod("as-it-was"))


@rows_of(MACHINES)
class Machines(Nodes):
    def bound(self, name):
        said = self.verify()
        return self.bind(pod(name)) if said.allowed else said

    def enrols(self, node, principal, platform=None):
        options = ("--simulator-platform", platform) if platform else ()
        with self.service.worker(node, principal, options=options) as worker:
            try:
                worker.wait("enrolled")
                return Said(True, str(worker))
            except AssertionError as refused:
                return Said(False, str(refused) + worker.errors)

    def second_name_with_one_token(self):
        return self.enrols("node-3", "worker-1")

    def second_name_for_one_platform(self):
        """Two people registered both names, and one machine has the keys of both."""
        return self.enrols("node-2", "worker-2")

    def second_machine(self):
        return self.enrols("node-2", "worker-2", platform="22" * 16)

    def another_machine_takes_the_name(self):
        """What the machine before it has read lies on another disk."""
        self.assertTrue(self.bound("before").allowed)
        self.worker.stop()
        with self.service.worker(NODE, options=("--simulator-platform", "44" * 16)) as other:
            other.wait("enrolled")
            said = self.bind(pod("taken-over"))
        self.start_again()
        return said

    def same_name_again(self):
        self.worker.stop()
        self.start_again()
        return self.bound("again")

    @classmethod
    def start_again(cls):
        cls.worker = cls.enterClassContext(cls.service.worker(NODE))
        cls.worker.wait("enrolled")

    def measurement_replaced(self):
        self.assertTrue(self.bound("measured").allowed)
        made = json.loads((self.service.dir / "appraisal.json").read_text())
        self.appraise("replaced.json", made, mrtd=["ab" * 48])
        return self.bind(pod("unmeasured"))

    def measurement_kept(self):
        made = json.loads((self.service.dir / "appraisal.json").read_text())
        kept = made["policy"]["reference_values"]["mrtd"]
        self.appraise("kept.json", made, mrtd=[*kept, "ab" * 48])

        def appraised_again():
            said = self.bind(pod("measured-again"))
            return said if said.allowed else None
        return nodes.wait_until("evidence counts again", appraised_again)

    def appraise(self, name, made, **references):
        made["policy"]["reference_values"].update(references)
        (self.service.dir / name).write_text(json.dumps(made))
        self.service.change_trust("--appraisal", name)

    def another_machine_takes_a_free_name(self):
        return self.enrols("node-9", "worker-1", platform="33" * 16)


if __name__ == "__main__":
    unittest.main()
