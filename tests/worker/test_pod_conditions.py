# SPDX-License-Identifier: Apache-2.0
"""Conditions of pods: the node agent as a program, against a service and an API server of our own."""
import copy
import json
import subprocess

import harness
from nodes_served import NODE, NOTHING, NodeTestCase, challenge, enrolled
from tls_server import Answer, Server, make_certificate, problem

UID, OTHER_UID = "5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c11", "5f1d0c52-6a3c-4a7e-9d0e-0b8f3a5d2c22"
ID = "0190a1b2-0000-7000-8000-000000000001"
GATE = "assay.dev/verified"
STATUS = "PATCH /api/v1/namespaces/prod/pods/server/status"


def pod(uid=UID, name="server", node=NODE, gate=True, conditions=()):
    gates = {"readinessGates": [{"conditionType": GATE}]} if gate else {}
    return {"metadata": {"uid": uid, "name": name, "namespace": "prod"}, "spec": {"nodeName": node, **gates},
            "status": {"phase": "Running", "conditions": list(conditions)}}


def decision(dry_run, allowed=True, reasons=(), **members):
    return {"selected": True, "envelope": None, "log": None, "ordered_jobs": [], "decision": {
        "id": ID, "point": "serve", "dry_run": dry_run,
        "request": {"cluster": "west", "pod_uid": UID, "node": NODE},
        "verdict": {"allowed": allowed, "reasons": list(reasons), "warnings": []}, **members}}  # fmt: skip


class Decisions:
    """Answers as the service does: the answer knows whether the question was a dry run."""

    how = {}

    def __call__(self, body):
        if isinstance(self.how, Answer):
            return self.how
        return Answer(200, decision(**{"dry_run": json.loads(body)["dry_run"], **self.how}))


class PodConditions(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.answer("POST /v1/challenges", Answer(201, challenge()))
        self.answer("POST /v1/nodes", enrolled())
        self.answer(f"POST /v1/nodes/{NODE}/lease", NOTHING)
        self.decisions = Decisions()
        self.answer("POST /v1/decisions", self.decisions)
        (self.dir / "api").mkdir()
        make_certificate(self.dir / "api/server")
        self.api = Server(str(self.dir / "api/server"))
        self.addCleanup(self.api.close)
        self.write("account-token", "eyJ.api.server\n").chmod(0o600)
        self.write("service-token", "assay_" + "A" * 43 + "\n").chmod(0o600)
        self.pods(pod())
        self.api.answers[STATUS] = Answer(200, {"kind": "Pod"})

    def pods(self, *items):
        self.api.answers["GET /api/v1/pods"] = Answer(200, {"kind": "PodList", "metadata": {}, "items": items})

    def options(self, *more):
        return ("--pod-conditions", "west", "--api-server", f"https://localhost:{self.api.port}",
                "--api-server-ca", "api/server.crt", "--api-server-token", "account-token",
                "--condition-period", "1", *more)  # fmt: skip

    def start(self, *options):
        (self.dir / "models").mkdir(exist_ok=True)
        process = subprocess.Popen(
            [harness.PROGRAM, "worker", "run", "--node", NODE, "--map", f"pvc://prod/x={self.dir}/models",
             "--evidence", "none", "--device", "cpu", "-o", "json", *options, *self.to,
             "--token-file", "service-token"],
            cwd=self.dir, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        return process

    def until(self, process, event, **members):
        for line in process.stdout:
            found = json.loads(line)
            if found["event"] == event and members.items() <= found.items():
                return found
        self.fail(f"no {event}: {process.stderr.read()}")

    def patches(self):
        return [(target, headers, json.loads(body)) for method, target, headers, body in list(self.api.requests)
                if method == "PATCH"]

    def test_allow_and_deny(self):
        process = self.start(*self.options())
        self.until(process, "pod-condition", status="True", pod=UID)
        ((target, headers, body),) = self.patches()
        self.assertEqual(target, "/api/v1/namespaces/prod/pods/server/status")
        self.assertEqual(headers["Content-Type"], "application/strategic-merge-patch+json")
        self.assertEqual(headers["Authorization"], "Bearer eyJ.api.server")
        (condition,) = body["status"].pop("conditions")
        self.assertEqual(body, {"metadata": {"uid": UID}, "status": {}})
        self.assertRegex(condition.pop("lastTransitionTime"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
        self.assertEqual(condition, {"type": GATE, "status": "True", "reason": "Allowed",
                                     "message": f"decision {ID}"})  # fmt: skip
        listed = next(target for method, target, *_ in self.api.requests if method == "GET")
        self.assertIn("fieldSelector=spec.nodeName%3Dnode-1", listed)
        asked = [json.loads(body) for method, target, _, body in self.server.requests
                 if target == "/v1/decisions"][:2]  # fmt: skip
        self.assertEqual(asked, [{"point": "serve", "dry_run": dry_run, "node": NODE,
                                  "pod": {"cluster": "west", "uid": UID}} for dry_run in (True, False)])  # fmt: skip

        self.decisions.how = {"allowed": False, "reasons": ["instance-violated"]}
        self.until(process, "pod-condition", status="False", message=f"decision {ID}: instance-violated")

    def test_each_knows_its_own_credentials_alone(self):
        process = self.start(*self.options())
        self.until(process, "pod-condition")
        self.assertEqual({headers["Authorization"] for *_, headers, _ in self.api.requests},
                         {"Bearer eyJ.api.server"})  # fmt: skip
        self.assertNotIn("Bearer eyJ.api.server",
                         {headers.get("Authorization") for *_, headers, _ in self.server.requests})  # fmt: skip

    def test_renewed_token_is_read(self):
        process = self.start(*self.options())
        self.until(process, "pod-condition")
        self.write("account-token", "eyJ.renewed\n").chmod(0o600)
        self.decisions.how = {"allowed": False}
        self.until(process, "pod-condition", status="False")
        self.assertEqual(self.patches()[-1][1]["Authorization"], "Bearer eyJ.renewed")

    def test_other_pods_are_left_alone(self):
        self.pods(pod(OTHER_UID, "elsewhere", node="node-2"), pod(OTHER_UID, "without", gate=False), pod())
        process = self.start(*self.options())
        self.until(process, "pod-condition", pod=UID)
        self.assertEqual({target for target, *_ in self.patches()},
                         {"/api/v1/namespaces/prod/pods/server/status"})  # fmt: skip

    def test_answers_that_are_no_decision_about_this_pod(self):
        for how in ({"point": "create"}, {"request": {"cluster": "west", "pod_uid": OTHER_UID, "node": NODE}},
                    {"dry_run": False}, {"id": "x"}, {"verdict": {"allowed": "yes"}}):  # fmt: skip
            self.decisions.how = how
            process = self.start(*self.options())
            said = self.until(process, "pod-condition")
            self.assertEqual((said["status"], said["reason"]), ("False", "Undecided"), how)
            self.assertIn("schema-violation", said["message"])
            process.kill()

    def test_role_that_is_missing(self):
        self.decisions.how = problem(403, "forbidden")
        process = self.start(*self.options())
        self.assertEqual(self.until(process, "pod-conditions")["error"]["code"], "forbidden")
        self.assertEqual(self.until(process, "pod-condition")["message"], "no decision: forbidden")

    def test_true_of_somebody_else_goes(self):
        """Whoever may write pods/status can set it; a round later it says what the service says."""
        self.decisions.how = {"allowed": False, "reasons": ["report-missing"]}
        forged = {"type": GATE, "status": "True", "reason": "Allowed", "message": f"decision {ID}"}
        self.pods(pod(conditions=[{"type": "Ready", "status": "True"}, forged]))
        process = self.start(*self.options())
        self.assertEqual(self.until(process, "pod-condition")["status"], "False")

    def test_api_server_that_refuses(self):
        for answer, code in ((Answer(403, {"kind": "Status", "code": 403, "reason": "Forbidden"}), "forbidden"),
                             (Answer(422, {"kind": "Status", "code": 422}), "bad-request"),
                             (Answer(500, {"kind": "Status", "code": 500}), "internal")):  # fmt: skip
            self.api.answers[STATUS] = [copy.copy(answer)]
            process = self.start(*self.options())
            self.assertEqual(self.until(process, "pod-conditions", failing="pod-status")["error"]["code"], code)
            # The pod that was meant is gone: no trouble.
            self.api.answers[STATUS] = Answer(200, {"kind": "Pod"})
            self.until(process, "pod-condition")
            process.kill()

    def test_list_that_is_none(self):
        for body in ({}, {"kind": "PodList", "items": {}}, {"kind": "Status"}, []):
            self.api.answers["GET /api/v1/pods"] = Answer(200, body)
            process = self.start(*self.options())
            self.assertEqual(self.until(process, "pod-conditions", failing="pods")["error"]["code"],
                             "schema-violation")  # fmt: skip
            process.kill()
        self.assertEqual(self.patches(), [])

    def test_another_api_server_is_not_believed(self):
        make_certificate(self.dir / "api/stranger")
        process = self.start(*self.options()[:4], "--api-server-ca", "api/stranger.crt",
                             *self.options()[6:])  # fmt: skip
        self.assertEqual(self.until(process, "pod-conditions", failing="pods")["error"]["code"],
                         "connection-failed")  # fmt: skip
        self.assertEqual(self.api.requests, [])

    def test_wrong_options(self):
        base = ("worker", "run", "--node", NODE, "--map", f"pvc://prod/x={self.dir}", "--evidence", "none")
        good = self.options()
        for options in (good[2:], (*good, "--condition-hold", "86401"), (*good[:-1], "0"), (*good[:-1], "3601"),
                        ("--pod-conditions", "west", "--api-server", "http://localhost"),
                        ("--pod-conditions", "west", "--api-server", "https://localhost/path"),
                        ("--pod-conditions", "west", "--api-server", "https://user@localhost")):  # fmt: skip
            self.assertEqual(self.error(*base, *options, *self.to), "usage", options)
        self.write("account-token", "eyJ.open\n").chmod(0o644)
        self.assertEqual(self.error(*base, *good, *self.to, "--device", "cpu"), "key-unusable")


if __name__ == "__main__":
    harness.main()
