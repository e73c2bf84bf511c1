# SPDX-License-Identifier: Apache-2.0
"""Verbs about nodes and jobs, and the node agent, against a small server of our own."""
import base64
import datetime
import hashlib
import json
import signal
import subprocess

import harness
import receipts
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from harness import NO, TROUBLE
from reference import dsse
from tls_server import Answer, Server, make_certificate, problem

JOB = "0198f0a2-7c3e-7bbb-8123-456789abcdef"
NODE = "node-1"
LOCATION = "pvc://inference/llm"
NONCE = "9f" * 32


def time_text(seconds):
    moment = datetime.datetime(2027, 1, 1) + datetime.timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds") + "Z"


def challenge(purpose="enrol", node=NODE, job=None):
    bound = {"job": job} if job else {}
    return {"nonce": NONCE, "audience": "test/log", "purpose": purpose, "node": node,
            "expires_at": time_text(60), **bound}  # fmt: skip


def enrolled(seconds=3600):
    return Answer(201, {"node": NODE, "key_id": "sha256:" + "00" * 32,
                        "enrolled_at": time_text(0), "expires_at": time_text(seconds),
                        "worker_measured": False, "tcb_status": None})  # fmt: skip


NOTHING = Answer(204, b"")


class NodeTestCase(harness.TestCase):
    def setUp(self):
        super().setUp()
        make_certificate(self.dir / "server")
        self.server = Server(str(self.dir / "server"))
        self.addCleanup(self.server.close)
        self.to = ("--server", f"https://localhost:{self.server.port}", "--ca", "server.crt")

    def answer(self, what, *answers):
        self.server.answers[what] = list(answers)

    def requests(self, what):
        """(target, body) of the requests of this method and path."""
        return [(target, body) for method, target, _, body in list(self.server.requests)
                if f"{method} {target.split('?')[0]}" == what]


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
        self.answer("GET /v1/nodes/node-1", Answer(200, self.view(
            state="revoked", revoked=revoked, measured=measured)))  # fmt: skip
        out = self.assay("node", "show", NODE, *self.to).out
        for text in ("revoked", "stolen", "anchor is not the vendor's", "a\\x1b[2Jb"):
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
        items = [{"artifact": "assay-tree-v1-sha256:" + digit * 64} for digit in "aab"]
        self.answer("POST /v1/jobs", Answer(201, self.job()))
        self.answer("GET /v1/manifests", Answer(200, {"items": items[:2]}))
        self.assay("job", "new", "acme/llm", "--node", NODE, *self.to)
        self.answer("GET /v1/manifests", Answer(200, {"items": items}))
        self.assertEqual(self.error("job", "new", "acme/llm", "--node", NODE, *self.to),
                         "model-reference-ambiguous")  # fmt: skip
        self.answer("GET /v1/manifests", Answer(200, {"items": []}))
        self.assertEqual(self.error("job", "new", "acme/llm", "--node", NODE, *self.to),
                         "not-found")  # fmt: skip

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


class Agent(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.key("publisher")
        model = self.dir / "models/acme/llm"
        model.mkdir(parents=True)
        (model / "config.json").write_bytes(b"{}")
        (model / "big.bin").write_bytes(b"b" * 2_500_000)
        made = self.assay("manifest", "create", "models/acme/llm", "--name", "acme/llm", "--key",
                          "publisher.pem", "--out", "llm.json", "-o", "json").json()  # fmt: skip
        self.artifact, self.manifest = made["artifact"], made["id"]
        self.answer("POST /v1/challenges", Answer(201, challenge()))
        self.answer("POST /v1/nodes", enrolled())
        self.answer(f"POST /v1/nodes/{NODE}/lease", NOTHING)
        # Of another name; older; of another root that names this one as a further digest.
        def unused(number, **members):
            return {"id": "sha256:" + number * 32, "name": "acme/llm", "artifact": self.artifact, **members}
        self.answer("GET /v1/manifests",
                    Answer(200, {"items": [unused("00", name="acme/other"), unused("11")],
                                 "next_cursor": "more"}),
                    Answer(200, {"items": [
                        {"id": self.manifest, "name": "acme/llm", "artifact": self.artifact},
                        unused("22", artifact="assay-tree-v1-sha384:" + "00" * 48),
                        unused("33", name="acme/other")]}))  # fmt: skip
        self.answer(f"GET /v1/manifests/{self.manifest}", Answer(
            200, (self.dir / "llm.json").read_bytes(), "application/vnd.dsse.envelope.v1+json"))
        self.report = f"POST /v1/jobs/{JOB}/report"

    def lease(self, **members):
        return Answer(200, {
            "protocol": 1, "job": JOB, "artifact": self.artifact, "model_name": "acme/llm",
            "scope": "files", "node": NODE, "location": LOCATION, "subset": [], "token": 7,
            "expires_at": time_text(60), "lease_seconds": 60,
            "challenge": challenge("report", job=JOB), **members})  # fmt: skip

    def command(self, *options):
        return [harness.PROGRAM, "worker", "run", "--node", NODE,
                "--map", f"{LOCATION}={self.dir}/models/acme/llm", "--evidence", "none",
                "--device", "cpu", "-o", "json", *options, *self.to]

    def start(self, *options):
        process = subprocess.Popen(self.command(*options), cwd=self.dir, env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

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

    def once(self, code):
        """Runs one job; the events by name."""
        done = subprocess.run(self.command("--once"), cwd=self.dir, env=self.environment,
                              capture_output=True, text=True, timeout=harness.SLOW)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return {item["event"]: item for item in map(json.loads, done.stdout.splitlines())}

    @staticmethod
    def opened(envelope, public_key=None):
        """Payload of an envelope with one signature, which must verify."""
        document = json.loads(envelope)
        payload = base64.b64decode(document["payload"])
        key = serialization.load_der_public_key(
            public_key or base64.b64decode(json.loads(payload)["public_key"]))
        (signature,) = document["signatures"]
        key.verify(base64.b64decode(signature["sig"]),
                   dsse.pae(document["payloadType"], payload), ec.ECDSA(hashes.SHA256()))
        return json.loads(payload)

    def enrolments(self):
        return [self.opened(body) for _, body in self.requests("POST /v1/nodes")]

    def test_what_it_signs(self):
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Answer(200, {"state": "verified"}))
        events = self.once(0)
        (enrolment,) = self.enrolments()
        self.assertEqual(enrolment["nonce"], NONCE)
        self.assertEqual(enrolment["request"], {"audience": "test/log", "node": NODE,
                                                "platform": "", "purpose": "enrol"})
        self.assertIn("cpu", [device["id"] for device in enrolment["devices"]])
        ((target, body),) = self.requests(self.report)
        self.assertTrue(target.endswith("?lease=7"))
        submission = json.loads(body)
        self.assertIsNone(submission.get("evidence"))
        report = self.opened(base64.b64decode(submission["envelope"]),
                             base64.b64decode(enrolment["public_key"]))
        entries = self.assay("manifest", "show", "llm.json", "-o", "json").json()["objects"]
        expected = {"job": JOB, "node": NODE, "nonce": NONCE, "lease": 7, "scope": "files",
                    "artifact": self.artifact, "entries": entries, "not_covered": [],
                    "extra": [], "extra_count": 0,
                    "bytes": 2_500_002, "check": "full", "location": LOCATION, "volume": ""}
        self.assertEqual({name: report[name] for name in expected}, expected)
        self.assertEqual(report["device"]["id"], "cpu")
        self.assertEqual(events["finished"]["result"], "verified")

    def test_a_location_without_a_directory_ends_the_job(self):
        self.answer(f"POST /v1/jobs/{JOB}:fail", Answer(200, {}))
        for location, code in (("pvc://inference/other", "location-unmapped"),
                               (LOCATION, "pod-volume-missing")):
            pod = {"pod": {"uid": "uid-1", "volume": "pv-1"}} if location == LOCATION else {}
            with self.subTest(code=code):
                self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease(location=location, **pod))
                finished = self.once(NO)["finished"]
                self.assertEqual(finished["result"], "unmapped")
                self.assertEqual(finished["error"]["code"], code)
                target, _ = self.requests(f"POST /v1/jobs/{JOB}:fail")[-1]
                self.assertTrue(target.endswith(f"?lease=7&code={code}"), target)
        self.assertEqual(self.requests(self.report), [])
        self.assertEqual(self.requests("GET /v1/manifests"), [])

    def test_a_pods_own_mount_is_read(self):
        volume = self.dir / "kubelet/pods/uid-1/volumes/kubernetes.io~csi/pv-1"
        volume.mkdir(parents=True)
        (self.dir / "models/acme/llm").rename(volume / "mount")
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease(
            pod={"uid": "uid-1", "volume": "pv-1"}))  # fmt: skip
        self.answer(self.report, Answer(200, {"state": "verified"}))
        command = self.command("--once", "--kubelet-dir", f"{self.dir}/kubelet")
        del command[command.index("--map"):command.index("--map") + 2]
        done = subprocess.run(command, cwd=self.dir, env=self.environment, capture_output=True,
                              text=True, timeout=harness.SLOW)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (enrolment,) = self.enrolments()
        ((_, body),) = self.requests(self.report)
        report = self.opened(base64.b64decode(json.loads(body)["envelope"]),
                             base64.b64decode(enrolment["public_key"]))
        self.assertEqual(report["pod"], {"uid": "uid-1", "volume": "pv-1"})
        self.assertEqual((report["location"], report["volume"]), (LOCATION, "pv-1"))
        self.assertEqual(report["not_covered"], [])

    def test_it_lists_what_no_entry_covers(self):
        self.write("models/acme/llm/modeling_evil.py", "import os")
        self.write("models/acme/llm/.git/HEAD", "x")
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Answer(200, {"state": "mismatch"}))
        events = self.once(1)
        self.assertEqual(events["hashed"]["extra"], 2)
        ((_, body),) = self.requests(self.report)
        key = base64.b64decode(self.enrolments()[0]["public_key"])
        report = self.opened(base64.b64decode(json.loads(body)["envelope"]), key)
        self.assertEqual(report["extra"], [{"path": ".git/HEAD", "size": 1},
                                           {"path": "modeling_evil.py", "size": 9}])  # fmt: skip
        self.assertEqual(report["extra_count"], 2)
        self.assertEqual(report["bytes"], 2_500_002)

    def test_a_manifest_of_an_earlier_form_is_passed_over(self):
        import copy
        statement = self.read_json("llm.json")
        payload = json.loads(base64.b64decode(statement["payload"]))
        payload["predicate"]["ignore"] = ["*.py"]
        old = copy.deepcopy(statement)
        old["payload"] = base64.b64encode(json.dumps(payload).encode()).decode()
        self.answer("GET /v1/manifests", Answer(200, {"items": [
            {"id": self.manifest, "name": "acme/other", "artifact": self.artifact},
            {"id": "old", "name": "acme/llm", "artifact": self.artifact}]}))  # fmt: skip
        self.answer("GET /v1/manifests/old", Answer(200, old))
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Answer(200, {"state": "verified"}))
        self.assertEqual(self.once(0)["finished"]["result"], "verified")

    def test_collateral_is_sent_without_members_of_others(self):
        self.write("seed", b"a seed of these tests")
        self.assay("evidence", "simulate", "--seed", "seed", "--report-data", "5d" * 64,
                   "--out-quote", "q", "--out-collateral", "c.json", "--out-root", "r.pem")  # fmt: skip
        collateral = self.read_json("c.json")
        self.write_json("c.json", {**collateral, "fetched_by": "a tool"})
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Answer(200, {"state": "verified"}))
        command = self.command("--once", "--simulator-seed", "seed", "--collateral", "c.json")
        command[command.index("none")] = "simulate"
        done = subprocess.run(command, cwd=self.dir, env=self.environment, capture_output=True,
                              text=True, timeout=harness.SLOW)
        self.assertEqual(done.returncode, 0, done.stderr)
        (enrolment,) = self.enrolments()
        self.assertEqual(enrolment["evidence"]["collateral"], collateral)

    def test_spot_answers(self):
        spot = {"state": "spot", "span": 1 << 20, "spans": [{"entry": 0, "index": 2},
                                                            {"entry": 1, "index": 0}],
                "challenge": {**challenge("spot", job=JOB), "nonce": "77" * 32}}  # fmt: skip
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Answer(200, spot))
        self.answer(f"POST /v1/jobs/{JOB}/spot", Answer(200, {"state": "verified"}))
        self.once(0)
        ((_, body),) = self.requests(f"POST /v1/jobs/{JOB}/spot")
        root = bytes.fromhex(self.artifact.split(":")[1])

        def mac(entry, index, content):
            import hmac  # the standard library's, as RFC 2104 has it
            message = (b"assay/spot/v1" + root + entry.to_bytes(8, "big")
                       + index.to_bytes(8, "big") + content)
            return hmac.new(bytes.fromhex("77" * 32), message, hashlib.sha256).hexdigest()
        self.assertEqual(json.loads(body), {"nonce": "77" * 32, "answers": [
            mac(0, 2, b"b" * (2_500_000 - (2 << 20))), mac(1, 0, b"{}")]})  # fmt: skip

    def test_a_file_that_is_gone_before_the_spot_check(self):
        model = self.dir / "models/acme/llm/config.json"
        owner = self

        class Flipping(Answer):
            @property
            def body(self):
                model.write_bytes(b"[]")
                return self.content

            @body.setter
            def body(self, value):
                self.content = value
        spot = {"state": "spot", "span": 1 << 20, "spans": [{"entry": 1, "index": 0}],
                "challenge": challenge("spot", job=JOB)}  # fmt: skip
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Flipping(200, spot))
        owner.once(2)
        self.assertEqual(self.requests(f"POST /v1/jobs/{JOB}/spot"), [])

    def test_an_answer_of_the_service_that_says_no(self):
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        for code, status, result in (("report-mismatch", 422, NO), ("lease-lost", 409, TROUBLE),
                                     ("challenge-used", 409, TROUBLE)):
            with self.subTest(code=code):
                self.answer(self.report, problem(status, code))
                finished = self.once(result)["finished"]
                self.assertEqual(finished["error"]["code"], code)
                self.assertEqual(finished["result"], "refused" if result == NO else "lost")

    def test_leases_for_somebody_else_are_not_touched(self):
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease(
            node="node-2", challenge=challenge("report", "node-2", JOB)))  # fmt: skip
        finished = self.once(TROUBLE)["finished"]
        self.assertEqual(finished["error"]["code"], "challenge-mismatch")
        self.assertEqual(self.requests("GET /v1/manifests"), [])

    def test_leases_that_cannot_be_understood_are_told(self):
        other = challenge("report", job="0198f0a2-7c3e-7bbb-8123-000000000000")
        for members in ({"protocol": 2}, {"location": "../up"}, {"location": ""}, {"path": "llm"},
                        {"node": "node-2"}, {"challenge": other},
                        {"challenge": challenge("spot", job=JOB)}):  # fmt: skip
            with self.subTest(members=members):
                self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease(**members))
                self.until(self.start(), "retry", what="lease")
        self.assertEqual(self.requests("GET /v1/manifests"), [])

    def test_the_manifest_must_be_that_of_the_artifact(self):
        self.artifact = "assay-tree-v1-sha256:" + "ab" * 32
        self.answer("GET /v1/manifests", Answer(200, {
            "items": [{"id": self.manifest, "name": "acme/llm", "artifact": self.artifact}]}))
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.assertEqual(self.once(NO)["finished"]["error"]["code"], "root-mismatch")
        self.assertEqual(self.requests(self.report), [])

    def test_renewal_of_the_enrolment(self):
        self.answer("POST /v1/nodes", enrolled(2))
        process = self.start()
        self.until(process, "enrolled")
        self.until(process, "renewed")
        self.until(process, "renewed")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=harness.SLOW), 0)
        keys = {item["public_key"] for item in self.enrolments()}
        self.assertEqual(len(keys), 1)
        self.assertGreaterEqual(len(self.enrolments()), 3)

    def test_renewal_that_fails_goes_on_until_the_enrolment_is_over(self):
        self.answer("POST /v1/nodes", enrolled(2), problem(422, "evidence-rejected", "OutOfDate"))
        process = self.start()
        self.until(process, "enrolled")
        retry = self.until(process, "retry", what="enrol")
        self.assertEqual(retry["error"]["code"], "evidence-rejected")
        self.assertEqual(process.wait(timeout=harness.SLOW), TROUBLE)

    def test_the_lease_is_renewed_while_it_hashes(self):
        big = self.dir / "models/acme/llm/big.bin"
        with open(big, "r+b") as file:
            file.truncate(3 << 30)  # sparse: no disk, but seconds of hashing
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease(lease_seconds=1))
        self.answer(f"POST /v1/jobs/{JOB}:renew", Answer(200, {"expires_at": time_text(60)}),
                    Answer(200, {"expires_at": time_text(60)}), problem(409, "lease-lost"))
        process = self.start("--threads", "1")
        finished = self.until(process, "finished")
        self.assertEqual(finished["result"], "lost")
        self.assertEqual(self.requests(self.report), [])
        self.assertEqual({target for target, _ in self.requests(f"POST /v1/jobs/{JOB}:renew")},
                         {f"/v1/jobs/{JOB}:renew?lease=7"})

    def test_enrolment_waits_for_a_service_that_is_away(self):
        self.answer("POST /v1/challenges", Answer(cut=True), problem(503, "unavailable"),
                    Answer(502, b"<html>", "text/html"), Answer(201, challenge()))
        process = self.start()
        for code in ("connection-failed", "unavailable", "internal"):
            self.assertEqual(self.until(process, "retry")["error"]["code"], code)
        self.until(process, "enrolled")

    def test_usage(self):
        for options in (("--node", "No Name"), ("--map", LOCATION), ("--map", LOCATION + "=models"),
                        ("--map", LOCATION + "=/absent"), ("--map", f"x={self.dir}"),
                        ("--map", f"hostpath:///data={self.dir},volume=pv-1"),
                        ("--kubelet-dir", "relative"),
                        ("--simulator-seed", "llm.json"), ("--metrics-port", "70000"),
                        ("--drain", "100000"), ("--key", "absent.pem"),
                        ("--evidence", "simulate"), ("--evidence", "abacus")):  # fmt: skip
            with self.subTest(options=options):
                name, value = options
                given = {"--node": NODE, "--map": f"{LOCATION}={self.dir}", "--evidence": "none",
                         "--device": "cpu", name: value}  # fmt: skip
                self.assay("worker", "run", *[part for pair in given.items() for part in pair],
                           *self.to, code=TROUBLE)  # fmt: skip
        self.assertEqual(self.server.requests, [])


if __name__ == "__main__":
    harness.main()
