# SPDX-License-Identifier: Apache-2.0
"""assay endorsements: fetched from servers of our own, put into a bundle, reviewed, and used offline."""
import base64
import json
import ssl
import uuid

import vendors
from harness import NO, TROUBLE, YES
from served import TestCase
from tls_server import Answer

NOW = "2026-03-01T12:00:00Z"
LATER = "2026-05-01T00:00:00Z"
REPORT, CHIP = 0x4A0, 0x1A0  # bytes of an SEV-SNP report, and where its chip id lies
ASK = uuid.UUID("4ab7b379-bbac-4fe4-a02f-05aef327c782")
VCEK = uuid.UUID("63da758d-e664-4564-adc5-f4b93be8accd")


class Endorsements(TestCase):
    made = {}  # what the simulators wrote, for all tests

    def setUp(self):
        super().setUp()
        if not self.made:
            self.write("seed", "endorsements " * 4)
            self.simulate("nvidia-gpu", "gpu", "--devices", "2", "--fault", "expired-rim")
            self.simulate("tdx", "tdx")
            self.simulate("sev-snp", "snp")
            kinds = ("json", "pem", "quote")
            self.made.update({path.name: path.read_bytes() for path in self.dir.iterdir()
                              if path.name.split(".")[-1] in kinds or path.name == "seed"})  # fmt: skip
        for name, content in self.made.items():
            (self.dir / name).write_bytes(content)
        self.roots = ("--root", "nvidia-gpu=gpu.pem", "--root", "tdx=tdx.pem", "--root",
                      "sev-snp=snp.pem")  # fmt: skip

    def simulate(self, kind, name, *more):
        self.assay("evidence", "simulate", "--type", kind, "--seed", "seed", "--at", NOW,
                   "--out-quote", f"{name}.quote", "--out-collateral", f"{name}.json",
                   "--out-root", f"{name}.pem", *more)  # fmt: skip

    def load(self, name):
        return vendors.load(self.dir / name)

    def bundle(self, *more, number=7, roots=True, code=YES, collateral=("gpu", "tdx", "snp")):
        files = [part for name in collateral for part in ("--collateral", f"{name}.json")]
        return self.assay("endorsements", "bundle", "--number", str(number), *files,
                          *(self.roots if roots else ()), "--at", NOW, "--out", "bundle.json",
                          *more, code=code)  # fmt: skip

    def operators(self):
        for name in ("olga", "omar"):
            self.assay("key", "new", "--algorithm", "ed25519", "--out", f"{name}.pem")
            self.assay("key", "describe", f"{name}.pem.pub", "--purpose", "operator", "--identity",
                       name, "--not-after", "2099-01-01T00:00:00Z", "--not-before",
                       "2020-01-01T00:00:00Z", "--out", f"{name}.key.json")  # fmt: skip
        keys = [self.load(f"{name}.key.json") for name in ("olga", "omar")]
        self.write("trust.json", json.dumps({"keys": keys}))

    def sign(self, *names):
        self.assay("sign", "bundle.json", "--yes", "--key", f"{names[0]}.pem", "--out",
                   "signed.json")  # fmt: skip
        for name in names[1:]:
            self.assay("sign", "signed.json", "--yes", "--key", f"{name}.pem", "--out",
                       "signed.json")  # fmt: skip

    def verify(self, kind, name, *more, code=YES, at=NOW, operators=("--operators", "trust.json")):
        return self.assay("evidence", "verify", "--type", kind, "--endorsements", "signed.json",
                          *operators, "--at", at, f"{name}.quote", *more, code=code)  # fmt: skip

    def test_bundle_says_what_ends_when(self):
        made = self.bundle("-o", "json").json()
        self.assertEqual(made["number"], 7)
        ends = [part["ends"] for part in made["parts"]]
        self.assertEqual(ends, sorted(ends))
        self.assertEqual({part["kind"] for part in made["parts"]},
                         {"rim", "ocsp", "tcb-info", "qe-identity", "pck-crl", "root-crl", "amd-crl"})
        self.assertNotIn("/rim/", made["first_end"]["part"])
        document = self.load("bundle.json")
        self.assertEqual([one["type"] for one in document["collateral"]],
                         ["nvidia-gpu", "tdx", "sev-snp"])
        self.assertIn("bundle.json: its first part ends", self.bundle().err)

    def test_bundle_refuses_what_a_service_refuses(self):
        for options, text in (({"roots": False}, "collateral-refused"),
                              ({"number": 0}, "schema-violation")):  # fmt: skip
            with self.subTest(text):
                result = self.bundle(**options, code=None)
                self.assertIn(result.code, (NO, TROUBLE))
                self.assertIn(text, result.err)
        late = self.assay("endorsements", "bundle", "--number", "7", "--collateral", "gpu.json",
                          *self.roots, "--at", LATER, "--out", "late.json", code=NO)  # fmt: skip
        self.assertIn("valid from", late.err)
        self.assertFalse((self.dir / "late.json").exists())
        self.bundle("--root", "tdx.pem", code=TROUBLE)
        self.assertFalse((self.dir / "bundle.json").exists())

    def test_review_says_what_is_co_signed(self):
        self.bundle()
        said = self.assay("review", "bundle.json").out
        for text in ("number 7", "the first part ends", "/rim/NV_GPU_DRIVER", "tcb-info",
                     "devices with its measurements are accepted all the same",
                     "makes evidence of any machine"):  # fmt: skip
            self.assertIn(text, said)
        rim = {"name": "nvidia-gpu/" + "0" * 64 + "/rim/OLD", "kind": "rim", "way": "bundle"}
        self.answer("GET", "/v1/endorsements", Answer(200, {"number": 7, "envelope": None}))
        self.answer("GET", "/v1/collateral", Answer(200, {"items": [rim], "next": None}))
        compared = self.assay("review", "bundle.json", *self.to, "-o", "json").json()
        paths = {change["path"]: change for change in compared["changes"]}
        self.assertIsNone(paths[f"beyond_its_end[{rim['name']}]"]["after"])
        self.assertTrue(any(change.get("flag") == "counts beyond its end from now on"
                            for change in compared["changes"]))  # fmt: skip
        self.assertTrue(any("will not take this one" in flag for flag in compared["flags"]))

    def test_evidence_is_verified_with_the_network_off(self):
        self.operators()
        self.bundle()
        self.sign("olga", "omar")
        self.verify("nvidia-gpu", "gpu")
        self.verify("tdx", "tdx")
        self.verify("sev-snp", "snp")
        alone = self.assay("evidence", "verify", "--type", "nvidia-gpu", "--collateral", "gpu.json",
                           "--root", "gpu.pem", "--rim-root", "gpu.pem", "--at", NOW, "gpu.quote",
                           code=NO)  # fmt: skip
        self.assertIn("RIM_EXPIRED", alone.out)
        self.assertIn("CRL", self.verify("tdx", "tdx", at=LATER, code=NO).out)

    def test_evidence_is_not_verified_with_a_bundle_of_one(self):
        self.operators()
        self.bundle()
        self.sign("olga")
        self.assertIn("threshold-not-met", self.verify("tdx", "tdx", code=None).err)
        self.sign("olga", "omar")
        self.assertIn("usage", self.verify("tdx", "tdx", operators=(), code=TROUBLE).err)
        both = self.verify("tdx", "tdx", "--collateral", "tdx.json", code=TROUBLE)
        self.assertIn("not both", both.err)
        envelope = self.load("signed.json")
        other = self.bundle(number=8)
        self.sign("olga", "omar")
        self.assertNotEqual(envelope["payload"], self.load("signed.json")["payload"], str(other))
        envelope["payload"] = self.load("signed.json")["payload"]
        self.write("signed.json", json.dumps(envelope))
        self.assertIn("untrusted-signer", self.verify("tdx", "tdx", code=None).err)
        self.bundle(collateral=("snp",))
        self.sign("olga", "omar")
        self.assertIn("collateral-missing", self.verify("tdx", "tdx", code=None).err)

    def test_reference_values_of_a_bundle_count(self):
        self.operators()
        machine = self.assay("evidence", "simulate", "--seed", "seed", "--out-root",
                             "tdx.pem", "-o", "json").json()  # fmt: skip
        mrtd = machine["reference_values"]["mrtd"][0]
        for value, code in ((mrtd, YES), ("00" * 48, NO)):
            self.write("values.json", json.dumps({
                "evidence_type": "tdx", "tag_id": "acme.example/os", "tag_version": 1,
                "sets": [{"label": "guest", "values": {"mrtd": [value]}}]}))  # fmt: skip
            self.bundle("--reference-values", "values.json")
            self.sign("olga", "omar")
            self.verify("tdx", "tdx", code=code)

    def fetch(self, *more, code=YES, evidence=("gpu", "tdx", "snp")):
        files = [part for name in evidence for part in ("--evidence", f"{name}.quote")]
        return self.assay("endorsements", "fetch", *files, *vendors.sources(self.server),
                          *self.roots, "--at", NOW, "--out", "fetched", *more, code=code)  # fmt: skip

    def serve_all(self):
        vendors.serve_intel(self.server, self.load("tdx.json"))
        vendors.serve_amd(self.server, self.load("snp.json"))
        vendors.serve_nvidia(self.server, self.load("gpu.json"))

    def test_fetch_asks_for_what_evidence_needs(self):
        self.serve_all()
        files = [entry["file"] for entry in self.fetch("-o", "json").json()["files"]]
        self.assertEqual(len(files), 3)
        whole = self.load("gpu.json")
        fetched = self.load("fetched/nvidia-gpu.json")
        self.assertEqual({name: text for name, text in fetched.items() if name.startswith("rim/")},
                         {name: text for name, text in whole.items() if name.startswith("rim/")})
        self.assertEqual({name for name in fetched if name.startswith("ocsp/")},
                         {name for name in whole if name.startswith("ocsp/")})
        self.assertEqual(self.load("fetched/sev-snp-milan.json"), self.load("snp.json"))
        family = json.loads(self.load("tdx.json")["tcb_info"])["fmspc"].lower()
        self.assertEqual(self.load(f"fetched/tdx-{family}-platform.json"), self.load("tdx.json"))
        for _, _, headers, _ in self.server.requests:
            self.assertNotIn("Authorization", headers)
        questions = [method for method, _, _, _ in self.server.requests if method == "POST"]
        self.assertEqual(len(questions), sum(name.startswith("ocsp/") for name in whole))
        self.assay("endorsements", "bundle", "--number", "1", "--collateral", "fetched",
                   *self.roots, "--at", NOW, "--out", "bundle.json")  # fmt: skip
        self.assertEqual(len(self.load("bundle.json")["collateral"]), 3)

    def test_fetch_gets_the_certificate_of_a_chip(self):
        """For a host that gives its guests none."""
        whole = (self.dir / "snp.quote").read_bytes()
        report, table = whole[:REPORT], whole[REPORT:]
        entries = [table[at:at + 24] for at in range(0, len(table), 24)]

        def certificate(kind):
            entry = next(entry for entry in entries if entry[:16] == kind.bytes)
            offset, length = (int.from_bytes(entry[at:at + 4], "little") for at in (16, 20))
            return table[offset:offset + length]

        (self.dir / "bare.quote").write_bytes(report)
        chip = report[CHIP:CHIP + 64].hex()
        vendors.serve_amd(self.server, self.load("snp.json"))
        self.answer("GET", f"/vcek/v1/Milan/{chip}",
                    Answer(200, certificate(VCEK), "application/pkix-cert"))  # fmt: skip
        self.assay("endorsements", "fetch", "--evidence", "bare.quote", *self.roots, "--at", NOW,
                   *vendors.sources(self.server), "--out", "fetched")  # fmt: skip
        self.assertRegex(self.server.requests[-1][1], r"\?blSPL=\d\d&teeSPL=\d\d&snpSPL=\d\d&ucode")
        fetched = (self.dir / f"fetched/vcek-{chip[:16]}.der").read_bytes()
        # The simulator's CA, where AMD's is known.
        self.write("chain.pem", "".join(map(ssl.DER_cert_to_PEM_cert, (fetched, certificate(ASK)))))
        self.assay("evidence", "verify", "--type", "sev-snp", "--collateral",
                   "fetched/sev-snp-milan.json", "--root", "snp.pem", "--certificate", "chain.pem",
                   "--at", NOW, "bare.quote")  # fmt: skip

    def test_fetch_asks_no_odd_address(self):
        """The id of a RIM is a claim of whoever gave the evidence."""
        self.serve_all()
        devices = self.load("gpu.quote")
        report = base64.b64decode(devices[0]["evidence"])
        self.assertIn(b"570.172.08", report)
        devices[0]["evidence"] = base64.b64encode(report.replace(b"570.172.08", b"570/../?8x")).decode()
        self.write("odd.quote", json.dumps(devices))
        odd = self.assay("endorsements", "fetch", "--evidence", "odd.quote", *self.roots, "--at",
                         NOW, *vendors.sources(self.server), "--out", "fetched", code=NO)  # fmt: skip
        self.assertIn("collateral-refused", odd.err)
        self.assertFalse(any("?" in request[1] for request in self.server.requests))

    def test_fetch_refuses_wrong_answers(self):
        rim = next(name for name in self.load("gpu.json") if name.startswith("rim/"))
        family = json.loads(self.load("tdx.json")["tcb_info"])["fmspc"].lower()
        self.simulate("tdx", "other", "--tcb-status", "OutOfDate")
        other = self.load("other.json")
        other["tcb_info"] = other["tcb_info"].replace(family.upper(), "00806F050000")
        cases = (
            ("a RIM of another id", f"GET /v1/{rim}", Answer(200, {"id": "X", "rim": "", "sha256": ""})),
            ("an answer to no question", "POST /", Answer(200, b"0", "application/ocsp-response")),
            ("a redirect", f"GET /v1/{rim}", Answer(302, b"", headers={"Location": "https://x"})),
            ("a long answer", "POST /", Answer(200, b"0" * (5 << 20))),
            ("no CRL", "GET /vcek/v1/Milan/crl", Answer(200, b"<html>")),
            ("no answer", "GET /vcek/v1/Milan/crl", Answer(cut=True)),
            ("a TCB info that was changed", "GET /tdx/certification/v4/tcb", None),
        )
        for name, path, answer in cases:
            with self.subTest(name):
                self.serve_all()
                if answer is None:
                    vendors.serve_intel(self.server, other)
                else:
                    self.server.answers[path] = answer
                evidence = "snp" if "vcek" in path else "tdx" if "tdx" in path else "gpu"
                result = self.fetch(code=None, evidence=(evidence,))
                self.assertIn(result.code, (NO, TROUBLE), str(result))
                self.assertFalse((self.dir / "fetched").exists())
        self.serve_all()
        self.write("text", "no evidence")
        self.assertIn("invalid-encoding", self.fetch("--evidence", "text", code=None).err)
        plain = self.assay("endorsements", "fetch", "--evidence", "gpu.quote", "--rim-service",
                           "http://localhost:1", *self.roots, "--out", "fetched", code=TROUBLE)  # fmt: skip
        self.assertIn("https://", plain.err)


if __name__ == "__main__":
    import unittest
    unittest.main()
