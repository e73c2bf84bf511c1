# SPDX-License-Identifier: Apache-2.0
"""A node with SEV-SNP evidence: enrolled, refused below a minimum, and ended by a revoked CA."""
import datetime
import json
import unittest

import nodes

LATER = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime(
    "%Y-%m-%dT%H:%M:%SZ")  # fmt: skip


class SnpService(nodes.NodeService):
    """With an appraisal that takes the simulator's SEV-SNP machines."""

    def _extend(self):
        super()._extend()
        self.appraisals.append(self.snp_appraisal())

    def snp_appraisal(self, name="appraisal-snp.json", **floors):
        made = self.run("assay", "evidence", "simulate", "--type", "sev-snp", "--seed", "seed",
                        "--out-root", "ark.pem", "-o", "json")  # fmt: skip
        machine = json.loads(made.stdout)
        machine["min_tcb"]["milan"]["reported"].update(floors)
        path = self.dir / name
        path.write_text(json.dumps({
            "evidence_type": "sev-snp",
            "policy": {"reference_values": machine["reference_values"],
                       "min_tcb": machine["min_tcb"]},
            "dangerous_anchors": [machine["dangerous_anchor"]]}))
        return path

    def snp_worker(self):
        return self.worker(evidence="simulate-snp", options=("--simulator-seed", "seed"))

    def node(self):
        status, view = self.request("GET", "/v1/nodes/node-1")
        return view if status == 200 else None


class NodesOfSevSnp(unittest.TestCase):
    def test_story(self):
        with SnpService() as self.service:
            self.enrols()
            self.is_refused_below_a_minimum()
            self.ends_with_its_ca()
            self.service.verify_log()

    def enrols(self):
        with self.service.snp_worker() as worker:
            self.assertTrue(worker.wait("enrolled")["worker_measured"])
            worker.stop()
        measured = self.service.node()["measured"]
        self.assertEqual((measured["evidence_type"], measured["tcb_status"]),
                         ("sev-snp", "UpToDate"))  # fmt: skip
        self.assertFalse(measured["anchor_is_vendor"])
        kept = json.loads(self.service.run("assay", "collateral", "show", "-o", "json",
                                           token="ci").stdout)["items"]  # fmt: skip
        self.assertEqual([part["kind"] for part in kept], ["amd-crl"])
        self.assertRegex(kept[0]["name"], "^sev-snp/[0-9a-f]{64}/crl/milan$")

    def is_refused_below_a_minimum(self):
        self.service.change_trust("--appraisal",
                                  str(self.service.snp_appraisal("high.json", microcode=255)))
        with self.service.snp_worker() as worker:
            self.assertEqual(worker.end(), 2)
            self.assertIn("TCB_REPORTED_TOO_LOW:microcode", str(worker))
        self.service.change_trust("--appraisal", str(self.service.snp_appraisal("back.json")))

    def ends_with_its_ca(self):
        """A list that names the CA moves forward, and evidence is appraised again."""
        with self.service.snp_worker() as worker:
            worker.wait("enrolled")
            worker.stop()
        self.service.run("assay", "evidence", "simulate", "--type", "sev-snp", "--seed", "seed",
                         "--fault", "ca-revoked", "--at", LATER, "--out-collateral",
                         "revoked.json")  # fmt: skip
        done = self.service.run("assay", "collateral", "import", "revoked.json", token="ci")
        self.assertIn("moved", done.stdout)
        nodes.wait_until("evidence that is refused", lambda: any(
            record["detail"].get("error") == "CERT_REVOKED"
            for record in self.service.records(type="evidence.appraised")))
        with self.service.snp_worker() as worker:
            self.assertEqual(worker.end(), 2)
            self.assertIn("CERT_REVOKED", str(worker))


if __name__ == "__main__":
    unittest.main()
