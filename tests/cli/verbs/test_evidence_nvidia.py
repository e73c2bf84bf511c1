# SPDX-License-Identifier: Apache-2.0
"""Verdicts about GPUs and switches through the command line: evidence of real hardware."""
import json
import unittest

import harness
from harness import NO, TROUBLE, YES

REAL = harness.SOURCE / "tests/vectors/nvgpu"
NOW = "2026-11-01T00:00:00Z"
SWITCH_RIM = REAL / "NV_SWITCH_BIOS_5612_0002_890_9610550001.xml"
NONCE = "931d8dd0add203ac3d8b4fbde75e115278eefcdceac5b87671a748f32364dfcb"
# The vectors have no OCSP answers.
LOOSE = {"require_revocation": False}


class Devices(harness.TestCase):
    def verdict(self, *arguments, policy=LOOSE, code=None, at=NOW):
        given = ["--policy", self.write_json("policy.json", policy)] if policy is not None else []
        result = self.assay("evidence", "verify", "--type", "nvidia-gpu", "--at", at, *given,
                            "-o", "json", *arguments, code=code)  # fmt: skip
        value = result.json()
        self.assertIn(result.code, (YES, NO), str(result))
        self.assertEqual(value["verdict"], "accepted" if result.code == YES else "rejected")
        self.assertEqual(value["error"] is None, result.code == YES)
        return value

    def test_switch_is_as_its_rim_says(self):
        value = self.verdict("--nonce", NONCE.upper(), "--rim", SWITCH_RIM, REAL / "ls10.json", code=YES)
        device = value["devices"][0]
        self.assertEqual((device["kind"], device["measured"], device["debug"]),
                         ("switch", True, "disabled"))  # fmt: skip
        self.assertTrue(device["nonce_matched"])
        self.assertEqual(device["rims"][0]["state"], "valid")

    def test_each_shortcoming_is_named(self):
        for arguments, error in (
            (["--nonce", "00" * 32, REAL / "ls10.json"], "NONCE_MISMATCH"),
            (["--nonce", NONCE, REAL / "ls10.json"], "RIM_MISSING:vbios"),
            (["--rim", SWITCH_RIM, REAL / "ls10.json"], "NONCE_NOT_REQUESTED"),
            ([REAL / "ls10-bad-signature.json"], "REPORT_SIGNATURE"),
            ([REAL / "README.md"], "EVIDENCE_FORMAT"),
        ):
            with self.subTest(error=error):
                self.assertEqual(self.verdict(*arguments, code=NO)["error"], error)
        strict = self.verdict("--rim", SWITCH_RIM, REAL / "ls10.json", policy=None)
        self.assertEqual(strict["error"], "REVOCATION_UNKNOWN:device")
        old = self.verdict("--nonce", NONCE, "--rim", REAL, REAL / "hopper-570.json")
        self.assertEqual([e["error"] for e in old["errors"]],
                         ["RIM_MISSING:driver", "RIM_EXPIRED:vbios",
                          "MEASUREMENT_MISMATCH:vbios:9"])  # fmt: skip
        self.assertEqual(old["errors"][0]["expected"], "NV_GPU_DRIVER_GH100_570.124.03")
        self.assertTrue(old["errors"][2]["expected"] and old["errors"][2]["actual"])

    def test_changed_rim_counts_as_absent(self):
        text = SWITCH_RIM.read_text().replace("9083ccee", "9083ccef", 1)
        path = self.write(SWITCH_RIM.name, text.encode())
        value = self.verdict("--nonce", NONCE, "--rim", path, REAL / "ls10.json")
        self.assertEqual(value["error"], "RIM_MISSING:vbios")
        self.assertEqual(value["refused_files"][0]["error"], "RIM_SIGNATURE")

    def test_board_counts_as_a_whole(self):
        gpus, switches = (json.loads((REAL / f"ppcie-{kind}.json").read_text())
                          for kind in ("gpus", "switches"))  # fmt: skip
        whole = self.verdict(self.write_json("all.json", gpus + switches))
        self.assertTrue(whole["board"])
        self.assertEqual(len(whole["devices"]), 12)
        for devices, error in ((gpus[:7] + switches, "TOPOLOGY_COUNT"),
                               (gpus[:7] + gpus[:1] + switches, "TOPOLOGY_DOUBLED")):  # fmt: skip
            value = self.verdict(self.write_json("some.json", devices))
            self.assertFalse(value["board"])
            self.assertEqual(value["errors"][-1]["error"], error)

    def test_simulated_gpus(self):
        seed = self.write("seed", b"seed of a test")
        root, answers, gpus = (self.dir / name for name in ("r.pem", "c.json", "gpus.json"))

        def simulate(*more, code=YES):
            return self.assay("evidence", "simulate", "--type", "nvidia-gpu", "--seed", seed, "--at", NOW,
                              "--out-quote", gpus, "--out-collateral", answers, "--out-root", root,
                              "--nonce", NONCE, "-o", "json", *more, code=code)  # fmt: skip

        def verdict(*more):
            return self.verdict("--nonce", NONCE, "--collateral", answers, "--root", root,
                                "--rim-root", root, gpus, *more, policy=None)  # fmt: skip

        made = simulate("--devices", 2).json()
        self.assertEqual(len(made["devices"]), 2)
        sound = verdict()
        self.assertEqual((sound["error"], sound["devices"][1]["root"]), (None, made["root"]))
        faults = self.assay("evidence", "faults", "--type", "nvidia-gpu", "-o", "json", code=YES).json()
        self.assertIn({"name": "revoked", "error": "CERTIFICATE_REVOKED:device", "needs": None},
                      faults["faults"])  # fmt: skip
        simulate("--devices", 2, "--fault", "revoked")
        bad = verdict()
        self.assertEqual([(e["error"], e["device"]) for e in bad["errors"]],
                         [("CERTIFICATE_REVOKED:device", 1)])  # fmt: skip
        simulate("--devices", 8, "--mode", "ppcie", "--first-device", 8)
        self.assertTrue(verdict()["board"])
        simulate("--fault", "no such", code=TROUBLE)
        simulate("--devices", 33, code=TROUBLE)

    def test_text_and_wrong_use(self):
        result = self.assay("evidence", "verify", "--type", "nvidia-gpu", "--at", NOW, "--rim",
                            SWITCH_RIM, REAL / "ls10.json", code=NO)  # fmt: skip
        self.assertIn("rejected: REVOCATION_UNKNOWN:device", result.out)
        self.assertIn("measured 31 compared, 0 differ", result.out)
        self.assertIn("No nonce was compared", result.err)
        self.assay("evidence", "verify", "--type", "nvidia-gpu", "--nonce", "12", "x", code=TROUBLE)
        own = self.assay("evidence", "verify", "--type", "nvidia-gpu", "--at", NOW, "--root",
                         harness.SOURCE / "tests/vectors/tdx/pcs-2023-07/tcbInfoIssuerChain.pem",
                         REAL / "ls10.json", code=TROUBLE)  # fmt: skip
        self.assertIn("one certificate", own.err)


if __name__ == "__main__":
    unittest.main()
