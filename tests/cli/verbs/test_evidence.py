# SPDX-License-Identifier: Apache-2.0
"""Verdicts about evidence through the command line: real quotes and mutations of them, simulated
machines, and what a machine without evidence says."""
import base64
import concurrent.futures
import json
import os
import pathlib
import unittest

import harness
from harness import NO, TROUBLE, YES

NOW = "2026-03-01T12:00:00Z"
REAL = harness.SOURCE / "tests/vectors/tdx"


def vectors():
    """The folder of TDX vectors, as tests/attestation/tdx finds it."""
    shared = os.environ.get("ASSAY_SHARED_VECTORS")
    return pathlib.Path(shared) / "tdx" if shared else harness.SOURCE.parent / "shared/vectors/tdx"


def listed_cases():
    """(id, arguments, policy, expected) of both manifests."""
    folder = vectors() / "mutations"
    for case in json.loads((folder / "manifest.json").read_bytes())["cases"]:
        arguments = ["--at", case["time"], "--collateral", folder / case["collateral"]]
        if case["root"] != "intel":
            arguments += ["--root", folder / case["root"]]
        if case["report_data"] is not None:
            arguments += ["--report-data", case["report_data"]]
        yield case["id"], [*arguments, folder / case["quote"]], case["policy"], case["expected"]
    folder = vectors() / "synthetic"
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for case in manifest["cases"]:
        place = folder / case["id"]
        arguments = ["--at", case["time"], "--collateral", place / "collateral.json",
                     "--root", folder / manifest["root"], place / "quote.bin"]  # fmt: skip
        yield case["id"], arguments, case["policy"], case["expected"]


class Vectors(harness.TestCase):
    def setUp(self):
        super().setUp()
        if not vectors().exists():
            raise unittest.SkipTest(f"no vectors at {vectors()}")

    def verdict(self, number, arguments, policy):
        """"OK:<status>" or the error, and the exit status."""
        if policy:
            arguments = ["--policy", self.write_json(f"policy-{number}.json", policy), *arguments]
        result = self.assay("evidence", "verify", "--type", "tdx", "-o", "json", *arguments,
                            code=None)  # fmt: skip
        self.assertIn(result.code, (YES, NO), str(result))
        value = result.json()
        self.assertEqual(value["verdict"], "accepted" if result.code == YES else "rejected")
        self.assertEqual(value["error"] is None, result.code == YES)
        return value["error"] or "OK:" + value["tcb"]["status"]

    def test_every_listed_case(self):
        cases = list(listed_cases())
        self.assertTrue(cases)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            verdicts = pool.map(lambda item: self.verdict(item[0], item[1][1], item[1][2]),
                                enumerate(cases))  # fmt: skip
            for (name, _, _, expected), verdict in zip(cases, verdicts):
                with self.subTest(case=name):
                    self.assertEqual(verdict, expected)

    def test_real_quotes_as_they_came(self):
        qvl = vectors() / "Phala-Network_dcap-qvl"
        ccel = vectors() / "google_go-tdx-guest"
        for quote, collateral, time in (
            (qvl / "tdx_quote", qvl / "tdx_quote_collateral.json", "2025-07-01T00:00:00Z"),
            (ccel / "quote_v5_sample.dat", qvl / "tdx_quote_outdated_collateral.json",
             "2026-03-01T00:00:00Z"),
            (ccel / "ccel/cos-113-tdx-quote.dat",
             vectors() / "mutations/base_D_v4_gcp_cos113/collateral.json", "2025-06-25T00:00:00Z"),
        ):  # fmt: skip
            with self.subTest(quote=quote.name):
                arguments = ["evidence", "verify", "--collateral", collateral]
                value = self.assay(*arguments, "--at", time, "-o", "json", quote).json()
                self.assertEqual(value["tcb"]["status"], "UpToDate")
                self.assertTrue(value["anchor_is_intel"])
                self.assertFalse(value["report_data_bound"])
                data = value["measurements"]["report_data"]
                value = self.assay(*arguments, "--at", time, "--report-data", data.upper(),
                                   "-o", "json", quote).json()  # fmt: skip
                self.assertTrue(value["report_data_bound"])
                # Years later its collateral is over.
                value = self.assay(*arguments, "--at", "2029-01-01T00:00:00Z", "-o", "json", quote,
                                   code=NO).json()  # fmt: skip
                self.assertRegex(value["error"], "EXPIRED")


class Simulated(harness.TestCase):
    DATA = "5d" * 64

    def simulate(self, *arguments, data=DATA):
        self.write("seed", b"a seed of these tests")
        made = self.assay("evidence", "simulate", "--seed", "seed", "--at", NOW, "--out-quote", "q",
                          "--out-collateral", "c.json", "--out-root", "r.pem", "-o", "json",
                          "--report-data", data, *arguments)  # fmt: skip
        return made.json()

    def verify(self, *arguments, code=YES, root="r.pem"):
        trusted = ["--root", root] if root else []
        return self.assay("evidence", "verify", "--collateral", "c.json", "--at", NOW, *trusted,
                          *arguments, "q", code=code)  # fmt: skip

    def error_of(self, *arguments, **options):
        return self.verify("-o", "json", *arguments, code=NO, **options).json()["error"]

    def test_accepted_under_its_own_root_alone(self):
        made = self.simulate()
        value = self.verify("--report-data", self.DATA, "-o", "json").json()
        self.assertEqual((value["verdict"], value["error"]), ("accepted", None))
        self.assertEqual(value["anchor"], made["root"])
        self.assertEqual(value["platform"]["ppid"], made["platform"])
        self.assertFalse(value["anchor_is_intel"])
        for name in ("tcb", "measurements", "checks"):
            self.assertTrue(value[name])
        self.assertRegex(self.error_of(root=None), "ROOT|SIGNATURE")

    def test_the_root_is_the_anchor_to_configure(self):
        made = self.simulate()
        self.write("root.der", base64.b64decode(made["dangerous_anchor"]))
        self.verify(root="root.der")

    def test_same_options_same_bytes(self):
        def bytes_of():
            return [(self.dir / name).read_bytes() for name in ("q", "c.json", "r.pem")]

        self.simulate()
        first = bytes_of()
        self.simulate()
        self.assertEqual(bytes_of(), first)

    def test_report_data(self):
        self.simulate()
        self.assertEqual(self.error_of("--report-data", "5e" * 64), "REPORT_DATA_MISMATCH")
        for text in ("5d" * 63, "5d" * 65, "5d" * 63 + "5", "xy" * 64):
            result = self.verify("--report-data", text, "-o", "json", code=TROUBLE)
            self.assertEqual(json.loads(result.err)["error"]["code"], "usage")

    def test_statuses(self):
        for status in ("SWHardeningNeeded", "ConfigurationNeeded",
                       "ConfigurationAndSWHardeningNeeded", "OutOfDate",
                       "OutOfDateConfigurationNeeded"):  # fmt: skip
            self.simulate("--tcb-status", status)
            self.assertEqual(self.error_of(), "TCB_STATUS_NOT_ACCEPTED:" + status)
            policy = self.write_json("policy.json", {"accept_tcb_status": [status]})
            self.verify("--policy", policy)
        self.simulate("--tcb-status", "Revoked")
        self.assertEqual(self.error_of(), "TCB_REVOKED")

    def test_versions_and_platforms(self):
        platform = "ab" * 16
        made = self.simulate("--quote-version", 5, "--platform", platform.upper())
        value = self.verify("-o", "json").json()
        self.assertEqual(value["quote_version"], 5)
        self.assertEqual(value["platform"]["ppid"], platform)
        self.assertEqual(made["platform"], platform)
        self.assertEqual(made["root"], self.simulate()["root"])

    def test_reference_values_of_the_machine(self):
        values = self.simulate()["reference_values"]
        policy = {"reference_values": values}
        self.verify("--policy", self.write_json("policy.json", policy))
        values["rtmr1"] = ["00" * 48]
        self.assertEqual(self.error_of("--policy", self.write_json("policy.json", policy)),
                         "TD_RTMR1_MISMATCH")  # fmt: skip

    def test_faults(self):
        listed = self.assay("evidence", "faults", "-o", "json").json()
        errors = {one["name"]: (one["error"], one["needs"]) for one in listed["faults"]}
        self.assertEqual(len(errors), len(listed["faults"]))
        self.assertEqual(errors["mrtd"], ("TD_MRTD_MISMATCH", "reference_values.mrtd"))
        self.assertEqual([one["error"] for one in listed["errors_without_fault"]],
                         ["REFERENCE_VALUES_MISSING"])  # fmt: skip
        self.assertIn("TDRelaunchAdvised", listed["tcb_statuses"])
        for fault in ("pck-root", "module-revoked", "qe-identity-version"):
            self.simulate("--fault", fault)
            self.assertEqual((self.error_of(), None), errors[fault])
        values = self.simulate("--fault", "mrtd")["reference_values"]  # of the sound machine
        self.verify()
        policy = self.write_json("policy.json", {"reference_values": values})
        self.assertEqual(self.error_of("--policy", policy), "TD_MRTD_MISMATCH")
        text = self.assay("evidence", "faults").out
        self.assertRegex(text, r"\nmrtd +TD_MRTD_MISMATCH +by reference_values.mrtd\n")
        self.assertRegex(text, r"\npck-root +PCK_ROOT_UNTRUSTED +always\n")
        result = self.assay("evidence", "simulate", "--seed", "seed", "--fault", "pck",
                            "--out-quote", "q", code=TROUBLE)  # fmt: skip
        self.assertIn("assay evidence faults", result.err)

    def test_text_explains(self):
        self.simulate("--tcb-status", "OutOfDate")
        text = self.verify(code=NO).out
        self.assertTrue(text.startswith("rejected: TCB_STATUS_NOT_ACCEPTED:OutOfDate: "), text)
        self.assertRegex(text, r"\n  expected +UpToDate\n")
        self.assertIn("not Intel's", text)
        self.assertRegex(text, r"\ntcb-status +fail ")
        self.simulate()
        text = self.verify().out
        self.assertTrue(text.startswith("accepted\n"), text)
        self.assertIn("Report data was not compared", text)
        self.assertIn("not constrained  mrtd, ", text)
        self.assertNotIn("not compared", self.verify("--report-data", self.DATA).out)

    def test_event_logs(self):
        self.simulate()
        policy = self.write_json("policy.json", {"require_event_log": True})
        self.assertEqual(self.error_of("--policy", policy), "EVENTLOG_MISSING")
        self.assay("evidence", "simulate", "--seed", "seed", "--out-event-log", "log")
        result = json.loads(self.verify("--event-log", "log", "--policy", policy, "-o", "json").out)
        self.assertEqual(result["verdict"], "accepted")
        self.assertEqual(result["event_log"]["secure_boot"], True)
        self.assertEqual(result["event_log"]["rtmr3"], "replayed")
        text = self.verify("--event-log", "log").out
        self.assertIn("8 events lead to rtmr0, rtmr1 and rtmr2, and to rtmr3", text)
        self.assertIn("command line   /boot/vmlinuz root=/dev/vda1 ro console=hvc0", text)
        self.assertRegex(text, r"\n  image +[0-9a-f]{96}\n  image +[0-9a-f]{96}\n")
        self.assertRegex(text, r"\n  initrd +[0-9a-f]{96}\n")
        # A log that is there must be right, also where the policy needs none.
        log = bytearray((self.dir / "log").read_bytes())
        log[90] ^= 1
        self.write("log", bytes(log))
        self.assertEqual(self.error_of("--event-log", "log"), "EVENTLOG_RTMR_MISMATCH:rtmr0")
        self.write("log", b"")
        result = self.verify("--event-log", "log", "-o", "json", code=TROUBLE)
        self.assertEqual(json.loads(result.err)["error"]["code"], "usage")

    def test_event_log_of_a_real_machine(self):
        arguments = ("evidence", "verify", "--collateral", REAL / "2025-06.collateral.json", "--at",
                     "2025-06-25T00:00:00Z", "--event-log", REAL / "v4-2025-06.ccel",
                     REAL / "v4-2025-06.quote")  # fmt: skip
        text = self.assay(*arguments).out
        self.assertIn("43 events lead to rtmr0, rtmr1 and rtmr2, and to rtmr3", text)
        self.assertIn("\n  secure boot    off\n  image          5a10026c9ad4", text)
        self.assertIn("\n  kernel         b1012372f421", text)
        self.assertIn("\n  command line   /syslinux/vmlinuz.A init=/usr/lib/systemd/systemd ", text)
        log = json.loads(self.assay(*arguments, "-o", "json").out)["event_log"]
        self.assertEqual([kernel[:12] for kernel in log["kernels"]], ["b1012372f421"])
        self.assertEqual(log["initrds"], [])

    def test_azure_form_of_a_report(self):
        folder = harness.SOURCE / "tests/vectors/snp"
        policy = self.write_json("lenient.json", {"dangerous_allow_missing_crl": True,
                                                  "version_2_generation": "milan"})

        def verdict(report, *more, code=YES):
            return self.assay("evidence", "verify", "--type", "sev-snp", "--policy", policy, "--at",
                              "2025-06-01T00:00:00Z", "--certificate",
                              folder / "v2-milan-azure.vcek.der", "-o", "json", *more, report,
                              code=code).json()
        whole = folder / "v2-milan-azure.hcl"
        self.assertFalse(verdict(whole)["report_data_bound"])
        # The guest's 64 bytes are in the runtime data, which the report names.
        self.assertTrue(verdict(whole, "--report-data", "00" * 64)["report_data_bound"])
        self.assertEqual(verdict(whole, "--report-data", "01" + "00" * 63, code=NO)["error"],
                         "REPORT_DATA_MISMATCH")
        changed = bytearray(whole.read_bytes())
        changed[changed.index(b'"user-data":"') + 14] ^= 1
        (self.dir / "changed.hcl").write_bytes(changed)
        self.assertEqual(verdict("changed.hcl", "--report-data", "01" + "00" * 63, code=NO)["error"],
                         "REPORT_DATA_MISMATCH")
        (self.dir / "short.hcl").write_bytes(whole.read_bytes()[:2000])
        self.assertIn("Azure", self.assay(
            "evidence", "verify", "--type", "sev-snp", "--policy", policy, "short.hcl",
            code=TROUBLE).err)  # fmt: skip

    def test_inputs_that_are_none(self):
        self.simulate()
        self.assertEqual(self.error("evidence", "verify", "q"), "collateral-missing")
        self.assertEqual(self.error("evidence", "verify", "--collateral", "c.json", "nothing"),
                         "file-unreadable")  # fmt: skip
        for name, content, code in (("c.json", "{}", "schema-violation"),
                                    ("c.json", "{", "malformed-json"),
                                    ("r.pem", "no certificate", "invalid-encoding")):  # fmt: skip
            self.simulate()
            self.write(name, content)
            result = self.verify("-o", "json", code=TROUBLE)
            self.assertEqual(json.loads(result.err)["error"]["code"], code)
        self.simulate()
        for policy, code in (({"alow_debug": True}, "unknown-member"),
                             ({"accept_tcb_status": ["Revoked"]}, "schema-violation")):  # fmt: skip
            path = self.write_json("policy.json", policy)
            result = self.verify("--policy", path, "-o", "json", code=TROUBLE)
            self.assertEqual(json.loads(result.err)["error"]["code"], code)
        self.assertEqual(self.error("evidence", "verify", "--collateral", "c.json", "--at",
                                    "yesterday", "q"), "invalid-time")  # fmt: skip

    def test_quotes_that_are_none(self):
        for content, code in ((b"", "QUOTE_TRUNCATED"), (b"x", "QUOTE_TRUNCATED"),
                              (bytes(1 << 20), "INPUT_TOO_LARGE")):  # fmt: skip
            self.simulate()
            self.write("q", content)
            self.assertEqual(self.error_of(), code)

    def test_simulate_needs_a_place_and_a_seed(self):
        self.write("seed", b"")
        self.assertEqual(self.error("evidence", "simulate", "--seed", "seed", "--out-quote", "q"),
                         "invalid-parameter")  # fmt: skip
        self.write("seed", b"x")
        self.assertEqual(self.error("evidence", "simulate", "--seed", "seed"), "usage")
        self.assertEqual(self.error("evidence", "simulate", "--out-quote", "q"), "usage")
        self.assertEqual(self.error("evidence", "simulate", "--seed", "seed", "--out-quote", "q",
                                    "--tcb-status", "Splendid"), "usage")  # fmt: skip

    def test_collect_takes_nothing_simulated_unasked(self):
        self.write("seed", b"a seed of these tests")
        (self.dir / "reports").mkdir()
        arguments = ["evidence", "collect", "--report-data", self.DATA, "--out", "taken"]
        for folder in ("reports", "missing"):
            self.assertEqual(self.error(*arguments, "--configfs", folder), "evidence-unavailable")
        self.assertEqual(self.error(*arguments, "--seed", "seed"), "usage")
        self.assertEqual(self.error(*arguments, "--provider", "simulate"), "usage")
        self.assertFalse((self.dir / "taken").exists())
        self.assertEqual(list((self.dir / "reports").iterdir()), [])

    def test_collected_is_what_was_simulated(self):
        self.simulate()
        made = self.assay("evidence", "collect", "--provider", "simulate", "--seed", "seed",
                          "--report-data", self.DATA, "--out", "taken", "-o", "json").json()
        self.assertEqual((made["provider"], made["type"]), ("simulate", "tdx"))
        taken = (self.dir / "taken").read_bytes()
        self.assertEqual(len(taken), made["bytes"])
        self.assertEqual(taken, (self.dir / "q").read_bytes())
        piped = self.assay("evidence", "collect", "--provider", "simulate", "--seed", "seed",
                           "--report-data", self.DATA, "--out", "-")  # fmt: skip
        self.assertEqual(piped.raw, taken)


if __name__ == "__main__":
    harness.main()
