# SPDX-License-Identifier: Apache-2.0
"""A node with two GPUs that prove themselves: enrolled and decided, and refused for each fault."""
import datetime
import json
import unittest

import nodes

LATER = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime(
    "%Y-%m-%dT%H:%M:%SZ")  # fmt: skip

class DeviceService(nodes.NodeService):
    """With an appraisal that takes the simulator's GPUs, two of which each node has."""

    def _extend(self):
        super()._extend()
        (self.dir / "gpu-seed").write_bytes(b"GPUs of the tests")
        machine = self.gpus("gpus.json", devices=4)
        path = self.dir / "appraisal-gpu.json"
        path.write_text(json.dumps({
            "evidence_type": "nvidia-gpu", "policy": {},
            "dangerous_anchors": [machine["dangerous_anchor"]]}))
        self.appraisals.append(path)

    def registration(self, node, principal, **members):
        return super().registration(node, principal, devices=2, **members)

    def gpus(self, collateral, *options, devices=2):
        made = self.run("assay", "evidence", "simulate", "--type", "nvidia-gpu", "--seed",
                        "gpu-seed", "--devices", str(devices), *options,
                        "--out-collateral", collateral, "-o", "json")
        return json.loads(made.stdout)

    def gpu_worker(self, node="node-1", principal="worker-1", machine="11" * 16):
        return self.worker(node, principal, options=(
            "--device-evidence", "simulate", "--device-seed", "gpu-seed", "--simulated-devices",
            "2", "--simulator-platform", machine))  # fmt: skip

    def attested(self, node="node-1"):
        """The devices whose evidence is accepted by now."""
        status, view = self.request("GET", f"/v1/nodes/{node}")
        return [one["state"]["kind"] for one in view["device_evidence"]
                if one["current"] and not one["error"]] if status == 200 else None  # fmt: skip


class NodesWithDevices(unittest.TestCase):
    def test_story(self):
        with DeviceService() as self.service:
            self.is_refused_without_what_makes_it_known()
            self.enrols_with_both()
            self.is_refused_to_another_node()
            self.stays_without_a_revoked_one()
            self.service.verify_log()

    def is_refused_without_what_makes_it_known(self):
        with self.service.gpu_worker() as worker:
            self.assertEqual(worker.end(), 2)
            self.assertIn("REVOCATION_UNKNOWN", str(worker))

    def enrols_with_both(self):
        done = self.service.run("assay", "collateral", "import", "gpus.json", token="ci")
        self.assertIn("moved", done.stdout)
        with self.service.gpu_worker() as worker:
            worker.wait("enrolled")
            worker.stop()
        self.assertEqual(self.service.attested(), ["gpu", "gpu"])
        shown = self.service.run("assay", "node", "show", "node-1", token="ci").stdout
        self.assertIn("GPU-", shown)

    def is_refused_to_another_node(self):
        with self.service.gpu_worker("node-2", "worker-2", "22" * 16) as worker:
            self.assertEqual(worker.end(), 2)
            self.assertIn("node-1", str(worker))
            self.assertIn("platform-taken", str(worker))
        self.assertEqual(self.service.attested(), ["gpu", "gpu"])

    def stays_without_a_revoked_one(self):
        self.service.gpus("revoked.json", "--fault", "revoked", "--at", LATER)
        self.service.run("assay", "collateral", "import", "revoked.json", token="ci")
        nodes.wait_until("evidence that is refused",
                         lambda: self.service.attested() == ["gpu"])
        with self.service.gpu_worker() as worker:
            self.assertEqual(worker.end(), 2)
            self.assertIn("CERTIFICATE_REVOKED", str(worker))


if __name__ == "__main__":
    unittest.main()
