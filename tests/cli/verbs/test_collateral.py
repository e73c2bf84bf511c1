# SPDX-License-Identifier: Apache-2.0
"""assay collateral: fetched from a server of our own in both dialects, and compared in files."""
import json
import urllib.parse

import harness
from harness import NO, TROUBLE, YES
from served import TestCase
from tls_server import Answer

NOW = "2026-03-01T12:00:00Z"
V4 = "/certification/v4"


class Collateral(TestCase):
    def setUp(self):
        super().setUp()
        self.write("seed", "collateral " * 4)
        self.simulate("c.json", NOW)
        self.bundle = json.loads((self.dir / "c.json").read_text())
        self.source = f"https://localhost:{self.server.port}"

    def simulate(self, name, at, *more):
        self.assay("evidence", "simulate", "--seed", "seed", "--at", at, "--out-collateral", name,
                   "--out-root", "root.pem", "--out-quote", "quote.bin", *more)  # fmt: skip

    def family(self):
        return json.loads(self.bundle["tcb_info"])["fmspc"].lower()

    def serve_bundle(self, bundle, hex_crls=False, old_names=False):
        """Answers as Intel's service does, or as a cache does."""
        def crl(name):
            return bundle[name].encode() if hex_crls else bytes.fromhex(bundle[name])

        def chain(name):
            return urllib.parse.quote(bundle[name], safe="")

        info = "SGX-TCB-Info-Issuer-Chain" if old_names else "TCB-Info-Issuer-Chain"
        body = '{"tcbInfo":%s,"signature":"%s"}'
        self.answer("GET", f"/tdx{V4}/tcb", Answer(
            200, (body % (bundle["tcb_info"], bundle["tcb_info_signature"])).encode(),
            headers={info: chain("tcb_info_issuer_chain")}))  # fmt: skip
        body = '{ "signature" : "%s", "enclaveIdentity" : %s }'
        self.answer("GET", f"/tdx{V4}/qe/identity", Answer(
            200, (body % (bundle["qe_identity_signature"], bundle["qe_identity"])).encode(),
            headers={"SGX-Enclave-Identity-Issuer-Chain": chain("qe_identity_issuer_chain")}))  # fmt: skip
        self.answer("GET", f"/sgx{V4}/pckcrl", Answer(
            200, crl("pck_crl"), "application/pkix-crl",
            headers={"SGX-PCK-CRL-Issuer-Chain": chain("pck_crl_issuer_chain")}))  # fmt: skip
        self.answer("GET", f"/sgx{V4}/rootcacrl",
                    Answer(200, crl("root_ca_crl"), "application/pkix-crl"))  # fmt: skip

    def fetch(self, *more, code=YES, source="--pcs"):
        return self.assay("collateral", "fetch", source, self.source, "--cacert", "server.crt",
                          "--root", "root.pem", "--at", NOW, "--out", "out.json", *more,
                          code=code)  # fmt: skip

    def refused(self, *more, text, code=NO, **options):
        result = self.fetch("--from-quote", "quote.bin", *more, code=code, **options)
        self.assertIn(text, result.err + result.out, str(result))
        self.assertFalse((self.dir / "out.json").exists())

    def test_pcs(self):
        self.serve_bundle(self.bundle)
        self.fetch("--fmspc", self.family().upper(), "--pck-ca", "platform")
        self.assertEqual(json.loads((self.dir / "out.json").read_text()), self.bundle)
        targets = [request[1] for request in self.server.requests]
        self.assertEqual(targets, [f"/tdx{V4}/tcb?fmspc={self.family()}", f"/tdx{V4}/qe/identity",
                                   f"/sgx{V4}/pckcrl?ca=platform&encoding=der",
                                   f"/sgx{V4}/rootcacrl"])  # fmt: skip
        for _, _, headers, _ in self.server.requests:
            self.assertNotIn("Authorization", headers)

    def test_answers_of_intel(self):
        """Byte for byte as Intel's service gave them in July 2023, under Intel's root."""
        folder = harness.SOURCE / "tests/vectors/tdx/pcs-2023-07"

        def chain(name):
            return urllib.parse.quote((folder / f"{name}IssuerChain.pem").read_text(), safe="")

        answers = {f"/tdx{V4}/tcb": ("tcb.json", {"TCB-Info-Issuer-Chain": chain("tcbInfo")}),
                   f"/tdx{V4}/qe/identity": ("qe-identity.json", {
                       "SGX-Enclave-Identity-Issuer-Chain": chain("qeIdentity")}),
                   f"/sgx{V4}/pckcrl": ("pckcrl.der", {
                       "SGX-PCK-CRL-Issuer-Chain": chain("pckCrl")}),
                   f"/sgx{V4}/rootcacrl": ("rootcacrl.der", {})}  # fmt: skip
        for path, (name, headers) in answers.items():
            kind = "application/json" if name.endswith(".json") else "application/pkix-crl"
            self.answer("GET", path, Answer(200, (folder / name).read_bytes(), kind, headers=headers))

        def fetch(at, code):
            return self.assay("collateral", "fetch", "--pcs", self.source, "--cacert", "server.crt",
                              "--from-quote", folder.parent / "v4-2023-07-debug.quote", "--at", at,
                              "--out", "out.json", code=code)  # fmt: skip

        self.assertIn("valid from", fetch("2023-07-09T00:00:00Z", NO).err)
        self.assertFalse((self.dir / "out.json").exists())
        fetch("2023-07-01T01:00:00Z", YES)
        fetched = json.loads((self.dir / "out.json").read_text())
        put_together = json.loads((folder.parent / "2023-07.collateral.json").read_text())
        self.assertEqual(fetched, put_together)

    def test_early_standard_and_a_number(self):
        self.serve_bundle(self.bundle)
        number = json.loads(self.bundle["tcb_info"])["tcbEvaluationDataNumber"]
        for asked, target in ((("--update", "early"), "update=early"),
                              (("--update", "standard"), "update=standard"),
                              (("--evaluation-number", str(number)),
                               f"tcbEvaluationDataNumber={number}")):  # fmt: skip
            with self.subTest(target):
                result = self.fetch("--from-quote", "quote.bin", *asked)
                self.assertIn(f"evaluation number {number} (QE identity {number})", result.err)
                targets = [request[1] for request in self.server.requests[-4:]]
                self.assertEqual(targets, [
                    f"/tdx{V4}/tcb?fmspc={self.family()}&{target}", f"/tdx{V4}/qe/identity?{target}",
                    f"/sgx{V4}/pckcrl?ca=platform&encoding=der", f"/sgx{V4}/rootcacrl"])  # fmt: skip
        shown = self.fetch("--from-quote", "quote.bin", "-o", "json").json()
        self.assertEqual([part["number"] for part in shown["parts"]][2:], [number, number])
        (self.dir / "out.json").unlink()
        # A cache that does not know the parameter answers with what it has.
        self.refused("--evaluation-number", str(number + 1), text=f"evaluation number {number}")
        count = len(self.server.requests)
        self.refused("--update", "early", "--evaluation-number", "1", text="not both", code=TROUBLE)
        self.refused("--update", "late", text="--update", code=TROUBLE)
        self.assertEqual(len(self.server.requests), count)

    def test_pccs_with_hex_and_old_names(self):
        self.serve_bundle(self.bundle, hex_crls=True, old_names=True)
        self.fetch("--from-quote", "quote.bin", source="--pccs")
        self.assertEqual(json.loads((self.dir / "out.json").read_text()), self.bundle)

    def test_without_the_caches_certificate(self):
        self.serve_bundle(self.bundle)
        result = self.assay("collateral", "fetch", "--pccs", self.source, "--from-quote", "quote.bin",
                            "--root", "root.pem", "--at", NOW, code=TROUBLE)  # fmt: skip
        self.assertIn("--cacert", result.err)
        self.assertEqual(self.server.requests, [])

    def test_what_is_not_authentic_is_not_written(self):
        for member in ("tcb_info_signature", "qe_identity_signature"):
            self.serve_bundle({**self.bundle, member: "11" * 64})
            self.refused(text="SIGNATURE")
        # One byte of the signed text, though the JSON means the same.
        text = self.bundle["tcb_info"].replace("{", "{ ", 1)
        self.serve_bundle({**self.bundle, "tcb_info": text})
        self.refused(text="TCB_INFO_SIGNATURE")

    def test_the_root_is_intels_unless_told(self):
        self.serve_bundle(self.bundle)
        result = self.assay("collateral", "fetch", "--pcs", self.source, "--cacert", "server.crt",
                            "--from-quote", "quote.bin", "--at", NOW, "--out", "out.json",
                            code=NO)  # fmt: skip
        self.assertIn("collateral-refused", result.err)
        self.assertFalse((self.dir / "out.json").exists())

    def test_expired_and_of_another_family(self):
        self.simulate("old.json", "2025-01-01T00:00:00Z")
        self.serve_bundle(json.loads((self.dir / "old.json").read_text()))
        self.refused(text="valid from")
        self.serve_bundle(self.bundle)
        result = self.fetch("--fmspc", "00" * 6, "--pck-ca", "platform", code=NO)
        self.assertIn("FMSPC", result.err)

    def test_sources_that_misbehave(self):
        self.serve_bundle(self.bundle)
        path = f"/tdx{V4}/tcb"
        good = self.server.answers[f"GET {path}"][0]
        cases = {
            "HTTP status 302": Answer(302, b"", headers={"Location": self.source + "/elsewhere"}),
            "HTTP status 404": Answer(404, b"none"),
            "issuer-chain": Answer(200, good.body),
            "no JSON": Answer(200, b"<html>", headers=good.headers),
            "too large": Answer(200, b" " * (5 << 20), headers=good.headers),
            "No answer": Answer(cut=True),
            "no certificate chain": Answer(200, good.body, headers={"TCB-Info-Issuer-Chain": "%zz"}),
        }  # fmt: skip
        for text, answer in cases.items():
            with self.subTest(text):
                self.answer("GET", path, answer)
                self.refused(text=text, code=TROUBLE)
        twice = good.body.replace(b'{"tcbInfo":', b'{"tcbInfo":{},"tcbInfo":', 1)
        self.answer("GET", path, Answer(200, twice, headers=good.headers))
        self.refused(text="no JSON", code=TROUBLE)
        self.assertFalse([r for r in self.server.requests if "elsewhere" in r[1]])

    def test_usage(self):
        self.fetch(code=TROUBLE)
        self.fetch("--fmspc", "xyz", "--pck-ca", "platform", code=TROUBLE)
        self.fetch("--fmspc", "00" * 6, code=TROUBLE)
        self.fetch("--from-quote", "seed", code=TROUBLE)
        self.fetch("--from-quote", "quote.bin", "--pccs", self.source, code=TROUBLE)
        result = self.assay("collateral", "fetch", "--pcs", "http://localhost:1", "--from-quote",
                            "quote.bin", code=TROUBLE)  # fmt: skip
        self.assertIn("https://", result.err)

    def test_show_and_diff_of_files(self):
        shown = self.assay("collateral", "show", "c.json", "--root", "root.pem", "-o", "json").json()
        self.assertEqual([part["kind"] for part in shown["parts"]],
                         ["root-crl", "pck-crl", "tcb-info", "qe-identity"])  # fmt: skip
        self.assertFalse(shown["anchor_is_vendor"])
        self.assay("collateral", "show", "c.json", code=NO)  # of no root that is known
        same = self.assay("collateral", "diff", "c.json", "c.json", "--root", "root.pem")
        self.assertIn("same", same.out)
        self.simulate("later.json", "2026-03-02T12:00:00Z")
        differs = self.assay("collateral", "diff", "c.json", "later.json", "--root", "root.pem", "-o",
                             "json", code=NO).json()  # fmt: skip
        self.assertEqual({part["after"] for part in differs["parts"]}, {"newer"})
        self.assertTrue(all(part["says_the_same"] for part in differs["parts"]))

    def test_of_the_service(self):
        parts = [{"name": "tdx/root-crl", "number": 1, "issued": NOW, "next_update": NOW,
                  "brought_by": "admin", "damaged": False},
                 {"name": "tdx/qe-identity", "damaged": True}]  # fmt: skip
        self.answer("GET", "/v1/collateral", Answer(200, {"items": parts, "next": None}))
        shown = self.assay("collateral", "show", *self.to)
        self.assertIn("damaged", shown.out)
        self.answer("PUT", "/v1/collateral", Answer(201, {
            "collateral": "sha256:" + "0" * 64, "moved": True, "log": None,
            "parts": [{"name": "tdx/root-crl", "outcome": "moved"}]}))  # fmt: skip
        self.assertIn("moved", self.assay("collateral", "import", "c.json", *self.to).out)
        sent = json.loads(self.server.requests[-1][3])
        self.assertEqual(sent, {"type": "tdx", "collateral": self.bundle})
        gpus = {"chain/aa": "x", "rim/A": "x", "extra/a": "x"}
        self.write("gpus.json", json.dumps(gpus))
        self.assay("collateral", "import", "gpus.json", *self.to)
        sent = json.loads(self.server.requests[-1][3])
        self.assertEqual(sent, {"type": "nvidia-gpu", "collateral": gpus}, "one unknown member hides no type")
        self.answer("GET", "/v1/collateral:set",
                    Answer(200, {"type": "tdx", "collateral": self.bundle, "parts": []}))  # fmt: skip
        self.assay("collateral", "export", "--fmspc", self.family(), "--pck-ca", "platform", "--out",
                   "e.json", *self.to)  # fmt: skip
        self.assertEqual(json.loads((self.dir / "e.json").read_text()), self.bundle)
        self.assay("collateral", "diff", "c.json", "--root", "root.pem", *self.to)


if __name__ == "__main__":
    harness.main()
