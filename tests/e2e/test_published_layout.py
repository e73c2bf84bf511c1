# SPDX-License-Identifier: Apache-2.0
"""Weights that no layout expresses: recorded from a reference process, signed, registered, asked about."""
import json
import os
import subprocess
import sys
import unittest

import harness
import nodes

sys.path.insert(0, str(harness.ROOT / "tests/support"))
from instance_owner import Owner, is_listening  # noqa: E402

NODE = "node-1"
PACKED = bytes(index * 7 % 251 for index in range(40_000))  # four bits of each number, shuffled
SCALES = bytes(2_000)
TENSORS = [(["layer.0.qweight"], "U8", [40_000], PACKED), (["layer.0.scales"], "F16", [1_000], SCALES)]
REQUIRE = {"scope": "device-memory", "layouts": ["exact", "published"]}
POLICY = {
    "name": "loaded", "version": 1, "mode": "enforce", "match": {"accelerators": "any"},
    "require": [{"id": "published", "manifest": {"signers": {"at_least": 1}}},
                {"id": "loaded", "report": REQUIRE}]}


class PublishedLayout(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(nodes.NodeService())
        self.artifact = self.service.publish()
        self.service.place(NODE)
        self.service.activate(POLICY)
        for name, stage in (("layouts", "layout"), ("stranger", "evaluate")):
            self.service.key(name, "signer", name, "--role", f"{stage}:{harness.LIFECYCLE}:acme")
            self.service.change_trust("--add-key", f"keys/{name}.json")
        self.record()
        self.socket = self.service.dir / "register.sock"
        options = ("--register-socket", str(self.socket), "--register-uid", str(os.getuid()))
        self.worker = self.enterContext(self.service.worker(options=options))
        self.worker.wait("enrolled")

    def record(self, ranks=(TENSORS,)):
        """The documents of reference processes, on a machine without a service."""
        path = self.service.dir / "record.sock"
        recording = subprocess.Popen(
            ["assay", "layout", "record", "a.json", "--layout-name", "acme/demo-packed", "--engine", "demo",
             "--engine-version", "1.0", "--register-socket", str(path), "--device", "cpu", "--tensors-out",
             "tensors.json", "--publisher-key", "keys/publisher.pem", "--key", "keys/layouts.pem", "--out",
             "layout.json"],
            cwd=self.service.dir, env=self.service.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)  # fmt: skip
        self.addCleanup(recording.kill)
        nodes.wait_until("the socket", lambda: is_listening(path) or recording.poll() is not None)
        for rank, tensors in enumerate(ranks):
            reference = Owner(path, self.artifact, tensors, rank=rank, world=len(ranks))
            self.addCleanup(reference.close)
            self.assertEqual(reference.register()["type"], "registered")
        _, said = recording.communicate(timeout=nodes.SLOW)
        self.assertEqual(recording.returncode, 0, said)
        shown = self.service.run("assay", "manifest", "show", "tensors.json", "-o", "json").stdout
        self.published = json.loads(shown)["artifact"]
        self.service.run("assay", "push", "tensors.json", token="ci")

    def push(self):
        self.service.run("assay", "push", "layout.json", token="ci")

    def serving(self, tensors=TENSORS, **options):
        owner = Owner(self.socket, self.artifact, tensors, published=self.published, **options)
        self.addCleanup(owner.close)
        self.assertEqual(owner.register()["type"], "registered")
        return owner

    def job(self):
        done = self.service.run("assay", "job", "new", self.artifact, "--node", NODE, "--instance", "main",
                                "--wait", "-o", "json", token="ci", check=False)  # fmt: skip
        return json.loads(done.stdout)

    def serve(self):
        done = self.service.run("assay", "decide", "--model", self.artifact, "--point", "serve", "--node", NODE,
                                "--resource", "nvidia.com/gpu", "-o", "json", token="ci", check=False)  # fmt: skip
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 0, done.stdout

    def becomes(self, code):
        def look():
            allowed, said = self.serve()
            return said if (allowed if code == "allow" else not allowed and code in said) else None
        return nodes.wait_until(code, look)

    def test_recorded_weights_count_once_a_trusted_signer_says_so(self):
        self.serving()
        self.assertEqual(self.job()["result"], "verified")
        self.becomes("layout-not-pinned")
        self.push()
        said = self.becomes("allow")
        self.assertIn(self.published, said)
        # Taken back: denied again.
        payload = json.loads(self.service.run("assay", "attest", "verify", "layout.json", "--key",
                                              "keys/layouts.pem.pub", "-o", "json").stdout)
        self.service.run("assay", "withdraw", payload["id"], "--reason", "incorrect", "--text", "Wrong engine.",
                         "--key", "keys/layouts.pem", "--out", "withdrawal.json")
        self.service.run("assay", "push", "withdrawal.json", token="ci")
        self.becomes("statement-withdrawn")

    def test_a_pinned_layout_counts_without_a_statement(self):
        self.service.activate(dict(POLICY, version=2, require=[
            POLICY["require"][0], {"id": "loaded", "report": {**REQUIRE, "layout_digests": [self.published]}}]))
        self.serving()
        self.assertEqual(self.job()["result"], "verified")
        self.becomes("allow")

    def test_the_kind_counts_only_where_the_policy_names_it(self):
        self.service.activate(dict(POLICY, version=2, require=[
            POLICY["require"][0], {"id": "loaded", "report": {**REQUIRE, "layouts": ["exact", "recipe"]}}]))
        self.push()
        self.serving()
        self.assertEqual(self.job()["result"], "verified")
        self.becomes("layout-kind-refused")

    def test_other_bytes_are_a_mismatch_whoever_signed(self):
        self.push()
        owner = self.serving([(*TENSORS[0][:3], PACKED[:-1] + b"?"), TENSORS[1]])
        self.assertEqual(self.job()["result"], "mismatch")
        found = owner.wait(lambda m: m["type"] == "state" and m["state"] == "violated")
        self.assertEqual(found["findings"][0]["tensor"], "layer.0.qweight")
        self.assertIn("rank-0000", found["findings"][0]["detail"])
        self.becomes("model-mismatch")

    def test_a_layout_that_nobody_published_covers_nothing(self):
        self.published = self.published[:-4] + "0000"
        self.serving()
        self.assertEqual(self.job()["result"], "mismatch")  # its tensors are none of the model's files
        refused = self.worker.wait("layout-refused")
        self.assertEqual(refused["error"]["code"], "not-found")
        self.becomes("model-mismatch")

    def test_more_processes_than_were_recorded_are_not_that_layout(self):
        self.push()
        self.serving(world=2)
        self.serving(rank=1, world=2)
        self.assertEqual(self.job()["result"], "mismatch")  # its tensors are none of the model's files
        self.assertEqual(self.worker.wait("layout-refused")["error"]["code"], "layout-shape")

    def test_swapped_doubled_and_missing_shards_are_named_by_rank(self):
        halves = [[(TENSORS[0][0], "U8", [20_000], PACKED[at:at + 20_000])] for at in (0, 20_000)]
        for document in ("tensors.json", "layout.json"):
            (self.service.dir / document).unlink()
        self.record(halves)
        self.push()

        def found(*held):
            """The result of a job about ranks that hold these shards, and the findings of the first one."""
            owners = [self.serving(tensors, rank=rank, world=2) for rank, tensors in enumerate(held)]
            result = self.job()["result"]
            state = "verified" if result == "verified" else "violated"
            told = owners[0].wait(lambda m: m["type"] == "state" and m["state"] == state)
            for owner in owners:
                owner.close()
            return result, [one["detail"] for one in told["findings"]]
        self.assertEqual(found(*halves), ("verified", []))
        of = "its bytes are not those of the layout, but those of"
        self.assertEqual(found(*reversed(halves)), ("mismatch", [
            f"rank-0000: {of} rank-0001#layer.0.qweight", f"rank-0001: {of} rank-0000#layer.0.qweight"]))
        self.assertEqual(found(halves[0], halves[0]), ("mismatch", [
            f"rank-0001: {of} rank-0000#layer.0.qweight"]))
        other = [(["layer.0.other"], *halves[1][0][1:])]
        result, findings = found(halves[0], other)
        self.assertEqual(result, "mismatch")
        self.assertEqual(findings, ["rank-0001 has no tensor of this name in the layout",
                                    "rank-0001 did not register it"])

    def test_ranks_that_disagree_on_the_layout_are_named(self):
        self.serving(world=2)
        owner = Owner(self.socket, self.artifact, TENSORS, rank=1, world=2)
        self.addCleanup(owner.close)
        self.assertEqual(owner.register()["type"], "registered")
        self.assertNotEqual(self.job()["result"], "verified")
        error = self.worker.wait("layout-refused")["error"]
        self.assertEqual(error["code"], "conflict")
        self.assertIn("rank 1 has another one than rank 0", error["detail"])

    def test_a_statement_of_a_signer_without_the_role_is_not_taken(self):
        self.service.run("assay", "attest", "create", "--stage", "layout", "--subject", "a.json", "--parameter",
                         f"layout={self.published}", "--key", "keys/stranger.pem", "--out", "said.json")
        done = self.service.run("assay", "push", "said.json", token="ci", check=False)
        self.assertIn("role-not-granted", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
