# SPDX-License-Identifier: Apache-2.0
"""assay status, against a server that says what the service would."""
import datetime

import harness
import served
from harness import NO, TROUBLE
from tls_server import Answer, problem


def days(number):
    time = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=number)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def listed(*items):
    return Answer(200, {"items": list(items)})


class Status(served.TestCase):
    def setUp(self):
        super().setUp()
        self.say(tls=400)

    def say(self, keys=(), principals=(), nodes=(), collateral=(), tls=400):
        self.answer("GET", "/readyz", Answer(200, b"ready\n", "text/plain"))
        self.answer("GET", "/v1/trust", Answer(200, {"keys": list(keys), "principals": list(principals)}))
        self.answer("GET", "/v1/nodes", listed(*nodes))
        self.answer("GET", "/v1/collateral", listed(*collateral))
        seconds = datetime.datetime.now().timestamp() + tls * 86400
        text = f"# HELP x y\nother 1\ntls_certificate_expiry_timestamp_seconds {seconds:.0f}\n"
        self.answer("GET", "/metrics", Answer(200, text.encode(), "text/plain"))

    def status(self, *options, code=0):
        return self.assay("status", *options, *self.to, "-o", "json", code=code).json()

    def test_all_is_well(self):
        said = self.status()
        self.assertEqual((said["ready"], said["well"], said["left_out"]), (True, True, []))
        self.assertEqual([one["what"] for one in said["ends"]], ["TLS certificate"])
        self.assertIn("ready", self.assay("status", *self.to).out)

    def test_everything_that_ends_in_order_of_time(self):
        self.say(keys=[{"purpose": "signer", "identity": "eva", "not_after": days(50)},
                       {"purpose": "signer", "identity": "gone", "not_after": days(1),
                        "revoked": {"at": days(-1), "reason": "stolen"}}],
                 principals=[{"name": "ci", "not_after": days(30)}, {"name": "forever"}],
                 nodes=[{"node": "gpu-1", "state": "enrolled", "enrolled_at": days(-1), "expires_at": days(20)},
                        {"node": "gpu-2", "state": "ended", "enrolled_at": days(-40), "expires_at": days(-20)}],
                 collateral=[{"name": "tdx/crl", "next_update": days(40)}])  # fmt: skip
        said = self.status()
        self.assertEqual([(one["what"], one["name"]) for one in said["ends"]],
                         [("enrolment", "gpu-1"), ("principal", "ci"), ("collateral", "tdx/crl"),
                          ("key (signer)", "eva"), ("TLS certificate", "of the listeners")])  # fmt: skip
        self.assertFalse(any(one["soon"] for one in said["ends"]))
        shown = self.assay("status", *self.to).out
        for word in ("in 19 days", "gpu-1", "tdx/crl"):
            self.assertIn(word, shown)

    def test_each_kind_that_ends_soon_is_trouble(self):
        for kind in ({"keys": [{"purpose": "signer", "identity": "eva", "not_after": days(13)}]},
                     {"principals": [{"name": "ci", "not_after": days(13)}]},
                     {"nodes": [{"node": "gpu-1", "state": "violated", "enrolled_at": days(-40), "expires_at": days(13)}]},
                     {"collateral": [{"name": "tdx/crl", "next_update": days(-1)}]},
                     {"tls": 13}):  # fmt: skip
            with self.subTest(kind):
                self.say(**kind)
                said = self.status(code=NO)
                self.assertEqual((said["well"], said["ends"][0]["soon"]), (False, True))
        self.say(tls=13)
        self.status("--within", "12d")
        self.assay("status", "--within", "soon", *self.to, code=TROUBLE)

    def test_an_enrolment_that_is_renewed_as_usual_is_no_trouble(self):
        """An enrolment of a day, which its node renews after 12 to 18 hours of it."""
        for hours, code in ((1, 0), (17.9, 0), (18.1, NO), (25, NO)):
            with self.subTest(hours=hours):
                begun = days(-hours / 24)
                self.say(nodes=[{"node": "gpu-1", "state": "enrolled", "enrolled_at": begun,
                                 "expires_at": days(1 - hours / 24)}])
                said = self.status(code=code)
                self.assertEqual((said["well"], said["ends"][0]["soon"]), (code == 0, code != 0))
                shown = self.assay("status", *self.to, code=code).out
                self.assertEqual("!" in shown, code != 0)

    def test_a_service_that_is_not_ready(self):
        self.answer("GET", "/readyz", problem(503, "unavailable", "storage: no space"))
        said = self.status("--retries", "0", code=NO)
        self.assertFalse(said["ready"])
        self.assertIn("storage: no space", said["trouble"])

    def test_sources_that_a_role_does_not_show_are_named(self):
        for path, names in (("/v1/trust", ["keys", "principals"]), ("/v1/nodes", ["enrolments"]),
                            ("/v1/collateral", ["collateral"]), ("/metrics", ["TLS certificate"])):  # fmt: skip
            with self.subTest(path):
                self.say()
                self.answer("GET", path, problem(403, "forbidden"))
                said = self.status(code=TROUBLE)
                self.assertEqual((said["left_out"], said["well"]), (names, False))
        self.assertIn("TLS certificate", self.assay("status", *self.to, code=TROUBLE).err)
        self.say(keys=[{"purpose": "signer", "identity": "eva", "not_after": days(1)}])
        self.answer("GET", "/metrics", problem(403, "forbidden"))
        self.status(code=NO)

    def test_other_errors_are_no_answer(self):
        for path in ("/v1/trust", "/v1/nodes", "/v1/collateral", "/metrics"):
            with self.subTest(path):
                self.say()
                self.answer("GET", path, problem(401, "unauthenticated"))
                self.assay("status", *self.to, code=TROUBLE)


if __name__ == "__main__":
    harness.main()
