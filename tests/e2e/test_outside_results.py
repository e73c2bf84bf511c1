# SPDX-License-Identifier: Apache-2.0
"""Nodes that show the result of another verifier, which a program of the operator brings."""
import json
import sys
import unittest

import harness
import nodes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

EXAMPLE = harness.ROOT / "deploy/examples/outside-verifier"
sys.path.insert(0, str(EXAMPLE))
import result  # noqa: E402

NODE = "node-1"
MACHINE = "0123456789abcdef"
CLAIMS = "/submods/cpu0/ear_attester_claims"


class ResultService(nodes.NodeService):
    """Believes one verifier, whose key lies in verifier.pem."""

    def __init__(self, **policy):
        self.outside = policy
        super().__init__()

    def _extend(self):
        super()._extend()
        key = ec.generate_private_key(ec.SECP256R1())
        (self.dir / "verifier.pem").write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
        path = self.dir / "appraisal-ear.json"
        path.write_text(json.dumps({"evidence_type": "ear", "policy": {
            "issuer": result.ISSUER, "profile": result.PROFILE, "algorithm": "ES256",
            "jwks": result.jwks(key), "submods": ["cpu0"],
            "report_data": f"{CLAIMS}/report_data", **self.outside}}))
        self.appraisals.append(path)

    def program(self, text):
        path = self.dir / "result.sh"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o700)
        return path

    def worker_with(self, command=EXAMPLE / "result.py", **variables):
        self.env |= {"VERIFIER_KEY": "verifier.pem", "MACHINE": MACHINE, **variables}
        return self.worker(evidence="ear", options=("--evidence-command", str(command)))


class Results(unittest.TestCase):
    def test_enrols_under_the_key_set(self):
        with ResultService(platform=f"{CLAIMS}/machine") as service:
            with service.worker_with() as worker:
                told = worker.wait("enrolled")
                self.assertTrue(told["worker_measured"])
                self.assertEqual(told["tcb_status"], "affirming")
                worker.stop()
            status, view = service.request("GET", f"/v1/nodes/{NODE}")
            self.assertEqual(status, 200)
            self.assertTrue(view["measured"]["anchor"].startswith("jwks:"), view)
            self.assertFalse(view["measured"]["anchor_is_vendor"])
            self.assertEqual(view["measured"]["evidence_type"], "ear")

    def test_reports_carry_results_too(self):
        with ResultService() as service:
            artifact = service.publish()
            service.place(NODE)
            with service.worker_with(service.program(
                    f"exec {EXAMPLE}/result.py \"$@\" | sed 's/\"platform\": \"[^\"]*\", //'")) as worker:
                worker.wait("enrolled")
                view = service.finished(service.new_job(artifact))
                self.assertEqual(view["result"], "verified", view)
                worker.stop()

    def test_what_is_refused(self):
        """By the service, or by the agent before it asks."""
        zeros = "0" * 64
        cases = (
                (f'exec {EXAMPLE}/result.py "$1" {zeros}', "EAR_NONCE_MISMATCH"),
                (f'exec {EXAMPLE}/result.py "{zeros}{zeros}" "$2"', "EAR_BINDING_MISMATCH"),
                ('echo "{\\"ear\\": \\"a.b.c\\"}"', "EAR_FORMAT"),
                ('echo "{\\"platform\\": \\"00\\"}"', "no member ear"),
                ('echo "{\\"platform\\": \\"no hex\\"}"', "not hex"),
                ('echo "{\\"evidence\\": \\"AAAA\\"}"', "should not"),
                ('echo "{\\"ear\\": \\"a.b.c\\", \\"collateral\\": {}}"', "another type: collateral"),
                ('echo "{\\"ear\\": {}}"', "another type: ear"),
                ("echo no object", "no JSON object"),
                ("exit 3", "exit status 3"))
        with ResultService() as service:
            for text, word in cases:
                with self.subTest(word):
                    self.assertIn(word, self.refusal(service, text))

    def refusal(self, service, text):
        with service.worker_with(service.program(text)) as worker:
            try:
                return json.dumps(worker.wait("retry", what="enrol"))
            except AssertionError as ended:
                return str(ended)


if __name__ == "__main__":
    unittest.main()
