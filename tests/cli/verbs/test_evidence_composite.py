# SPDX-License-Identifier: Apache-2.0
"""Verdicts about whole enrolments through the command line: a simulated processor and its GPUs."""
import base64
import copy
import functools
import hashlib
import json
import unittest

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

import harness
from harness import NO, TROUBLE, YES
from reference import dsse, jcs

NOW = "2026-03-01T12:00:00Z"
NONCE = bytes(range(32))
KIND = "application/vnd.assay.enrolment+json"


def b64(data):
    return base64.b64encode(data).decode()


class WorkerKey:
    def __init__(self, seed):
        self.private = ed25519.Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.spki = self.private.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)  # fmt: skip

    def digest(self):
        return hashlib.sha256(self.spki).digest()

    def envelope(self, enrolment):
        payload = jcs.canonicalize(json.dumps(enrolment).encode())
        signature = self.private.sign(dsse.pae(KIND, payload))
        return {"payloadType": KIND, "payload": b64(payload), "signatures": [{"sig": b64(signature)}]}


class Enrolments(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.worker = WorkerKey(1)
        self.collateral = {}  # of all devices
        self.write("cpu", b"processors of a test")
        self.write("gpu", b"devices of a test")

    def simulate_gpus(self, nonce, *more, first=0):
        made = self.assay("evidence", "simulate", "--type", "nvidia-gpu", "--seed", "gpu", "--at", NOW,
                          "--nonce", nonce.hex(), "--devices", 2, "--first-device", first, "--out-quote",
                          "gpus.json", "--out-collateral", "of-these.json", "--out-root",
                          "gpus.pem", *more, "-o", "json").json()  # fmt: skip
        self.collateral.update(self.read_json("of-these.json"))
        self.write_json("gpus-collateral.json", self.collateral)
        devices = self.read_json("gpus.json")
        return made["dangerous_anchor"], [
            {"uuid": f"GPU-{first + number}", "evidence": {
                "type": "nvidia-gpu", "quote": b64(json.dumps(device).encode())}}
            for number, device in enumerate(devices)]  # fmt: skip

    def device_nonce(self, worker=None, nonce=NONCE):
        return hashlib.sha256(b"assay/device/v1\0" + nonce + (worker or self.worker).digest()).digest()

    def simulate_cpu(self, report_data):
        self.assay("evidence", "simulate", "--seed", "cpu", "--at", NOW, "--report-data",
                   report_data.hex(), "--out-quote", "quote", "--out-collateral", "cpu-collateral.json",
                   "--out-appraisal", "cpu-appraisal.json", "--out-root", "cpu.pem")  # fmt: skip
        return (self.dir / "quote").read_bytes()

    @functools.cached_property
    def platform(self):
        return self.assay("evidence", "simulate", "--seed", "cpu", "--at", NOW, "--out-quote", "quote",
                          "-o", "json").json()["platform"]  # fmt: skip

    def enrolment(self, devices, nonce=NONCE, before=lambda made: None):
        """An enrolment of these devices; `before` changes it before the processor signs."""
        request = {"audience": "assay.example.com/log", "node": "gpu-1", "platform": self.platform,
                   "purpose": "enrol"}  # fmt: skip
        made = {"request": request, "nonce": nonce.hex(), "public_key": b64(self.worker.spki),
                "devices": []}  # fmt: skip
        if devices:
            made["device_evidence"] = devices
            request["devices"] = ["sha256:" + hashlib.sha256(base64.b64decode(
                device["evidence"]["quote"])).hexdigest() for device in devices]  # fmt: skip
        before(made)
        bound = hashlib.sha256(jcs.canonicalize(json.dumps(request).encode())).digest()
        quote = self.simulate_cpu(hashlib.sha512(
            b"assay/enrol/v1\0" + nonce + self.worker.digest() + bound).digest())  # fmt: skip
        made["evidence"] = {"type": "tdx", "quote": b64(quote)}
        return made

    def policies(self, anchor, reference_values=True):
        cpu = self.read_json("cpu-appraisal.json")
        if not reference_values:
            cpu["policy"] = {}
        gpu = {"evidence_type": "nvidia-gpu", "policy": {}, "dangerous_anchors": [anchor]}
        return self.write_json("trust.json", {"appraisals": [cpu, gpu]})

    def judge(self, enrolment, anchor, *more, code, key=None, policy=None):
        path = self.write_json("enrolment.json", (key or self.worker).envelope(enrolment))
        return self.assay("evidence", "verify", "--type", "composite", "--at", NOW, "--collateral",
                          "cpu-collateral.json", "--collateral", "gpus-collateral.json", "--policy",
                          policy or self.policies(anchor), "-o", "json", path, *more, code=code).json()

    def sound(self):
        anchor, devices = self.simulate_gpus(self.device_nonce())
        return anchor, self.enrolment(devices)

    def refusal(self, enrolment, anchor, *more, **options):
        value = self.judge(enrolment, anchor, *more, code=NO, **options)
        self.assertEqual(value["verdict"], "rejected")
        error = value["error"]
        return f"{error['code']} {error['detail'].split(':')[0]} {error.get('where', '')}"

    def test_sound_enrolment_is_accepted_as_the_service_does(self):
        anchor, enrolment = self.sound()
        value = self.judge(enrolment, anchor, "--nonce", NONCE.hex(), code=YES)
        self.assertEqual((value["verdict"], value["error"], value["nonce_compared"]),
                         ("accepted", None, True))  # fmt: skip
        self.assertEqual(value["node"]["tcb_status"], "UpToDate")
        self.assertEqual(value["node"]["platform"], self.platform)
        self.assertEqual(sorted(value["node"]["matched"]), ["mrtd", "rtmr0", "rtmr1", "rtmr2"])
        self.assertEqual([(d["uuid"], d["verdict"], d["attested"], d["state"]["mode"])
                          for d in value["devices"]],
                         [("GPU-0", "accepted", True, "cc"), ("GPU-1", "accepted", True, "cc")])
        self.assertEqual(value["worker_key"], "sha256:" + self.worker.digest().hex())

    def test_each_thing_not_proven_is_named(self):
        anchor, enrolment = self.sound()
        presented = enrolment["device_evidence"]
        cases = []

        def case(name, want, change, **options):
            changed = copy.deepcopy(enrolment)
            change(changed)
            cases.append((name, want, changed, options))

        for number in range(2):
            case(f"without device {number}", "enrolment-mismatch the request is for other devices "
                 "/request/devices", lambda made, n=number: made["device_evidence"].pop(n))  # fmt: skip
        case("reordered", "enrolment-mismatch the request is for other devices /request/devices",
             lambda made: made["device_evidence"].reverse())  # fmt: skip

        def rewritten(made):
            made["device_evidence"].pop()
            made["request"]["devices"].pop()

        case("without a device, and the request rewritten",
             "evidence-rejected REPORT_DATA_MISMATCH /evidence", rewritten)  # fmt: skip

        def renamed(made):
            made["device_evidence"][1]["uuid"] = "GPU-0"

        case("one UUID for two", "enrolment-mismatch two devices have one UUID /device_evidence", renamed)
        case("signed by another key", "signature-invalid", lambda made: None, key=WorkerKey(2))
        case("without evidence of the node", "enrolment-mismatch evidence of devices counts beside "
             "evidence of their node alone /device_evidence", lambda made: made.pop("evidence"))
        for name, want, changed, options in cases:
            with self.subTest(name):
                self.assertTrue(self.refusal(changed, anchor, **options).startswith(want),
                                self.refusal(changed, anchor, **options))  # fmt: skip
        with self.subTest("replayed nonce"):
            self.assertTrue(self.refusal(enrolment, anchor, "--nonce", "ab" * 32)
                            .startswith("challenge-mismatch"))  # fmt: skip
        with self.subTest("processor without reference values"):
            value = self.refusal(enrolment, anchor, policy=self.policies(anchor, reference_values=False))
            self.assertEqual(value, "evidence-rejected REFERENCE_VALUES_MISSING /evidence")
        with self.subTest("of another platform"):
            other = self.enrolment(presented, before=lambda made: made["request"].update(platform="00" * 16))
            self.assertEqual(self.refusal(other, anchor), "enrolment-mismatch the evidence is of another "
                             "platform /request/platform")  # fmt: skip

    def test_device_that_answers_another_node_is_refused(self):
        anchor, own = self.simulate_gpus(self.device_nonce())
        others = {
            "another worker's": self.device_nonce(WorkerKey(2)),
            "an older challenge's": self.device_nonce(nonce=bytes(32)),
            "the challenge itself": NONCE,
        }
        for name, nonce in others.items():
            with self.subTest(name):
                _, foreign = self.simulate_gpus(nonce, first=2)
                value = self.judge(self.enrolment([own[0], foreign[0]]), anchor, code=NO)
                self.assertEqual((value["error"]["code"], value["error"]["where"]),
                                 ("evidence-rejected", "/device_evidence/1/evidence"))  # fmt: skip
                self.assertIn("NONCE_MISMATCH", value["error"]["detail"])
                self.assertEqual([d["verdict"] for d in value["devices"]], ["accepted", "rejected"])
                self.assertFalse(any(d["attested"] for d in value["devices"]))
        with self.subTest("one device twice"):
            twice = [copy.deepcopy(own[0]) for _ in range(2)]
            twice[1]["uuid"] = "GPU-7"
            self.assertIn("TOPOLOGY_DOUBLED", self.refusal(self.enrolment(twice), anchor))

    def test_devices_need_reference_values_of_their_guest(self):
        anchor, enrolment = self.sound()
        cpu = self.read_json("cpu-appraisal.json")
        cpu["policy"]["reference_values"] = {"mrtd": cpu["policy"]["reference_values"]["mrtd"]}
        cpu["dangerous_allow_missing_reference_values"] = True
        gpu = {"evidence_type": "nvidia-gpu", "policy": {}, "dangerous_anchors": [anchor]}
        value = self.judge(enrolment, anchor, code=YES, policy=self.write_json("some.json", [cpu, gpu]))
        self.assertEqual([d["attested"] for d in value["devices"]], [False, False])

    def sign_bundle(self):
        keys = []
        self.assay("endorsements", "bundle", "--number", "7", "--collateral", "cpu-collateral.json",
                   "--collateral", "gpus-collateral.json", "--root", "tdx=cpu.pem", "--root",
                   "nvidia-gpu=gpus.pem", "--at", NOW, "--out", "signed.json")  # fmt: skip
        for name in ("olga", "omar"):
            self.assay("key", "new", "--algorithm", "ed25519", "--out", f"{name}.pem")
            self.assay("key", "describe", f"{name}.pem.pub", "--purpose", "operator", "--identity", name,
                       "--not-before", "2020-01-01T00:00:00Z", "--not-after", "2099-01-01T00:00:00Z",
                       "--out", f"{name}.json")  # fmt: skip
            keys.append(self.read_json(f"{name}.json"))
            self.assay("sign", "signed.json", "--yes", "--key", f"{name}.pem", "--out", "signed.json")
        return ["--endorsements", "signed.json", "--operators", self.write_json("operators.json", {"keys": keys})]

    # Roots and collateral are the bundle's, and its RIMs count beyond their end.
    def test_signed_bundle_serves_the_whole_enrolment(self):
        anchor, devices = self.simulate_gpus(self.device_nonce(), "--fault", "expired-rim")
        enrolment = self.enrolment(devices)
        self.assertIn("RIM_EXPIRED", self.refusal(enrolment, anchor))
        bundle = self.sign_bundle()
        appraisal = self.read_json("cpu-appraisal.json")
        appraisal["dangerous_anchors"] = []
        policy = self.write_json("no-anchors.json", [appraisal])
        path = self.write_json("enrolment.json", self.worker.envelope(enrolment))
        verify = ["evidence", "verify", "--type", "composite", "--at", NOW, "--policy", policy, "-o", "json", path]
        value = self.assay(*verify, *bundle).json()
        self.assertEqual([d["attested"] for d in value["devices"]], [True, True])
        self.assertEqual(value["devices"][0]["state"]["measurements"], "rim")
        # Another board's evidence is not what the bundle has answers for.
        _, foreign = self.simulate_gpus(self.device_nonce(), first=2)
        other = self.write_json("other.json", self.worker.envelope(self.enrolment(foreign)))
        self.assay(*verify[:-1], other, *bundle, code=NO)
        self.assay(*verify, *bundle, "--collateral", "cpu-collateral.json", code=TROUBLE)
        self.assay(*verify, *bundle[2:], code=TROUBLE)

    def test_text_and_wrong_use(self):
        anchor, enrolment = self.sound()
        path = self.write_json("enrolment.json", self.worker.envelope(enrolment))
        verify = ["evidence", "verify", "--type", "composite", "--at", NOW, path]
        known = ["--collateral", "cpu-collateral.json", "--collateral", "gpus-collateral.json", "--policy",
                 self.policies(anchor)]  # fmt: skip
        text = self.assay(*verify, *known)
        self.assertEqual(text.out.splitlines()[0], "accepted")
        self.assertIn("node gpu-1 for assay.example.com/log", text.out)
        self.assertIn("reference values of mrtd, rtmr0, rtmr1, rtmr2", text.out)
        self.assertIn("    GPU-1: accepted, root sha256:", text.out)
        self.assertIn("hopper gpu, mode cc", text.out)
        self.assertIn("No challenge was compared", text.err)
        # Nobody's anchors and no collateral: a refusal, not a failure.
        self.assay(*verify, code=NO)
        for wrong in (["--root", "gpus.pem"], ["--report-data", "00" * 64], ["--rim", "x"],
                      ["--nonce", "12"], ["--policy", "absent.json"],
                      ["--collateral", "cpu-collateral.json"]):  # fmt: skip
            self.assay(*verify, *known, *wrong, code=TROUBLE)
        self.assay("evidence", "verify", "--collateral", "a", "--collateral", "b", "quote", code=TROUBLE)
        garbage = self.write("garbage", b"{}")
        self.assay("evidence", "verify", "--type", "composite", garbage, code=NO)


if __name__ == "__main__":
    unittest.main()
