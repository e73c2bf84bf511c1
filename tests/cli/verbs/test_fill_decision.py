# SPDX-License-Identifier: Apache-2.0
"""assay fill with a service: which answers let a model in. One good answer, one change a case."""
import copy
import json
import shutil

import harness
import served
from harness import NO, TROUBLE, YES
from tls_server import Answer, problem

ID = "0190a1b2-0000-7000-8000-000000000001"
OTHER_ID = "0190a1b2-0000-7000-8000-000000000002"
OTHER = "assay-tree-v1-sha256:" + "0" * 64
ENVELOPE = "application/vnd.dsse.envelope.v1+json"


class Case(served.TestCase):
    def setUp(self):
        super().setUp()
        self.source = self.model()
        shutil.rmtree(self.source / ".git")
        self.key("publisher")
        made = self.assay("manifest", "create", "model", "--name", "acme/demo", "--key", "publisher.pem",
                          "--out", "signed.json", "-o", "json").json()  # fmt: skip
        self.artifact, self.manifest = made["artifact"], made["id"]
        self.decision = {"id": ID, "point": "create", "dry_run": False,
                         "verdict": {"allowed": True, "reasons": [], "warnings": [],
                                     "valid_until": "2999-01-01T00:00:00.000Z"},
                         "models": [{"artifact": self.artifact, "name": "acme/demo"}],
                         "request": {"principal": "filler", "namespace": "prod"}}  # fmt: skip
        self.item = {"id": self.manifest, "name": "acme/demo", "artifact": self.artifact}
        self.serve_manifest()
        self.serve_decision(self.decision)

    def serve_manifest(self, body=None, items=None):
        self.answer("GET", "/v1/manifests", Answer(200, {"items": [self.item] if items is None else items}))
        self.answer("GET", f"/v1/manifests/{self.manifest}",
                    Answer(200, body or (self.dir / "signed.json").read_bytes(), ENVELOPE))

    def serve_decision(self, decision, selected=True):
        self.answer("POST", "/v1/decisions", Answer(200, {
            "selected": selected, "decision": decision, "envelope": None, "log": None, "ordered_jobs": []}))
        self.answer("GET", f"/v1/decisions/{ID}", Answer(200, decision))

    def fill(self, *options, code=YES, source="model"):
        shutil.rmtree(self.dir / "volume", ignore_errors=True)
        result = self.assay("fill", source, "volume", *options, *self.to, "-o", "json", code=code)
        self.assertEqual((self.dir / "volume").exists(), code == YES)
        self.assertFalse(list(self.dir.glob(".volume*")))
        return result.json() if code != TROUBLE else json.loads(result.err.strip().splitlines()[-1])

    def both(self, code):
        """The error with a decision that the service makes, and with the same one stored."""
        codes = {self.fill(*options, "--model", "acme/demo", code=code)["error"]["code"]
                 for options in ((), ("--decision", ID))}  # fmt: skip
        self.assertEqual(len(codes), 1, codes)
        return codes.pop()

    def changed(self, **members):
        decision = copy.deepcopy(self.decision)
        decision.update(members)
        return decision


class Asked(Case):
    def test_asks_and_fills(self):
        got = self.fill("--model", "acme/demo", "--namespace", "prod", "--resource", "nvidia.com/gpu")
        self.assertEqual((got["filled"], got["decision"], got["artifact"]), (True, ID, self.artifact))
        ((_, _, headers, body),) = [one for one in self.server.requests if one[0] == "POST"]
        self.assertEqual(headers["Authorization"], f"Bearer {served.TOKEN}")
        self.assertEqual(json.loads(body), {
            "point": "create", "dry_run": False, "model": "acme/demo",
            "workload": {"namespace": "prod", "labels": {}, "resources": ["nvidia.com/gpu"]}})

    def test_asks_about_what_the_uri_names(self):
        shutil.copytree(self.source, self.dir / "models/acme/demo")
        self.fill("--sources", "models", source="assay://acme/demo")
        self.fill("--source", "model", source=f"assay://acme/demo@{self.artifact}")
        self.fill("--source", "model", source=f"assay://{self.artifact}")
        asked = [json.loads(body)["model"] for method, _, _, body in self.server.requests if method == "POST"]
        self.assertEqual(asked, ["acme/demo", f"acme/demo@{self.artifact}", self.artifact])

    def test_stored_decision(self):
        got = self.fill("--decision", ID)
        self.assertEqual((got["filled"], got["decision"]), (True, ID))
        self.assertFalse([one for one in self.server.requests if one[0] == "POST"])
        self.fill("--decision", ID, "--namespace", "prod")
        got = self.fill("--decision", ID, "--namespace", "other", code=NO)
        self.assertEqual(got["error"]["code"], "condition-undecided")

    def test_named_manifest_and_decision(self):
        self.answer("GET", "/v1/manifests", problem(403, "forbidden"))
        got = self.fill("--decision", ID, "--manifest", "signed.json", "--key", "publisher.pem.pub")
        self.assertEqual((got["decision"], len(got["signers"])), (ID, 1))
        self.serve_decision(self.changed(models=[{"artifact": OTHER, "name": "acme/demo"}]))
        got = self.fill("--decision", ID, "--manifest", "signed.json", "--key", "publisher.pem.pub", code=NO)
        self.assertEqual(got["error"]["code"], "subject-mismatch")

    def test_verifies_in_place(self):
        got = self.assay("fill", "--verify-in-place", "model", "--model", "acme/demo", *self.to, "-o",
                         "json").json()  # fmt: skip
        self.assertEqual((got["filled"], got["verified_in_place"], got["decision"]), (True, True, ID))

    def test_bytes_differ_from_what_was_decided(self):
        self.write("model/config.json", b"{}")
        got = self.fill("--model", "acme/demo", code=NO)
        self.assertEqual([one["file"] for one in got["differences"]], ["config.json"])
        self.assertEqual((got["filled"], got["decision"]), (False, ID))


class Refused(Case):
    def test_deny(self):
        verdict = {"allowed": False, "reasons": ["manifest-missing"], "warnings": []}
        self.serve_decision(self.changed(verdict=verdict))
        self.assertEqual(self.both(NO), "condition-undecided")
        got = self.fill("--model", "acme/demo", code=NO)
        self.assertIn("manifest-missing", got["error"]["detail"])

    def test_dry_run_expired_or_about_nothing(self):
        late = {**self.decision["verdict"], "valid_until": "2020-01-01T00:00:00.000Z"}
        for change, code in (({"dry_run": True}, "condition-undecided"),
                             ({"verdict": late}, "condition-undecided"),
                             ({"models": []}, "subject-mismatch"),
                             ({"models": [{"artifact": OTHER, "name": "acme/other"}]}, "subject-mismatch"),
                             ({"models": [{"artifact": self.artifact}]}, "subject-mismatch")):  # fmt: skip
            self.serve_decision(self.changed(**change))
            self.assertEqual(self.both(NO), code, change)

    def test_several_models(self):
        two = [*self.decision["models"], {"artifact": OTHER, "name": "acme/adapter"}]
        self.serve_decision(self.changed(models=two))
        self.fill("--model", "acme/demo")
        self.assertEqual(self.fill("--decision", ID, code=TROUBLE)["error"]["code"], "usage")

    def test_no_policy_selects_the_workload(self):
        self.serve_decision(None, selected=False)
        got = self.fill("--model", "acme/demo", code=NO)
        self.assertEqual(got["error"]["code"], "condition-undecided")

    def test_answers_that_are_no_decision(self):
        for answer in (None, [], "allow", {}, self.changed(verdict=None), self.changed(dry_run="no"),
                       {k: v for k, v in self.decision.items() if k != "verdict"},
                       {k: v for k, v in self.decision.items() if k != "dry_run"},
                       self.changed(verdict={"allowed": "true"}), self.changed(verdict={})):  # fmt: skip
            self.serve_decision(answer)
            for options in ((), ("--decision", ID)):
                result = self.assay("fill", "model", "volume", "--model", "acme/demo", *options, *self.to,
                                    code=None)  # fmt: skip
                self.assertIn(result.code, (NO, TROUBLE), answer)
                self.assertFalse((self.dir / "volume").exists(), answer)
        for body in ({"selected": "true", "decision": self.decision}, {"decision": self.decision}, []):
            self.answer("POST", "/v1/decisions", Answer(200, body))
            self.fill("--model", "acme/demo", code=TROUBLE)

    def test_decision_of_another_id(self):
        self.answer("GET", f"/v1/decisions/{ID}", Answer(200, self.changed(id=OTHER_ID)))
        self.assertEqual(self.fill("--decision", ID, code=TROUBLE)["error"]["code"], "schema-violation")

    def test_service_says_no_or_nothing(self):
        for status, code in ((401, "unauthenticated"), (403, "forbidden"), (404, "not-found"),
                             (503, "evaluation-deadline")):  # fmt: skip
            for path in ("/v1/decisions", f"/v1/decisions/{ID}"):
                self.answer("POST" if path == "/v1/decisions" else "GET", path,
                            problem(status, code, retryable=False))
            self.assertEqual(self.both(TROUBLE), code)
        self.answer("POST", "/v1/decisions", Answer(cut=True))
        self.assertEqual(self.fill("--model", "acme/demo", "--retries", "0", code=TROUBLE)["error"]["code"],
                         "connection-failed")  # fmt: skip

    def test_manifest_of_another_artifact(self):
        self.write("other/config.json", b"another model")
        self.assay("manifest", "create", "other", "--name", "acme/demo", "--key", "publisher.pem", "--out",
                   "other.json")  # fmt: skip
        self.serve_manifest((self.dir / "other.json").read_bytes())
        self.assertEqual(self.fill("--model", "acme/demo", code=NO)["error"]["code"], "root-mismatch")
        self.serve_manifest(items=[])
        self.assertEqual(self.fill("--model", "acme/demo", code=TROUBLE)["error"]["code"], "not-found")

    def test_path_in_place_of_an_id(self):
        for other in ("../jobs", "x", ID + "/..", ID[:-1], ID.upper().replace("A", "G")):
            self.assertEqual(self.fill("--decision", other, code=TROUBLE)["error"]["code"], "usage")
        self.assertEqual(self.server.requests, [])


if __name__ == "__main__":
    harness.main()
