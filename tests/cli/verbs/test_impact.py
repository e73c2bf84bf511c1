# SPDX-License-Identifier: Apache-2.0
"""assay impact, policy diff --since, policy rollback, tests at activation, audit affected: against a
server that says what the service would."""
import json

import harness
import served
from harness import NO, TROUBLE
from reference import dsse
from test_policy import POLICY, facts
from tls_server import Answer

KEY = "sha256:" + "ab" * 32
DECISIONS, PODS = "/v1/impact/decisions", "/v1/impact/pods"


def page(**members):
    return {"examined": 0, "denied": 0, "allowed": 0, "other_reasons": 0, "undecided": {}, "why": [],
            "why_left_out": 0, "nodes": [], "nodes_left_out": 0, "models": [], "models_left_out": 0,
            "items": [], "left_out": 0, **members}  # fmt: skip


def pod(name):
    return {"cluster": "east", "uid": name, "namespace": "prod", "name": name, "models": [],
            "node": "gpu-1", "point": "bind", "state": "admitted",
            "last_seen": "2026-03-01T00:00:00Z"}  # fmt: skip


CAUSE = {"policy": "prod", "version": 2, "condition": "published", "code": "key-revoked"}


class Impact(served.TestCase):
    def asked(self):
        return [json.loads(body) for _, _, _, body in self.server.requests if body]

    def test_pages_are_summed_up(self):
        change = {**pod("llm-0"), "before": {"verdict": "allow", "reasons": []},
                  "after": {"verdict": "deny", "reasons": ["key-revoked"]}, "why": [CAUSE]}  # fmt: skip
        self.answer("POST", PODS,
                    Answer(200, page(examined=5, denied=1, items=[change], nodes=["gpu-1"], models=["a"],
                               why=[{**CAUSE, "count": 1}], next="east/llm-0")),
                    Answer(200, page(examined=2, denied=2, items=[change, change], nodes=["gpu-1", "gpu-2"],
                               models=["b"], why=[{**CAUSE, "count": 2}], left_out=3)))  # fmt: skip
        got = self.assay("impact", "--revoke-key", KEY, "--limit", "2", *self.to, "-o", "json",
                         code=NO).json()  # fmt: skip
        self.assertEqual((got["examined"], got["denied"], got["left_out"]), (7, 3, 4))
        self.assertEqual((got["nodes"], got["models"]), (["gpu-1", "gpu-2"], ["a", "b"]))
        self.assertEqual(got["why"], [{**CAUSE, "count": 3}])
        self.assertEqual(len(got["items"]), 2)
        first, second = self.asked()
        self.assertEqual(first["hypothesis"], {"revoke_keys": [KEY]})
        self.assertNotIn("after", first)
        self.assertEqual(second["after"], "east/llm-0")

    def test_each_node_is_counted_once_however_many_there_are(self):
        names = [f"gpu-{i:05}" for i in range(1500)]
        def say(**first):
            self.answer("POST", PODS, Answer(200, page(examined=2, denied=1, nodes=names[:1100], models=["a"],
                                                       next="east/llm-0", **first)),
                        Answer(200, page(examined=2, denied=1, nodes=names[1000:], models=["b"])))  # fmt: skip

        say()
        got = self.assay("impact", "--revoke-key", KEY, *self.to, "-o", "json", code=NO).json()
        self.assertEqual((got["nodes"], got["nodes_left_out"]), (names, 0))
        say()
        done = self.assay("impact", "--revoke-key", KEY, *self.to, code=NO)
        self.assertIn("4 pods: 2 would be denied, 0 would be allowed, on 1500 nodes, with 2 models", done.out)
        # What an answer left out is not passed over in silence.
        say(nodes_left_out=7, why_left_out=2)
        got = self.assay("impact", "--revoke-key", KEY, *self.to, "-o", "json", code=NO).json()
        self.assertEqual((got["nodes_left_out"], got["models_left_out"], got["why_left_out"]), (7, 0, 2))
        say(nodes_left_out=7, why_left_out=2)
        done = self.assay("impact", "--revoke-key", KEY, *self.to, code=NO)
        self.assertIn("on at least 1500 nodes, with 2 models", done.out)
        self.assertIn("other causes", done.out)

    def test_decisions_are_about_nodes_or_about_none(self):
        ask = ("impact", "--revoke-key", KEY, "--since", "7d", *self.to)
        self.answer("POST", DECISIONS, Answer(200, page(examined=5, denied=1, models=["a"])))
        self.assertIn("5 decisions: 1 would be denied, 0 would be allowed, with 1 model",
                      self.assay(*ask, code=NO).out)  # fmt: skip
        self.answer("POST", DECISIONS, Answer(200, page(examined=5, denied=1, nodes=["gpu-1"], models=["a"])))
        self.assertIn("0 would be allowed, on 1 node, with 1 model", self.assay(*ask, code=NO).out)

    def test_nothing_changes(self):
        self.answer("POST", PODS, Answer(200, page(examined=5)))
        done = self.assay("impact", "--revoke-node", "gpu-1", "--tcb-status-lost", "OutOfDate", *self.to)
        self.assertIn("5 pods: 0 would be denied", done.out)
        self.answer("POST", PODS, Answer(200, page(examined=5, undecided={"data-loss": 1,
                                                                          "case-unsupported": 3})))
        done = self.assay("impact", "--withdraw-statement", KEY, *self.to, code=NO)
        self.assertIn("1 not judged: data-loss", done.out)
        self.assertIn("3 not judged: case-unsupported, decided by the rules of another version",
                      done.out)

    def test_a_tcb_level_is_an_fmspc_and_a_date(self):
        self.answer("POST", PODS, Answer(200, page(examined=1)))
        self.assay("impact", "--tcb-level-lost", "50806f000000@2024-03-13", "--tcb-level-lost",
                   "00a06d080000@2024-11-13T00:00:00Z", "--reject-advisory", "INTEL-SA-00837", *self.to)  # fmt: skip
        self.assertEqual(self.asked()[-1]["hypothesis"],
                         {"tcb_levels_lost": [{"fmspc": "50806f000000", "date": "2024-03-13T00:00:00Z"},
                                              {"fmspc": "00a06d080000", "date": "2024-11-13T00:00:00Z"}],
                          "reject_advisories": ["INTEL-SA-00837"]})  # fmt: skip
        for bad in ("50806f000000", "50806f000000@", "50806f000000@soon", "@2024-03-13", "50806F000000@2024-03-13"):
            with self.subTest(level=bad):
                self.assertIn(self.error("impact", "--tcb-level-lost", bad, *self.to), ("usage", "schema-violation"))

    def test_that_nothing_is_known_is_said(self):
        self.answer("POST", PODS, Answer(200, page()))
        done = self.assay("impact", "--revoke-key", KEY, *self.to)
        self.assertIn("No pod is known", done.err)
        self.answer("POST", PODS, Answer(200, page(examined=1)))
        self.assertNotIn("is known", self.assay("impact", "--revoke-key", KEY, *self.to).err)

    def test_an_artifact_is_an_id_a_name_or_a_file_with_its_manifest(self):
        self.answer("POST", PODS, Answer(200, page(examined=1)))
        self.write("corpus/text", "some text")
        made = self.assay("manifest", "create", "corpus", "--name", "acme/corpus", "--out", "c.json")
        for given, sent in (("c.json", made.out.strip()), (KEY, KEY)):
            self.assay("impact", "--without-artifact", given, *self.to)
            self.assertEqual(self.asked()[-1]["hypothesis"], {"without_artifacts": [sent]})
        manifest = {"artifact": made.out.strip(), "name": "acme/corpus", "signers": [{"identity": "ann"}]}
        listed = Answer(200, {"items": [manifest]})
        self.answer("GET", "/v1/manifests", listed, Answer(200, {"items": []}), listed)
        self.assay("impact", "--without-artifact", "acme/corpus", *self.to)
        self.assertEqual(self.asked()[-1]["hypothesis"], {"without_artifacts": [made.out.strip()]})
        done = self.assay("impact", "--without-artifact", "acme/crpus", *self.to, code=TROUBLE)
        self.assertIn("did you mean 'acme/corpus'?", done.err)

    def test_policies_and_times(self):
        self.write_json("policy.json", POLICY)
        self.answer("POST", DECISIONS, Answer(200, page(examined=1, allowed=1)))
        self.assay("policy", "diff", "policy.json", "--since", "7d", "--against", "old", *self.to)
        asked = self.asked()[-1]
        self.assertEqual(asked["hypothesis"]["activate"][0]["name"], "prod")
        self.assertEqual(asked["hypothesis"]["deactivate"], ["old"])
        self.assertRegex(asked["since"], r"^20\d\d-.*Z$")
        self.answer("POST", DECISIONS, Answer(200, page()))
        self.assay("impact", "--activate", "policy.json", "--deactivate", "other", "--since",
                   "2026-03-01T00:00:00Z", *self.to)  # fmt: skip
        self.assertEqual(self.asked()[-1]["since"], "2026-03-01T00:00:00Z")

    def test_usage(self):
        self.write_json("policy.json", POLICY)
        for wrong in (("impact",), ("impact", "--revoke-key", KEY, "--since", "soon"),
                      ("policy", "diff", "policy.json"),
                      ("policy", "diff", "policy.json", "policy.json", "--since", "7d"),
                      ("policy", "diff", "policy.json", "policy.json", "--against", "prod"),
                      ("policy", "diff", "policy.json", "--since", "d")):  # fmt: skip
            with self.subTest(wrong=wrong):
                self.assertEqual(self.error(*wrong, *self.to), "usage")
        self.assertEqual(self.error("impact", "--revoke-key", "x", *self.to), "not-found")

    def test_affected(self):
        items = [{**pod("llm-0"), "reasons": ["key-revoked"], "why": [CAUSE]}]
        self.answer("GET", "/v1/pods/affected",
                    Answer(200, {"examined": 3, "undecided": 0, "items": items, "next": "east/llm-0"}),
                    Answer(200, {"examined": 1, "undecided": 0, "items": []}))  # fmt: skip
        got = self.assay("audit", "affected", "--key", KEY, *self.to, "-o", "json", code=NO).json()
        self.assertEqual((got["examined"], [item["uid"] for item in got["items"]]), (4, ["llm-0"]))
        self.assertEqual([target for _, target, _, _ in self.server.requests],
                         [f"/v1/pods/affected?key=sha256:{'ab' * 32}",
                          f"/v1/pods/affected?key=sha256:{'ab' * 32}&after=east/llm-0"])  # fmt: skip
        self.answer("GET", "/v1/pods/affected", Answer(200, {"examined": 3, "undecided": 0, "items": []}))
        self.assay("audit", "affected", *self.to)
        self.answer("GET", "/v1/pods/affected", Answer(200, {"examined": 3, "undecided": 1, "items": []}))
        self.assay("audit", "affected", *self.to, code=NO)


class Activation(served.TestCase):
    CASE = {"name": "good", "facts": facts(0.95), "workload": {"namespace": "prod"},
            "now": "2026-03-01T00:00:00Z", "expect": "allow"}  # fmt: skip

    def setUp(self):
        super().setUp()
        self.key("author")
        self.key("approver")
        self.write_json("prod.json", POLICY)
        self.id = self.assay("sign", "prod.json", "--key", "author.pem", "--out", "prod.signed.json",
                             "-o", "json").json()["id"]  # fmt: skip

    def activate(self, *options, code=0):
        return self.assay("policy", "activate", *options, "--sequence", "3", "--key", "approver.pem",
                          "--out", "approval.json", code=code)  # fmt: skip

    def approved(self):
        return (self.dir / "approval.json").exists()

    def test_tests_beside_the_policy_come_first(self):
        self.write_json("prod.tests.json", {"cases": [self.CASE]})
        for named in ("prod.json", "prod.signed.json"):
            self.assertIn("1 test of prod.tests.json passed", self.activate(named).err)
            _, payload, _ = dsse.parse((self.dir / "approval.json").read_bytes())
            self.assertEqual(json.loads(payload)["policy"], self.id)
            (self.dir / "approval.json").unlink()
        self.write_json("prod.tests.json", {"cases": [{**self.CASE, "expect": "deny"}]})
        refused = self.activate("prod.json", code=NO)
        self.assertIn("does not pass its tests; good: expected deny", refused.err)
        self.assertFalse(self.approved())
        self.assertIn("no tests were run, on request", self.activate("prod.json", "--without-tests").err)
        self.assertTrue(self.approved())

    def test_tests_that_are_named(self):
        self.write_json("other.json", {"cases": [self.CASE]})
        self.activate("prod.json", "--tests", "other.json")
        self.write_json("other.json", {"cases": []})
        self.activate("prod.json", "--tests", "other.json", code=TROUBLE)
        # A policy that is named by its id is the one that the service has.
        self.write_json("other.json", {"cases": [{**self.CASE, "expect": "deny"}]})
        self.answer("GET", f"/v1/policies/{self.id}",
                    Answer(200, (self.dir / "prod.signed.json").read_bytes()))  # fmt: skip
        self.activate(self.id, "--tests", "other.json", *self.to, code=NO)
        # The service keeps no tests: that none are wanted must be said.
        (self.dir / "approval.json").unlink(missing_ok=True)
        self.activate(self.id, code=TROUBLE)
        self.assertFalse(self.approved())
        self.assertIn("no tests were run, on request",
                      self.activate(self.id, "--without-tests", *self.to).err)
        self.assertIn("no tests were run: none lie beside", self.activate("prod.json").err)

    def test_lint_comes_first(self):
        never = {"id": "never", "manifest": {"signers": {"at_least": 2, "identities": ["alice"]}}}
        self.write_json("never.json", {**POLICY, "require": [*POLICY["require"], never]})
        never_id = self.assay("sign", "never.json", "--key", "author.pem", "--out",
                              "never.signed.json", "-o", "json").json()["id"]  # fmt: skip
        self.answer("GET", f"/v1/policies/{never_id}",
                    Answer(200, (self.dir / "never.signed.json").read_bytes()))  # fmt: skip
        place = f"never-passes at /require/{len(POLICY['require'])}: cannot pass: asks for 2"
        for named in (("never.json",), (never_id, *self.to),
                      (never_id, "--document", "never.signed.json")):  # fmt: skip
            with self.subTest(named=named):
                refused = self.activate(*named, "--without-tests", code=NO)
                self.assertIn("policy-invalid", refused.err)
                self.assertIn(place, refused.err)
                self.assertFalse(self.approved())
        # What is named by its id alone must be read, or it is not approved.
        self.activate(never_id, "--without-tests", code=TROUBLE)
        self.activate(never_id, "--without-tests", "--document", "prod.signed.json", code=NO)
        self.assertFalse(self.approved())
        # What was in force comes back; what lint says of it is shown.
        newer = {"id": self.id, "name": "prod", "version": 3}
        rows = [{"id": named, "name": "prod", "version": version, "last_activation": {
            "policy_epoch": epoch, "time": "2026-03-01T00:00:00Z"}}
            for named, version, epoch in ((never_id, 1, 1), (self.id, 3, 2))]  # fmt: skip
        self.answer("GET", f"/v1/policies/{self.id}",
                    Answer(200, (self.dir / "prod.signed.json").read_bytes()))  # fmt: skip
        self.answer("GET", "/v1/policies", Answer(200, {"items": rows}),
                    Answer(200, {"items": [newer]}))  # fmt: skip
        done = self.assay("policy", "rollback", "prod", "--sequence", "3", "--key", "approver.pem",
                          "--out", "approval.json", *self.to, "--yes")  # fmt: skip
        self.assertIn(place, done.err)
        self.assertTrue(self.approved())

    def test_policy_test_finds_them_too(self):
        self.assertEqual(self.error("policy", "test", "prod.json"), "usage")
        self.write_json("prod.tests.json", {"cases": [self.CASE]})
        self.assay("policy", "test", "prod.json")

    def test_rollback(self):
        newer = {**POLICY, "version": 3, "mode": "warn"}
        self.write_json("newer.json", newer)
        newer_id = self.assay("sign", "newer.json", "--key", "author.pem", "--out",
                              "newer.signed.json", "-o", "json").json()["id"]  # fmt: skip
        def in_force(epoch):
            return {"last_activation": {"policy_epoch": epoch, "time": "2026-03-01T00:00:00Z"}}

        # Stored by whoever may sign policies, and never approved.
        self.write_json("squat.json", {**POLICY, "version": 2})
        squatted = self.assay("sign", "squat.json", "--key", "author.pem", "--out",
                              "squat.signed.json", "-o", "json").json()["id"]  # fmt: skip
        rows = [{"id": self.id, "name": "prod", "version": 1, **in_force(1)},
                {"id": newer_id, "name": "prod", "version": 3, **in_force(2)},
                {"id": squatted, "name": "prod", "version": 2}]  # fmt: skip
        for name, identity in (("prod", self.id), ("newer", newer_id), ("squat", squatted)):
            self.answer("GET", f"/v1/policies/{identity}",
                        Answer(200, (self.dir / f"{name}.signed.json").read_bytes()))  # fmt: skip
        def say(active):
            self.answer("GET", "/v1/policies", Answer(200, {"items": rows}),
                        Answer(200, {"items": active}))  # fmt: skip

        base = ("policy", "rollback", "prod", "--sequence", "3", "--key", "approver.pem", "--out",
                "approval.json", *self.to, "--yes")  # fmt: skip
        say(rows[1:2])
        self.assertEqual(self.error(*base[:-1]), "usage")  # nobody can be asked
        say(rows[1:2])
        done = self.assay(*base)
        self.assertIn("from version 3, which is in force, to version 1", done.err)
        self.assertIn('~ mode "warn" -> "enforce"', done.err)
        _, payload, _ = dsse.parse((self.dir / "approval.json").read_bytes())
        self.assertEqual(json.loads(payload), {"action": "activate", "policy": self.id, "sequence": 3})
        for active, more in ((rows[1:2], ("--to", "7")), (rows[:1], ()), ([], ())):
            say(active)
            self.assertEqual(self.error(*base, *more), "not-found")
        say(rows[1:2])
        self.assertEqual(self.error(*base, "--to", "2"), "usage")
        say(rows[1:2])
        self.assertEqual(self.error(*base, "--to", "2", "--never-in-force"), "usage")
        say(rows[1:2])
        done = self.assay(*base, "--to", "2", "--never-in-force", "--without-tests")
        self.assertIn("from version 3, which is in force, to version 2", done.err)


if __name__ == "__main__":
    harness.main()
