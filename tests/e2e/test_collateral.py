# SPDX-License-Identifier: Apache-2.0
"""Collateral as the service's state: brought by an operator, shown, measured, never back, and the
same after a restart."""
import json
import unittest

import nodes

OLDER = "2026-01-01T00:00:00Z"  # of the oldest simulation: over long ago


class CollateralOfTheService(unittest.TestCase):
    def test_story(self):
        with nodes.NodeService() as self.service:
            self.simulate("now.json")
            self.simulate("old.json", "--at", OLDER)
            self.refusals()
            self.assertIn("moved", self.command("import", "now.json").stdout)
            self.assertIn("same", self.command("import", "now.json").stdout)
            kept = self.kept()
            self.assertEqual(sorted(part["kind"] for part in kept),
                             ["pck-crl", "qe-identity", "root-crl", "tcb-info"])  # fmt: skip
            self.assertEqual({part["brought_by"] for part in kept}, {"ci"})
            self.measured()
            self.exported()
            self.service.stop()
            self.service.start()
            self.assertEqual(self.kept(), kept)
            self.service.verify_log()

    def simulate(self, name, *more):
        self.service.run("assay", "evidence", "simulate", "--seed", "seed", "--out-collateral", name,
                         "--out-root", "root.pem", *more)  # fmt: skip

    def command(self, *words, check=True, token="ci"):
        return self.service.run("assay", "collateral", *words, check=check, token=token)

    def kept(self):
        return json.loads(self.command("show", "-o", "json").stdout)["items"]

    def refusals(self):
        expired = self.command("import", "old.json", check=False)
        self.assertIn("collateral-refused", expired.stderr)
        bundle = json.loads((self.service.dir / "now.json").read_text())
        bundle["tcb_info"] = bundle["tcb_info"].replace('"UpToDate"', '"OutOfDate"', 1)
        (self.service.dir / "forged.json").write_text(json.dumps(bundle))
        forged = self.command("import", "forged.json", check=False)
        self.assertIn("TCB_INFO_SIGNATURE", forged.stderr)
        self.assertEqual(self.kept(), [])
        for body in (b"", b"{", b"[]", b'{"type":"tdx"}', b'{"type":"tdx","collateral":{}}'):
            status = self.service.request("PUT", "/v1/collateral", body,
                                          content_type="application/json")[0]  # fmt: skip
            self.assertIn(status, (400, 411, 422), body)
        whole = json.dumps({"type": "tdx", "collateral": bundle})
        twice = whole.replace('"type": "tdx"', '"type": "tdx", "type": "tdx"', 1).encode()
        other = whole.replace('"type": "tdx"', '"type": "example-hmac"', 1).encode()
        for body, status in ((twice, 400), (other, 422), (b" " * (10 << 20), 400)):
            answer = self.service.request("PUT", "/v1/collateral", body,
                                          content_type="application/json")  # fmt: skip
            self.assertEqual(answer[0], status, answer)
        self.assertEqual(self.kept(), [])
        nobody = self.service.request("PUT", "/v1/collateral", b"{}", token="worker-1",
                                      content_type="application/json")[0]  # fmt: skip
        self.assertEqual(nobody, 403)

    def measured(self):
        connection = self.service.connect()
        connection.request("GET", "/metrics",
                           headers={"Authorization": f"Bearer {self.service.token('ci')}"})  # fmt: skip
        text = connection.getresponse().read().decode()
        connection.close()
        for part in ("tcb-info", "qe-identity", "pck-crl", "root-crl"):
            name = f'collateral_seconds_to_next_update{{part="{part}"}} '
            value = float(text.split(name)[1].split()[0])
            self.assertTrue(0 < value < 400 * 24 * 3600, text)

    def exported(self):
        info = json.loads(json.loads((self.service.dir / "now.json").read_text())["tcb_info"])
        self.command("export", "--fmspc", info["fmspc"].lower(), "--pck-ca", "platform", "--anchor",
                     self.service.anchor, "--out", "exported.json")  # fmt: skip
        self.assertEqual(json.loads((self.service.dir / "exported.json").read_text()),
                         json.loads((self.service.dir / "now.json").read_text()))  # fmt: skip
        self.command("diff", "exported.json", "--root", "root.pem")


if __name__ == "__main__":
    unittest.main()
