# SPDX-License-Identifier: Apache-2.0
"""A service without a network: what its GPUs need is fetched elsewhere, signed by two, carried in."""
import json
import sys
import unittest

import harness
import nodes
import test_devices

sys.path.append(str(harness.ROOT / "tests" / "cli"))
import tls_server  # noqa: E402
import vendors  # noqa: E402


class BundleOfAnAirGappedService(unittest.TestCase):
    def test_story(self):
        with test_devices.DeviceService() as self.service:
            self.fetched()
            self.signed_by_two(1)
            self.refused_without_the_second()
            self.taken()
            self.verified_offline()
            self.older_is_refused()
            self.status_warns()
            self.service.verify_log()

    def run_assay(self, *words, check=True):
        return self.service.run("assay", *words, check=check, token="ci")

    def fetched(self):
        """Where there is a network: the evidence of one machine says what is needed."""
        self.service.gpus("vendor.json", "--out-quote", "gpus.quote", "--out-root", "gpu.pem",
                          "--fault", "expired-rim")  # fmt: skip
        tls_server.make_certificate(self.service.dir / "server")
        server = tls_server.Server(str(self.service.dir / "server"))
        self.addCleanup(server.close)
        vendors.serve_nvidia(server, vendors.load(self.service.dir / "vendor.json"))
        self.run_assay("endorsements", "fetch", "--evidence", "gpus.quote", "--root",
                       "nvidia-gpu=gpu.pem", *vendors.sources(server), "--out", "carried")  # fmt: skip

    def signed_by_two(self, number):
        self.run_assay("endorsements", "bundle", "--number", str(number), "--collateral",
                       "carried/nvidia-gpu.json", "--root", "nvidia-gpu=gpu.pem", "--out",
                       "bundle.json")  # fmt: skip
        self.run_assay("sign", "bundle.json", "--key", "keys/operator-1.pem", "--out", "one.json")
        self.run_assay("sign", "one.json", "--key", "keys/operator-2.pem", "--out",
                       f"signed-{number}.json")  # fmt: skip

    def refused_without_the_second(self):
        refused = self.run_assay("push", "one.json", check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("threshold-not-met", refused.stderr)

    def taken(self):
        self.run_assay("push", "signed-1.json")
        self.run_assay("push", "signed-1.json")  # again: no error, no change
        kept = json.loads(self.run_assay("collateral", "show", "-o", "json").stdout)["items"]
        self.assertEqual({part["way"] for part in kept}, {"bundle"})
        # The driver's RIM has ended: the node is taken because two people signed it.
        with self.service.gpu_worker() as worker:
            worker.wait("enrolled")
            worker.stop()
        self.assertEqual(self.service.attested(), ["gpu", "gpu"])

    def verified_offline(self):
        verify = ("evidence", "verify", "--type", "nvidia-gpu", "--operators",
                  "service/bootstrap.json", "gpus.quote", "--endorsements")  # fmt: skip
        self.assertIn("accepted", self.run_assay(*verify, "signed-1.json").stdout)
        self.assertNotEqual(self.run_assay(*verify, "one.json", check=False).returncode, 0)

    def older_is_refused(self):
        self.signed_by_two(2)
        self.run_assay("push", "signed-2.json")
        older = self.run_assay("push", "signed-1.json", check=False)
        self.assertNotEqual(older.returncode, 0)
        self.assertIn("collateral-rollback", older.stderr)
        self.assertIn("has number 2, this one has number 1", older.stderr)

    def status_warns(self):
        """Of answers that end within the span, and of no RIM, which counts on."""
        for span, soon in (("14d", False), ("40d", True)):
            status = json.loads(self.run_assay("status", "--within", span, "-o", "json",
                                               check=False).stdout)  # fmt: skip
            rows = [end for end in status["ends"] if end["what"] == "collateral"]
            self.assertTrue(rows)
            self.assertFalse(any("/rim/" in row["name"] for row in rows))
            answers = {row["soon"] for row in rows if "/ocsp/" in row["name"]}
            self.assertEqual(answers, {soon})


if __name__ == "__main__":
    unittest.main()
