# SPDX-License-Identifier: Apache-2.0
"""assay policy lint, test and diff: without a service."""
import json

import harness
from harness import NO, TROUBLE
from reference import dsse

ARTIFACT = "assay-tree-v1-sha256:" + "ab" * 32

POLICY = {
    "name": "prod", "version": 1, "mode": "enforce",
    "match": {"namespaces": ["prod"]},
    "require": [
        {"id": "published", "manifest": {"signers": {"at_least": 1}}},
        {"id": "evaluated", "statement": {
            "predicate_type": "https://assay.dev/lifecycle/v1", "stage": "evaluate",
            "signers": {"at_least": 1},
            "where": [{"pointer": "/metrics/accuracy/value", "op": ">=", "value": 0.9}]}},
    ],
}  # fmt: skip


def signer(purpose, roles):
    return {"key": "sha256:" + "11" * 32, "algorithm": "ed25519", "purpose": purpose,
            "identity": "someone@acme", "roles": roles, "not_before": "2026-01-01T00:00:00.000Z",
            "not_after": "2027-01-01T00:00:00.000Z", "signed_at": "2026-02-01T00:00:00.000Z"}  # fmt: skip


def facts(accuracy=None):
    common = {"accepted_at": "2026-02-01T00:00:00.000Z"}
    found = {
        "format": "assay-facts-v1", "artifact": ARTIFACT,
        "manifests": [{**common, "id": "sha256:" + "22" * 32, "log_index": 1, "name": "acme/demo",
                       "locations": [], "objects": "both",
                       "parameters": {"chunk_size": 16384, "hash": "sha256",
                                      "tree": "assay-tree-v1"},
                       "signers": [signer("publisher", [{"stage": "*", "predicate_type": "*",
                                                         "namespace": "acme"}])]}],
        "statements": [],
    }  # fmt: skip
    if accuracy is not None:
        found["statements"].append({
            **common, "id": "sha256:" + "33" * 32, "log_index": 2, "stage": "evaluate", "names": ["acme/demo"],
            "predicate_type": "https://assay.dev/lifecycle/v1",
            "predicate": {"stage": "evaluate", "metrics": {"accuracy": {"value": accuracy, "unit": "1"}}},
            "signers": [signer("signer", [{"stage": "evaluate", "namespace": "acme",
                                           "predicate_type": "https://assay.dev/lifecycle/v1"}])],
        })  # fmt: skip
    return found


class Policy(harness.TestCase):
    AT = ("--at", "2026-03-01T00:00:00Z")

    def setUp(self):
        super().setUp()
        self.write_json("policy.json", POLICY)

    def test_lint(self):
        got = self.assay("policy", "lint", "policy.json", "-o", "json").json()
        self.assertEqual((got["valid"], got["name"], got["version"]), (True, "prod", 1))
        self.assertTrue(all(sorted(item) == ["code", "condition", "level", "text", "where"] for item in got["findings"]))
        text = self.assay("policy", "lint", "policy.json").out
        self.assertTrue(text.endswith("valid: prod version 1\n"), text)

    def test_yaml_is_named_with_the_command(self):
        import yaml

        for name, text in (("p.yaml", yaml.safe_dump(POLICY)), ("p.yml", "# ours\n---\n" + yaml.safe_dump(POLICY)),
                           ("p p.yaml", yaml.safe_dump(POLICY, sort_keys=False))):  # fmt: skip
            self.write(name, text)
            result = self.assay("policy", "lint", name, code=NO)
            out = result.out + result.err
            self.assertIn("this is YAML, and JSON is expected; type: yq -o json ", out)
            stem = "'p p.json'" if " " in name else "p.json"
            self.assertIn(">" + stem, out)
        self.write("facts.yaml", "facts:\n  a: 1\n")
        self.assertIn("this is YAML", self.assay("policy", "test", "policy.json", "--facts", "facts.yaml", code=None).err)
        # What is broken JSON is called no YAML.
        for text in ('{"name": 1,}', "[1,", "name", '"a": 1', ""):
            self.write("p.json", text)
            result = self.assay("policy", "lint", "p.json", code=None)
            self.assertNotIn("YAML", result.out + result.err)

    def test_review_in_yaml_is_named_with_the_command(self):
        self.write("review.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: demo\n")
        result = self.assay("admission", "test", "-f", "review.yaml", "--server", "https://localhost:1", code=TROUBLE)
        self.assertIn("type: yq -o json review.yaml >review.json", result.err)
        self.assertIn("kubectl get", result.err)
        result = self.assay("admission", "test", "-f", "-", "--server", "https://localhost:1", code=TROUBLE,
                            stdin=b"apiVersion: v1\n")  # fmt: skip
        self.assertIn("type: yq -o json (with Debian's yq: yq .)", result.err)

    def test_lint_names_an_index_below_a_not(self):
        asked = {"id": "trained", "statement": {
            "predicate_type": "https://assay.dev/lifecycle/v1", "stage": "train",
            "where": [{"pointer": "/inputs/0/name", "op": "==", "value": "X"}]}}  # fmt: skip
        policy = {**POLICY, "require": POLICY["require"] + [{"id": "clean", "not": asked}]}
        self.write_json("index.json", policy)
        got = self.assay("policy", "lint", "index.json", "-o", "json").json()
        place = f"/require/{len(POLICY['require'])}/not/statement/where/0"
        self.assertIn(("index-below-not", place),
                      [(item["code"], item["where"]) for item in got["findings"]])  # fmt: skip

    def test_lint_refuses(self):
        twice = {**POLICY, "require": [POLICY["require"][0]] * 2}
        for bad in ({**POLICY, "version": 0}, {**POLICY, "mode": "maybe"}, {**POLICY, "more": 1},
                    twice, {}, []):  # fmt: skip
            self.write_json("bad.json", bad)
            with self.subTest(policy=bad):
                self.assertFalse(self.assay("policy", "lint", "bad.json", "-o", "json",
                                            code=NO).json()["valid"])  # fmt: skip
        self.assertEqual(self.error("policy", "lint", "nosuch.json"), "file-unreadable")

    def test_lint_refuses_what_must_pass_and_cannot(self):
        never = {"id": "never", "manifest": {"signers": {"at_least": 2, "identities": ["alice"]}}}
        place = len(POLICY["require"])
        for condition, level in ((never, "error"), ({"id": "one", "any": [never, {
                "id": "published-too", "manifest": {}}]}, "warning")):  # fmt: skip
            self.write_json("never.json", {**POLICY, "require": [*POLICY["require"], condition]})
            got = self.assay("policy", "lint", "never.json", "-o", "json",
                             code=NO if level == "error" else 0).json()  # fmt: skip
            self.assertIn((level, "never-passes"), [
                (item["level"], item["code"]) for item in got["findings"]
                if item["where"].startswith(f"/require/{place}")])  # fmt: skip

    def test_lint_strict(self):
        odd = {**POLICY, "mode": "shadow"}
        self.write_json("odd.json", odd)
        warned = any(item["level"] == "warning" for item in
                     self.assay("policy", "lint", "odd.json", "-o", "json").json()["findings"])
        self.assay("policy", "lint", "odd.json", "--strict", code=NO if warned else 0)

    def test_lint_says_what_no_pod_can_meet(self):
        self.write_json("unbound.json", {**POLICY, "require": POLICY["require"][1:]})
        got = self.assay("policy", "lint", "unbound.json", "-o", "json", code=NO).json()
        self.assertTrue(got["valid"])
        self.assertIn("error", [item["level"] for item in got["findings"]])

    def test_lint_warns_of_selection_by_one_name(self):
        named = {**POLICY, "match": {"resources": ["nvidia.com/gpu"]}}
        self.write_json("named.json", named)
        self.assertIn("selects by resource name", self.assay("policy", "lint", "named.json").out)
        self.write_json("any.json", {**POLICY, "match": {"accelerators": "any"}})
        self.assertNotIn("warning", self.assay("policy", "lint", "any.json").out)

    def test_accelerators_of_the_workload(self):
        self.write_json("any.json", {**POLICY, "match": {"accelerators": "any"}})
        self.write_json("good.json", facts(0.95))
        base = ("policy", "test", "any.json", "--facts", "good.json", *self.AT)
        for way in (("--accelerator", "resource-claims"), ("--resource", "nvidia.com/mig-1g.5gb")):
            with self.subTest(way=way):
                self.assay(*base, *way)
        # Nothing that leads to an accelerator: not selected.
        self.assay(*base, "--resource", "memory", code=NO)
        case = {"name": "claims", "facts": facts(0.95), "expect": "allow",
                "workload": {"accelerators": ["resource-claims"]}}  # fmt: skip
        self.write_json("cases.json", {"cases": [case]})
        self.assay("policy", "test", "any.json", "--facts", "cases.json", *self.AT)
        case["workload"] = {"accelerators": "resource-claims"}
        self.write_json("cases.json", {"cases": [case]})
        self.assay("policy", "test", "any.json", "--facts", "cases.json", *self.AT, code=TROUBLE)

    def test_one_question(self):
        self.write_json("good.json", facts(0.95))
        self.write_json("poor.json", facts(0.5))
        base = ("policy", "test", "policy.json", "--namespace", "prod", *self.AT)
        good = self.assay(*base, "--facts", "good.json", "-o", "json").json()
        self.assertTrue(good["cases"][0]["verdict"]["allowed"], good)
        poor = self.assay(*base, "--facts", "poor.json", code=NO)
        self.assertIn("deny: predicate-mismatch", poor.out)
        self.assertIn("expected", poor.out)
        self.assay(*base, "--facts", "poor.json", "--expect", "deny")
        # A workload that no policy matches is denied by evaluation.
        self.assay("policy", "test", "policy.json", "--namespace", "dev", *self.AT, "--facts",
                   "good.json", code=NO)  # fmt: skip

    def test_cases_change_what_they_share(self):
        shared = {"facts": facts(0.95), "workload": {"namespace": "prod"}, "now": "2026-03-01T00:00:00Z"}
        poor = [{"op": "test", "path": "/facts/statements/0/stage", "value": "evaluate"},
                {"op": "replace", "path": "/facts/statements/0/predicate/metrics/accuracy/value",
                 "value": 0.5}]  # fmt: skip
        cases = [{"name": "good", "expect": "allow"},
                 {"name": "poor", "change": poor, "expect": "deny", "expect_reasons": ["predicate-mismatch"]},
                 {"name": "none", "change": [{"op": "remove", "path": "/facts/statements/0"}],
                  "expect": "deny", "expect_reasons": ["statement-missing"]},
                 {"name": "own", "facts": facts(), "expect": "deny", "expect_reasons": ["statement-missing"]}]  # fmt: skip
        self.write_json("cases.json", {**shared, "cases": cases})
        got = self.assay("policy", "test", "policy.json", "--facts", "cases.json", "-o", "json").json()
        self.assertEqual((len(got["cases"]), got["failed"]), (4, 0))
        # Each case starts from what is shared, not from the case before.
        self.write_json("cases.json", {**shared, "cases": [cases[1], cases[0]]})
        self.assay("policy", "test", "policy.json", "--facts", "cases.json")

    def test_changes_that_do_not_fit(self):
        shared = {"facts": facts(0.95), "workload": {"namespace": "prod"}, "now": "2026-03-01T00:00:00Z"}
        remove = {"op": "remove", "path": "/facts/statements/0"}
        for change, place in (
                ([remove, remove], "/cases/1/change/1"),  # nothing is left to remove
                ([{"op": "test", "path": "/facts/name", "value": "other"}], "/cases/1/change/0"),
                ([{"op": "copy", "from": "/facts", "path": "/facts/more"}], "/cases/1/change/0"),
                ([{"op": "remove", "path": "facts"}], "/cases/1/change/0"),
                (["remove"], "/cases/1/change/0"), (remove, "/cases/1/change"),
                ([{"op": "add", "path": "/facts/name", "value": "x"}] * 65, "/cases/1/change"),
                ([{"op": "add", "path": "/now/x", "value": 1}], "/cases/1/change/0"),  # below a text
                ([{"op": "remove", "path": "/now/x"}], "/cases/1/change/0"),
                ([{"op": "replace", "path": "", "value": None}], "/cases/1/change"),  # nothing is left
                ([{"op": "add", "path": "/facts/more", "value": 1}], "/cases/1/more"),
                ([{"op": "add", "path": "/more", "value": "x"}], "/cases/1/more")):  # fmt: skip
            self.write_json("cases.json", {**shared, "cases": [{}, {"change": change}]})
            with self.subTest(change=change):
                got = self.assay("policy", "test", "policy.json", "--facts", "cases.json", "-o",
                                 "json", code=TROUBLE)  # fmt: skip
                error = json.loads(got.err.strip().splitlines()[-1])["error"]
                self.assertEqual(error["code"] in ("schema-violation", "unknown-member"), True, error)
                self.assertTrue(error["where"].startswith("/cases/1"), error)
                self.assertEqual(error["where"].replace("/facts", ""), place)
        self.write_json("cases.json", {**shared, "more": 1, "cases": [{}]})
        self.assertEqual(self.error("policy", "test", "policy.json", "--facts", "cases.json"),
                         "schema-violation")
        self.write_json("cases.json", {**shared, "cases": [7]})
        self.assertEqual(self.error("policy", "test", "policy.json", "--facts", "cases.json"),
                         "schema-violation")

    def test_cases(self):
        workload = {"namespace": "prod", "labels": {"a": "b"}, "resources": []}
        now = "2026-03-01T00:00:00Z"
        cases = [
            {"name": "good", "facts": facts(0.95), "workload": workload, "now": now, "expect": "allow"},
            {"name": "poor", "facts": facts(0.5), "workload": workload, "now": now, "expect": "deny",
             "expect_reasons": ["predicate-mismatch"]},
            {"name": "none", "facts": facts(), "workload": workload, "now": now, "expect": "deny",
             "expect_reasons": ["statement-missing"]},
        ]  # fmt: skip
        self.write_json("cases.json", {"cases": cases})
        got = self.assay("policy", "test", "policy.json", "--facts", "cases.json", "-o", "json").json()
        self.assertEqual(got["failed"], 0)
        self.assertEqual([case["as_expected"] for case in got["cases"]], [True] * 3)
        cases[2]["expect_reasons"] = ["predicate-mismatch"]
        self.write_json("cases.json", {"cases": cases})
        text = self.assay("policy", "test", "policy.json", "--facts", "cases.json", code=NO).out
        self.assertIn("wrong none", text)
        for nothing in ({"cases": []}, []):
            self.write_json("none.json", nothing)
            self.assertEqual(self.error("policy", "test", "policy.json", "--facts", "none.json"),
                             "usage")  # fmt: skip
        for bad in ({"cases": [{"expect": "perhaps"}]}, {"cases": [{"typo": "x"}]}, {"facts": 7},
                    {"format": "other"}):  # fmt: skip
            self.write_json("bad.json", bad)
            self.assay("policy", "test", "policy.json", "--facts", "bad.json", code=TROUBLE)

    def test_a_deny_counts_only_where_the_policy_selects(self):
        # Denied whatever the policy says, because of a typing error in "match".
        mistyped = {**POLICY, "match": {"namespaces": ["prdo"]}}
        self.write_json("mistyped.json", mistyped)
        self.write_json("shadow.json", {**POLICY, "mode": "shadow"})
        case = {"name": "poor", "facts": facts(0.5), "workload": {"namespace": "prod"},
                "now": "2026-03-01T00:00:00Z", "expect": "deny"}  # fmt: skip
        self.write_json("cases.json", {"cases": [case]})
        self.write_json("poor.json", facts(0.5))
        for policy in ("mistyped.json", "shadow.json"):
            with self.subTest(policy=policy):
                base = ("policy", "test", policy, "--facts", "cases.json")
                got = self.assay(*base, "-o", "json", code=NO).json()
                self.assertEqual((got["failed"], got["cases"][0]["as_expected"],
                                  got["cases"][0]["selected"]), (1, False, False))  # fmt: skip
                self.assertIn("no-matching-policy", got["cases"][0]["problem"])
                self.assertIn("does not select this workload", self.assay(*base, code=NO).out)
                self.assay("policy", "test", policy, "--facts", "poor.json", "--namespace", "prod",
                           *self.AT, "--expect", "deny", code=NO)  # fmt: skip
        # That a workload is left alone can be expected, too.
        case["expect_reasons"] = ["no-matching-policy"]
        self.write_json("cases.json", {"cases": [case]})
        base = ("policy", "test", "mistyped.json", "--facts", "cases.json")
        good = self.assay(*base, "-o", "json").json()["cases"][0]
        self.assertTrue(good["as_expected"])
        self.assertNotIn("problem", good)
        self.assertIn("ok    poor", self.assay(*base).out)

    def test_diff(self):
        after = {**POLICY, "version": 2, "mode": "warn", "require": [
            {"id": "tree", "parameters": {"hash": ["sha256"]}},
            {**POLICY["require"][0], "manifest": {"signers": {"at_least": 2}}}]}  # fmt: skip
        self.write_json("after.json", after)
        got = self.assay("policy", "diff", "policy.json", "after.json", "-o", "json").json()
        self.assertEqual([change["path"] for change in got["changes"]],
                         ["mode", "version", "require[published].manifest.signers.at_least",
                          "require[evaluated]", "require[tree]"])  # fmt: skip
        text = self.assay("policy", "diff", "policy.json", "after.json").out.splitlines()
        self.assertEqual([line[0] for line in text], ["~", "~", "~", "-", "+"])
        same = self.assay("policy", "diff", "policy.json", "policy.json", "-o", "json").json()
        self.assertEqual(same, {"changes": []})

    def test_sign_a_policy_and_an_approval(self):
        self.key("author")
        envelope = self.assay("sign", "policy.json", "--key", "author.pem", "--out", "signed.json",
                              "-o", "json").json()  # fmt: skip
        self.assertEqual(envelope["kind"], "policy")
        self.assay("policy", "lint", "signed.json")
        self.assay("policy", "activate", envelope["id"], "--document", "signed.json",
                   "--without-tests", "--sequence", "3", "--out", "approval.json")  # fmt: skip
        self.assertEqual(self.read_json("approval.json"),
                         {"action": "activate", "policy": envelope["id"], "sequence": 3})  # fmt: skip
        self.assay("policy", "deactivate", envelope["id"], "--sequence", "4", "--key", "author.pem",
                   "--out", "approval.signed.json")  # fmt: skip
        kind, payload, _ = dsse.parse((self.dir / "approval.signed.json").read_bytes())
        self.assertEqual(kind, "application/vnd.assay.policy-approval+json")
        self.assertIn(b'"deactivate"', payload)
        self.assertEqual(self.error("policy", "activate", "signed.json", "--without-tests", "--sequence", "3"), "usage")


if __name__ == "__main__":
    harness.main()
