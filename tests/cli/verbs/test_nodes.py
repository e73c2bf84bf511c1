# SPDX-License-Identifier: Apache-2.0
"""Verbs about nodes and jobs, and lists, against a small server of our own."""
import json

import harness
import receipts
from harness import NO, TROUBLE
from nodes_served import JOB, LOCATION, NODE, NodeTestCase, enrolled, time_text
from tls_server import Answer


class Verbs(NodeTestCase):
    def view(self, **members):
        return {"node": NODE, "state": "enrolled", "principal": "worker-1",
                "key_id": "sha256:" + "ab" * 32, "platform": "aa", "enrolled_at": time_text(0),
                "expires_at": time_text(9), "revoked": None, "worker_measured": False,
                "measured": None, "devices": [{"id": "cpu", "name": "a\x1b[2Jb", "driver": "1"}],
                **members}  # fmt: skip

    def job(self, **members):
        return {"id": JOB, "state": "queued", "artifact": "assay-tree-v1-sha256:" + "ab" * 32,
                "model_name": "acme/llm", "scope": "files", "node": NODE, "location": LOCATION,
                "pod": None, "volume": "", "result": None, "detail": {}, "worker_measured": False, "attempt": 0,
                **members}  # fmt: skip

    def test_nodes(self):
        measured = {"evidence_type": "tdx", "tcb_status": "UpToDate", "anchor": "sha256:00",
                    "anchor_is_vendor": True}  # fmt: skip
        pages = [{"items": [self.view(node="a")], "next": "a"},
                 {"items": [self.view(node="b", measured=measured, worker_measured=True)]}]
        self.answer("GET /v1/nodes", *(Answer(200, page) for page in pages))
        out = self.assay("node", "list", "--all", *self.to).out
        self.assertRegex(out, r"a +enrolled +none ")
        self.assertRegex(out, r"b +enrolled +tdx UpToDate  ")
        self.assertEqual([target for target, _ in self.requests("GET /v1/nodes")],
                         ["/v1/nodes?limit=1000", "/v1/nodes?limit=1000&after=a"])  # fmt: skip
        measured["anchor_is_vendor"] = False
        revoked = {"at": time_text(5), "reason": "stolen"}
        def instance(name, check, share):
            return {"pod": "", "instance": name, "state": "verified", "findings": [],
                    "watch": {"check": check, "period_ms": 500, "share_percent": share}}  # fmt: skip
        self.answer("GET /v1/nodes/node-1", Answer(200, self.view(
            state="revoked", revoked=revoked, measured=measured,
            instances=[instance("a", "tags", 100), instance("b", "random", 25)])))  # fmt: skip
        out = self.assay("node", "show", NODE, *self.to).out
        for text in ("revoked", "stolen", "anchor is not the vendor's", "a\\x1b[2Jb",
                     "a: verified, tags of all bytes in 500 ms", "b: verified, random of 25 percent in 500 ms"):
            self.assertIn(text, out)
        self.assertEqual(self.error("node", "show", "No Name", *self.to), "invalid-parameter")

    def test_a_new_job(self):
        self.answer("POST /v1/jobs", Answer(201, self.job()))
        artifact = "assay-tree-v1-sha256:" + "ab" * 32
        out = self.assay("job", "new", artifact, "--node", NODE, "--location", LOCATION, "--entries",
                         "0,2", *self.to).out  # fmt: skip
        self.assertEqual(out, JOB + "\n")
        self.assertEqual(json.loads(self.requests("POST /v1/jobs")[0][1]), {
            "artifact": artifact, "scope": "files", "node": NODE, "location": LOCATION,
            "subset": [0, 2]})  # fmt: skip
        for bad in (("--entries", "2,1"), ("--entries", "1,"), ("--entries", "x"),
                    ("--location", "../up"), ("--pod", "uid-1"), ("--volume", "pv-1"), ("--wait-limit", "999999999")):  # fmt: skip
            with self.subTest(bad=bad):
                options = bad if bad != ("--entries", "1,") else ("--entries", "1,,2")
                self.assay("job", "new", artifact, "--node", NODE, *options, *self.to,
                           code=TROUBLE)  # fmt: skip
        self.assertEqual(len(self.requests("POST /v1/jobs")), 1)

    def test_a_name_stands_for_one_artifact(self):
        items = [{"artifact": "assay-tree-v1-sha256:" + digit * 64, "signers": [{"identity": "pub"}]}
                 for digit in "aab"]
        self.answer("POST /v1/jobs", Answer(201, self.job()))
        self.answer("GET /v1/manifests", Answer(200, {"items": items[:2]}))
        self.assay("job", "new", "acme/llm", "--node", NODE, *self.to)
        self.answer("GET /v1/manifests", Answer(200, {"items": items}))
        self.assertEqual(self.error("job", "new", "acme/llm", "--node", NODE, *self.to),
                         "model-reference-ambiguous")  # fmt: skip
        self.answer("GET /v1/manifests", Answer(200, {"items": []}))
        self.assertEqual(self.error("job", "new", "acme/llm", "--node", NODE, *self.to),
                         "not-found")  # fmt: skip

    def test_a_manifest_that_counts_no_more_takes_no_name(self):
        good, other = ({"artifact": "assay-tree-v1-sha256:" + digit * 64, "signers": [{"identity": "pub"}]}
                       for digit in "ab")
        self.answer("POST /v1/jobs", Answer(201, self.job()))
        job = ("job", "new", "acme/llm", "--node", NODE, *self.to)
        both = [{"identity": "pub"}, {"identity": "eve"}]
        for name, change in {"by operators": {"withdrawn": {"by": ["olga"], "by_operators": True}},
                             "by its signer": {"withdrawn": {"by": ["pub"], "by_operators": False}},
                             "by both": {"withdrawn": {"by": ["eve", "pub"], "by_operators": False}, "signers": both},
                             "revoked": {"signers": [{"identity": "pub", "revoked_at": time_text(1)}]},
                             "nobody": {"signers": []}}.items():
            with self.subTest(name):
                self.answer("GET /v1/manifests", Answer(200, {"items": [good, {**other, **change}]}))
                self.assay(*job)
                self.assertEqual(json.loads(self.requests("POST /v1/jobs")[-1][1])["artifact"], good["artifact"])
                self.answer("GET /v1/manifests", Answer(200, {"items": [{**other, **change}]}))
                self.assertEqual(self.error(*job), "not-found")
        for name, change in {"one of two": {"withdrawn": {"by": ["eve"], "by_operators": False}, "signers": both},
                             "one key of two": {"signers": [{"identity": "pub", "revoked_at": time_text(1)}, both[1]]}}.items():
            with self.subTest(name):
                self.answer("GET /v1/manifests", Answer(200, {"items": [good, {**other, **change}]}))
                self.assertEqual(self.error(*job), "model-reference-ambiguous")

    def test_devices_whose_evidence_ended(self):
        device = {"uuid": "GPU-1", "error": None, "current": True, "ended": False, "valid_until": time_text(5),
                  "state": {"architecture": "hopper", "kind": "gpu", "mode": "cc"}}  # fmt: skip
        for ended, text in ((False, "GPU-1: hopper gpu, mode cc"), (True, "GPU-1: ended, at " + time_text(5))):
            self.answer("GET /v1/nodes/node-1", Answer(200, self.view(device_evidence=[{**device, "ended": ended}])))
            self.assertIn(text, self.assay("node", "show", NODE, *self.to).out)

    def test_events_of_a_model_by_its_name(self):
        artifact = "assay-tree-v1-sha256:" + "ab" * 32
        event = {"index": 3, "type": "manifest.accepted", "subject": [artifact]}
        self.answer("GET /v1/manifests", Answer(200, {"items": [{"artifact": artifact, "signers": [{"identity": "p"}]}]}))
        self.answer("GET /v1/audit/events", Answer(200, {"items": [event]}))
        for verb in ("events", "export"):
            self.assay("audit", verb, "--subject", "acme/llm", *self.to)
            self.assertIn("subject=" + artifact, self.requests("GET /v1/audit/events")[-1][0])
        self.answer("GET /v1/manifests", Answer(200, {"items": []}))
        self.assay("audit", "events", "--subject", "tdx/root-crl", *self.to)
        self.assertIn("subject=tdx/root-crl", self.requests("GET /v1/audit/events")[-1][0])
        self.answer("GET /v1/audit/events", Answer(200, {"items": []}))
        self.assertEqual(self.error("audit", "events", "--subject", "acme/none", *self.to), "not-found")
        self.assay("audit", "events", "--subject", "node:acme/none", *self.to)

    def test_waiting_for_a_result(self):
        done = {"state": "done", "finished_at": time_text(9)}
        difference = {"kind": "changed", "path": "a.safetensors", "tensor": "t\x1b",
                      "ranges": [[0, 1048576], [2097152, 2097160]]}  # fmt: skip
        self.answer(f"GET /v1/jobs/{JOB}", Answer(200, self.job()), Answer(200, self.job()),
                    Answer(200, self.job(result="mismatch", detail={"differences": [difference]},
                                         **done)))  # fmt: skip
        out = self.assay("job", "show", JOB, "--wait", *self.to, code=NO).out
        self.assertIn("changed a.safetensors#t\\x1b [0, 1048576) [2097152, 2097160)", out)
        self.assertIn("an unmeasured worker", out)
        self.assay("job", "show", JOB, *self.to)  # a look is no question
        self.answer(f"GET /v1/jobs/{JOB}", Answer(200, self.job(result="verified", **done)))
        self.assay("job", "show", JOB, "--wait", *self.to)
        self.answer(f"GET /v1/jobs/{JOB}", Answer(200, self.job()))
        self.assertEqual(self.error("job", "show", JOB, "--wait", "--wait-limit", "0", *self.to),
                         "request-timeout")  # fmt: skip

    def test_job_list(self):
        self.answer("GET /v1/jobs", Answer(200, {"items": [self.job()]}))
        out = self.assay("job", "list", "--node", NODE, "--state", "open", *self.to).out
        self.assertIn("acme/llm", out)
        self.assertEqual(self.requests("GET /v1/jobs")[0][0],
                         "/v1/jobs?node=node-1&state=open&limit=100")  # fmt: skip
        self.assay("job", "list", "--state", "odd", *self.to, code=TROUBLE)

    def test_lists_say_what_they_leave_out(self):
        for verb, path, more in (("node list", "/v1/nodes", "next"), ("job list", "/v1/jobs", "next"),
                                 ("audit events", "/v1/audit/events", "next_cursor"),
                                 ("search --kind manifest", "/v1/manifests", "next_cursor"),
                                 ("decision list", "/v1/decisions", "next_cursor")):
            with self.subTest(verb=verb):
                one = {"items": [{"id": "x"}], "tree_size": 9, "root": "aa", more: "x"}
                self.answer(f"GET {path}", Answer(200, one))
                cut = self.assay(*verb.split(), "--limit", "1", *self.to)
                self.assertIn("there are more: see --limit and --all", cut.err)
                cut = self.assay(*verb.split(), "--limit", "1", *self.to, "-o", "json").json()
                self.assertEqual((len(cut["items"]), cut["more"], cut["tree_size"], cut["root"]),
                                 (1, True, 9, "aa"))  # fmt: skip
                whole = {"items": [{"id": "y"}], "tree_size": 9, "root": "aa"}
                self.answer(f"GET {path}", Answer(200, one), Answer(200, whole))
                whole = self.assay(*verb.split(), "--all", *self.to, "-o", "json").json()
                self.assertEqual((len(whole["items"]), whole["more"]), (2, False))
                self.answer(f"GET {path}", Answer(200, {"items": [], "tree_size": 9, "root": "aa"}))
                none = self.assay(*verb.split(), *self.to)
                self.assertEqual(none.out, "")
                self.assertTrue(none.err.startswith("0 "), none.err)

    def test_outlines_are_pushed_with_their_manifest(self):
        self.key("publisher")
        self.model()
        self.assay("manifest", "create", "model", "--name", "acme/llm", "--key", "publisher.pem",
                   "--out", "llm.json", "--outline", "llm.outline")  # fmt: skip
        artifact = self.assay("manifest", "show", "llm.json", "-o", "json").json()["artifact"]
        self.answer("POST /v1/manifests", Answer(
            201, receipts.stored((self.dir / "llm.json").read_bytes(), index=1)))  # fmt: skip
        put = f"PUT /v1/models/{artifact}/outline"
        self.answer(put, Answer(201, {"artifact": artifact, "log": {"index": 2}}))
        got = self.assay("push", "llm.json", "--outline", "llm.outline", *self.to, "-o", "json")
        self.assertEqual(got.json()["outline"]["log"]["index"], 2)
        self.assertEqual(self.requests(put)[0][1], (self.dir / "llm.outline").read_bytes())
        blob = bytearray((self.dir / "llm.outline").read_bytes())
        blob[-1] ^= 1
        self.write("bad.outline", bytes(blob))
        self.assertEqual(self.error("push", "llm.json", "--outline", "bad.outline", *self.to),
                         "malformed-outline")  # fmt: skip
        self.assertEqual(self.error("push", "llm.json", "llm.json", "--outline", "llm.outline",
                                    *self.to), "usage")  # fmt: skip
        self.assertEqual(len(self.requests("POST /v1/manifests")), 1)

    def test_trust_operations(self):
        appraisal = {"evidence_type": "tdx", "policy": {"reference_values": {"mrtd": ["00" * 48]}}}
        self.write_json("appraisal.json", appraisal)
        registration = {"id": "one", "node": NODE, "principal": "worker-1"}
        self.write_json("registration.json", registration)
        self.assay("trust", "change", "--appraisal", "appraisal.json", "--revoke-node", NODE,
                   "--register", "registration.json", "--unregister", "old", "--reason", "stolen",
                   "--sequence", "3", "--out", "change.json")  # fmt: skip
        operations = {}
        for item in self.read_json("change.json")["operations"]:
            operations.update(item)
        self.assertEqual(operations["revoke_node"], {"node": NODE, "reason": "stolen"})
        self.assertEqual(operations["put_appraisal"]["policy"], appraisal["policy"])
        self.assertEqual(operations["put_registration"], {**registration, "nodes_per_platform": 1})
        self.assertEqual(operations["remove_registration"], {"id": "old"})
        self.write_json("registration.json", {**registration, "node": "node-*"})
        self.error("trust", "change", "--register", "registration.json", "--sequence", "3")
        self.assertEqual(self.error("trust", "change", "--revoke-node", NODE, "--sequence", "3"),
                         "usage")  # fmt: skip
        self.write_json("appraisal.json", {**appraisal, "more": 1})
        self.error("trust", "change", "--appraisal", "appraisal.json", "--sequence", "3")


if __name__ == "__main__":
    harness.main()
