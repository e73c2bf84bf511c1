# SPDX-License-Identifier: Apache-2.0
"""assay review, and what sign shows: a change that was planted must be seen before it is signed."""
import copy
import json
import os
import pty
import select
import subprocess

import harness
import receipts
from harness import NO, TROUBLE, YES
from tls_server import Answer, Server, make_certificate

LIFECYCLE = "https://assay.dev/lifecycle/v1"
TOKEN = "assay_" + "A" * 43
POLICY = {
    "name": "prod", "version": 1, "mode": "enforce",
    "match": {"namespaces": ["prod-*"], "resources": ["nvidia.com/gpu"]},
    "require": [
        {"id": "published", "manifest": {"signers": {"at_least": 2}}},
        {"id": "approved", "statement": {
            "predicate_type": LIFECYCLE, "stage": "approve", "signers": {"at_least": 2},
            "max_age_seconds": 86400}},
        {"id": "node", "node": {"tcb_status": ["UpToDate"]}}]}  # fmt: skip
MRTD = "aa" * 48


class Review(harness.TestCase):
    def setUp(self):
        super().setUp()
        self.write_json("old.json", POLICY)

    def changed(self, **members):
        """The next version of the policy with these members."""
        policy = copy.deepcopy(POLICY)
        policy.update(version=2, **members)
        return policy

    def review(self, document, *options, code=YES):
        self.write_json("new.json", document)
        return self.assay("review", "new.json", *options, "-o", "json", code=code).json()

    def change(self, document, path, *options):
        got = self.review(document, *(options or ("--against", "old.json")))
        found = [one for one in got["changes"] if one["path"] == path]
        self.assertEqual(len(found), 1, json.dumps(got["changes"], indent=1))
        return found[0]

    def flagged(self, document, path, *options):
        one = self.change(document, path, *options)
        self.assertIn("flag", one, one)
        return one

    # --- policies

    def test_a_policy_in_words(self):
        out = self.assay("review", "old.json").out
        for text in ('policy "prod" version 1', "a workload that does not pass is denied",
                     'match.namespaces = "prod-*"', '"approved" (statement)',
                     "signers.at_least = 2", "max_age_seconds = 86400",
                     "Not compared with what is in force"):  # fmt: skip
            self.assertIn(text, out)

    def test_planted_changes_of_a_policy_are_seen(self):
        one = self.flagged(self.changed(mode="warn"), "mode")
        self.assertEqual((one["before"], one["after"]), ("enforce", "warn"))
        narrower = {"namespaces": ["prod-*"], "resources": ["nvidia.com/gpu"],
                    "labels": {"judged": "yes"}}  # fmt: skip
        self.flagged(self.changed(match=narrower), "match.labels.judged")
        cases = [
            ("signers", {"id": "published", "manifest": {"signers": {"at_least": 1}}},
             'require["published"].manifest.signers.at_least'),
            ("status", {"id": "node", "node": {"tcb_status": ["UpToDate", "Revoked"]}},
             'require["node"].node.tcb_status[]'),
            ("anchor", {"id": "node", "node": {"tcb_status": ["UpToDate"],
                                               "anchors": ["sha256:" + "ab" * 32]}},
             'require["node"].node.anchors[]'),
            ("worker", {"id": "node", "node": {"tcb_status": ["UpToDate"],
                                               "worker_measured": False}},
             'require["node"].node.worker_measured')]  # fmt: skip
        for what, condition, path in cases:
            with self.subTest(what):
                require = [condition if condition["id"] == one["id"] else one
                           for one in POLICY["require"]]  # fmt: skip
                self.flagged(self.changed(require=require), path)
        self.flagged(self.changed(require=POLICY["require"][:2]), 'require["node"]')
        older = copy.deepcopy(POLICY["require"])
        older[1]["statement"]["max_age_seconds"] = 864000
        self.flagged(self.changed(require=older),
                     'require["approved"].statement.max_age_seconds')  # fmt: skip

    def test_looser_demands_of_devices_and_unknown_values_are_seen(self):
        def with_node(**device):
            return [{"id": "node", "node": {"device": {"mode": ["cc"], "architecture": ["hopper"],
                                                       "measurements": "rim", "min_driver": "570.10",
                                                       "min_vbios": "96.0A", **device}}},
                    {"id": "memory", "report": {"scope": "device-memory", "watched": True, "max_age_seconds": 60,
                                                "max_uncovered_bytes": 10}},
                    {"id": "origin", "lineage": {"deny": {"names": ["a", "b"]}}}]  # fmt: skip

        self.write_json("old.json", self.changed(require=with_node()))
        for member, value, flagged in (("all", False, True), ("measurements", "waived", True),
                                       ("min_driver", "570.9", True), ("min_driver", "571", False),
                                       ("min_vbios", "96.09", True), ("min_vbios", "96.10", False),
                                       ("mode", ["cc", "ppcie"], True), ("vendor", ["nvidia"], False),
                                       ("architecture", ["hopper", "blackwell"], True)):
            with self.subTest(member, value=value):
                got = self.review(self.changed(require=with_node(**{member: value})), "--against", "old.json")
                path = f'require["node"].node.device.{member}'
                one = next(one for one in got["changes"] if one["path"].startswith(path))
                self.assertEqual("flag" in one, flagged, one)
        require = with_node()
        require[1]["report"].update(watched=False, max_uncovered_bytes=11)
        require[2]["lineage"]["deny"]["names"] = ["b"]
        got = self.review(self.changed(require=require), "--against", "old.json")
        self.assertEqual([one["path"] for one in got["changes"] if "flag" not in one and one["path"] != "version"],
                         [])

    def test_namespaces_that_are_left_out_are_seen(self):
        for match, path in (
            ({**POLICY["match"], "exclude_namespaces": ["prod-eu"]}, "match.exclude_namespaces[]"),
            ({"namespaces": ["prod-eu"], "resources": ["nvidia.com/gpu"]}, "match.namespaces[]"),
        ):
            got = self.review(self.changed(match=match), "--against", "old.json")
            flagged = [one["path"] for one in got["changes"] if "flag" in one]
            self.assertIn(path, flagged, got)

    def test_a_stricter_policy_is_not_flagged(self):
        require = copy.deepcopy(POLICY["require"])
        require[0]["manifest"]["signers"]["at_least"] = 3
        require.append({"id": "tree", "parameters": {"hash": ["sha384"]}})
        got = self.review(self.changed(require=require), "--against", "old.json")
        self.assertEqual([one for one in got["changes"] if "flag" in one], [])
        self.assertEqual(got["flags"], [])
        self.assertEqual({one["path"] for one in got["changes"]},
                         {"version", 'require["tree"]',
                          'require["published"].manifest.signers.at_least'})  # fmt: skip

    def test_the_same_in_another_order_is_no_difference(self):
        policy = copy.deepcopy(POLICY)
        policy["require"].reverse()
        self.assertEqual(self.review(policy, "--against", "old.json")["changes"], [])
        self.assertIn("no difference",
                      self.assay("review", "new.json", "--against", "old.json").out)

    # --- trust

    def trust(self):
        self.key("alice")
        described = self.assay(
            "key", "describe", "alice.pem.pub", "--purpose", "publisher", "--identity", "release",
            "--namespace", "acme", "--not-after", "2030-01-01", "--out", "alice.json")  # fmt: skip
        del described
        key = self.read_json("alice.json")
        state = {
            "epochs": {"trust": 4, "revocation": 0, "policy": 2}, "keys": [key],
            "principals": [{"name": "ci", "roles": ["reader"]}],
            "appraisals": [{"evidence_type": "tdx",
                            "policy": {"reference_values": {"mrtd": [MRTD]}}}]}  # fmt: skip
        self.write_json("trust.json", state)
        return key

    def operations(self, *operations, sequence=5):
        return {"sequence": sequence, "operations": list(operations)}

    def test_a_role_that_is_widened_is_seen(self):
        self.trust()
        self.key("bob")
        self.assay("key", "describe", "bob.pem.pub", "--purpose", "publisher", "--identity",
                   "release", "--namespace", "*", "--not-after", "2030-01-01", "--out",
                   "bob.json")  # fmt: skip
        change = self.operations({"add_key": self.read_json("bob.json")})
        one = self.flagged(change, "operations[1].add_key.roles[]", "--against", "trust.json")
        self.assertEqual(one["after"]["namespace"], "*")
        got = self.review(change, "--against", "trust.json")
        self.assertIn('a role of "release" is for every model', got["flags"])

    def test_a_caller_that_may_more_is_seen(self):
        self.trust()
        caller = {"name": "ci", "roles": ["reader", "admission"],
                  "credentials": [{"kind": "token", "sha256": "ab" * 32}]}  # fmt: skip
        change = self.operations({"put_principal": caller})
        one = self.flagged(change, "operations[1].put_principal.roles[]", "--against",
                           "trust.json")  # fmt: skip
        self.assertEqual(one["after"], "admission")
        out = self.assay("review", "new.json", "--against", "trust.json").out
        self.assertIn("speak for pods", out)
        self.assertIn("ab" * 32, out)
        self.assertIn("credentials of \"ci\" are replaced", out)

    def test_a_measurement_that_is_added_is_seen(self):
        self.trust()
        appraisal = {"evidence_type": "tdx",
                     "policy": {"reference_values": {"mrtd": [MRTD, "bb" * 48]}}}  # fmt: skip
        change = self.operations({"put_appraisal": appraisal})
        path = "operations[1].put_appraisal.policy.reference_values.mrtd[]"
        one = self.flagged(change, path, "--against", "trust.json")
        self.assertEqual(one["after"], "bb" * 48)
        appraisal["policy"]["reference_values"]["mrtd"] = []
        self.flagged(change, path, "--against", "trust.json")

    def test_dangerous_members_are_always_said(self):
        appraisal = {"evidence_type": "tdx", "policy": {},
                     "dangerous_allow_missing_reference_values": True}  # fmt: skip
        got = self.review(self.operations({"put_appraisal": appraisal}))
        self.assertIn("operations[1].put_appraisal.dangerous_allow_missing_reference_values is set",
                      got["flags"])
        appraisal["dangerous_allow_missing_reference_values"] = False
        got = self.review(self.operations({"put_appraisal": appraisal}))
        self.assertEqual(got["flags"], [])

    def test_a_change_for_another_epoch_is_said(self):
        self.trust()
        change = self.operations({"remove_principal": {"name": "ci"}}, sequence=9)
        got = self.review(change, "--against", "trust.json")
        self.assertTrue(any("epoch" in flag for flag in got["flags"]), got)

    # --- statements

    def manifest(self, name, *options):
        self.assay("manifest", "create", "model", "--name", "acme/demo", "--out", name, *options)

    def test_a_manifest_in_words_and_its_changes(self):
        self.model()
        self.manifest("m1.json")
        self.write("model/data/extra.py", "print()")
        self.write("model/config.json", "{}")
        self.manifest("m2.json")
        got = self.assay("review", "m2.json", "--against", "m1.json", "-o", "json").json()
        paths = {one["path"] for one in got["changes"]}
        self.assertIn('entries[file "data/extra.py"]', paths)
        self.assertIn('entries[file "config.json"]', paths)
        out = self.assay("review", "m2.json").out
        self.assertIn('manifest of the model "acme/demo"', out)
        self.assertIn("lists ", out)

    def test_a_placement_in_words_and_its_changes(self):
        self.model()
        self.manifest("m.json")
        place = ("manifest", "place", "m.json", "--location")
        self.assay(*place, "pvc://prod/models/demo", "--out", "p1.json")
        self.assay(*place, "pvc://evil/models/demo", "--out", "p2.json")
        out = self.assay("review", "p1.json").out
        self.assertIn('placement of the model "acme/demo"', out)
        self.assertIn('lies at "pvc://prod/models/demo"', out)
        got = self.assay("review", "p2.json", "--against", "p1.json", "-o", "json").json()
        flagged = {one["after"] for one in got["changes"] if "flag" in one}
        self.assertIn("pvc://evil/models/demo", flagged)
        # The same from the artifact's id, and what is no place.
        artifact = self.assay("manifest", "show", "m.json", "-o", "json").json()["artifact"]
        again = self.assay("manifest", "place", artifact, "--name", "acme/demo", "--location",
                           "pvc://prod/models/demo", "--out", "p3.json")  # fmt: skip
        self.assertEqual((self.dir / "p3.json").read_bytes(), (self.dir / "p1.json").read_bytes())
        self.assertTrue(again.out.startswith("sha256:"))
        self.assertEqual(self.error("manifest", "place", artifact, "--location", "pvc://a/b"),
                         "usage")  # fmt: skip
        self.assertEqual(self.error("manifest", "place", "m.json", "--location", "../data"),
                         "schema-violation")  # fmt: skip

    def test_long_lists_are_counted_and_shown_with_all(self):
        for i in range(40):
            self.write(f"model/file-{i:02}", str(i))
        self.manifest("m.json")
        out = self.assay("review", "m.json").out
        self.assertIn("... and 28 more", out)
        self.assertNotIn("file-39", out)
        everything = self.assay("review", "m.json", "--all").out
        self.assertIn("file-39", everything)
        self.assertNotIn("... and", everything)

    def test_what_looks_like_something_else_is_escaped(self):
        policy = copy.deepcopy(POLICY)
        policy["description"] = "fine\u001b[2K\u202e\u0430dmin\nmode = \"enforce\""
        self.write_json("new.json", policy)
        result = self.assay("review", "new.json")
        for raw in ("\u001b", "\u202e", "\u0430"):
            self.assertNotIn(raw, result.out)
        self.assertIn("\\u001b[2K\\u202e\\u0430dmin\\nmode", result.out)

    def test_other_documents(self):
        self.write("note.txt", "hello")
        out = self.assay("review", "note.txt", "--type", "text/plain").out
        self.assertIn("assay does not know what such a document says", out)
        self.assertEqual(self.error("review", "old.json", "--against", "note.txt", code=TROUBLE),
                         "malformed-json")  # fmt: skip
        self.assertEqual(self.error("review", "old.json", "--document", "old.json"), "usage")

    # --- with a service

    def serve(self):
        make_certificate(self.dir / "server")
        server = Server(str(self.dir / "server"))
        self.addCleanup(server.close)
        self.write("token", TOKEN + "\n").chmod(0o600)
        self.to = ("--server", f"https://localhost:{server.port}", "--ca", "server.crt",
                   "--token-file", "token")  # fmt: skip
        return server

    def signed(self, document, name):
        self.write_json("unsigned.json", document)
        self.key("author-" + name)
        self.assay("sign", "unsigned.json", "--key", f"author-{name}.pem", "--out", name)
        envelope = (self.dir / name).read_bytes()
        return receipts.stored(envelope, index=3)["id"], envelope

    def test_an_approval_shows_the_policy_and_its_difference(self):
        server = self.serve()
        old, old_envelope = self.signed(POLICY, "p1.json")
        new, new_envelope = self.signed(self.changed(mode="shadow"), "p2.json")
        dsse = "application/vnd.dsse.envelope.v1+json"
        server.answers = {
            "GET /v1/policies": Answer(200, {"items": [{"id": old, "name": "prod"}]}),
            f"GET /v1/policies/{old}": Answer(200, old_envelope, dsse),
            f"GET /v1/policies/{new}": Answer(200, new_envelope, dsse),
            "GET /v1/trust": Answer(200, {"epochs": {"policy": 6}, "keys": []}),
            f"POST /v1/policies/{new}:activate": Answer(200, {
                "name": "prod", "version": 2, "policy_epoch": 7})}  # fmt: skip
        self.write_json("approval.json", {"action": "activate", "policy": new, "sequence": 7})
        got = self.assay("review", "approval.json", *self.to, "-o", "json").json()
        self.assertIn("puts into force", got["title"])
        self.assertIn({"path": "mode", "before": "enforce", "after": "shadow",
                       "flag": "nothing is denied by it"}, got["changes"])  # fmt: skip
        self.key("approver")
        result = self.assay("policy", "activate", new, "--without-tests", "--key", "approver.pem", *self.to)
        self.assertIn('! mode: "enforce" -> "shadow"', result.err)
        # The service cannot show another policy than the one that is approved.
        server.answers[f"GET /v1/policies/{new}"] = Answer(200, old_envelope, dsse)
        self.assay("review", "approval.json", *self.to, code=TROUBLE)

    # --- sign

    def test_sign_shows_the_review_and_asks_nobody_without_a_terminal(self):
        self.key("k")
        result = self.assay("sign", "old.json", "--key", "k.pem", "--out", "s.json")
        self.assertIn('policy "prod" version 1', result.err)
        self.assertTrue((self.dir / "s.json").exists())
        quiet = self.assay("sign", "old.json", "--key", "k.pem", "--out", "s.json", "-q")
        self.assertEqual(quiet.err, "")
        self.write_json("new.json", self.changed(mode="warn"))
        result = self.assay("sign", "new.json", "--key", "k.pem", "--against", "old.json", "--out",
                            "s.json")  # fmt: skip
        self.assertIn('! mode: "enforce" -> "warn"', result.err)

    def terminal(self, answer, *arguments, code):
        """Runs assay with a terminal as standard input and error, and types `answer`."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [harness.PROGRAM, *arguments], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs,
            cwd=self.dir, env=self.environment, start_new_session=True)  # fmt: skip
        os.close(theirs)
        shown = b""
        try:
            while b"[y/N]" not in shown or answer is None:
                if not select.select([ours], [], [], harness.SLOW)[0]:
                    break
                try:
                    part = os.read(ours, 65536)
                except OSError:
                    break
                if not part:
                    break
                shown += part
            if answer is not None and process.poll() is None:
                os.write(ours, answer.encode() + b"\n")
            process.stdout.read()
            self.assertEqual(process.wait(harness.SLOW), code, shown)
        finally:
            os.close(ours)
            process.stdout.close()
        return shown.decode()

    def test_sign_asks_on_a_terminal(self):
        self.key("k")
        sign = ("sign", "old.json", "--key", "k.pem", "--out", "s.json")
        for answer in ("n", "", "yess"):
            shown = self.terminal(answer, *sign, code=NO)
            self.assertIn('policy "prod" version 1', shown)
            self.assertFalse((self.dir / "s.json").exists(), answer)
        self.terminal("y", *sign, code=YES)
        self.assertTrue((self.dir / "s.json").exists())
        (self.dir / "s.json").unlink()
        shown = self.terminal(None, *sign, "--yes", code=YES)
        self.assertNotIn("[y/N]", shown)
        self.assertTrue((self.dir / "s.json").exists())


if __name__ == "__main__":
    harness.main()
