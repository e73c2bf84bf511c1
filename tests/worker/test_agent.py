# SPDX-License-Identifier: Apache-2.0
"""The node agent as a program, against a small server of our own."""
import base64
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

import harness
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from harness import NO, TROUBLE
from nodes_served import JOB, LOCATION, NODE, NONCE, NOTHING, NodeTestCase, challenge, enrolled, time_text
from reference import dsse
from tls_server import Answer, problem


LAYER = os.environ.get("ASSAY_FAULT_LAYER")


class ShippedLimit(unittest.TestCase):
    """The limit of memory of the shipped DaemonSet is enough for 8 GPUs, by what the code may take."""

    MIB = 1 << 20
    AGENT, GPUS = 1200, 8

    def constant(self, path, name):
        """In bytes, or a count."""
        text = (harness.SOURCE / path).read_text()
        value = re.search(rf"\b{name} = (?:std::\w+\{{)?(\d+)\}}?(?: << (\d+))?;", text)
        self.assertTrue(value, f"{path} has no {name}")
        return int(value[1]) << int(value[2] or 0)

    def rows(self):
        """The table of docs/instances.md."""
        page = (harness.SOURCE / "docs/instances.md").read_text().split("## Host memory\n")[1].split("## ")[0]
        return page, {what: int(number) for what, number in re.findall(r"^\| (.+?) \| (\d+) \|$", page, re.M)}

    def test_holds_eight_gpus(self):
        page, rows = self.rows()
        together = rows.pop("together")
        messages = sum(self.constant("worker/reader/wire.h", name) for name in ("kMaxToReader", "kMaxFromReader"))
        staging = (self.constant("gpu_hash/opencl/engine.h", "kBlocks")
                   * self.constant("gpu_hash/opencl/engine.cc", "kMaxBlock"))  # fmt: skip
        self.assertEqual(rows["messages between that process and the node agent, one each way"], messages // self.MIB)
        # The row stands twice: once for the process, once for the node agent.
        self.assertEqual(rows["its staging buffers"], staging // self.MIB)
        self.assertEqual(page.count("| its staging buffers |"), 2)
        self.assertEqual(together, sum(rows.values()) + staging // self.MIB)
        bound = self.AGENT + self.GPUS * together
        self.assertIn(f"{bound:,} MiB", page)
        manifest = (harness.SOURCE / "deploy/kubernetes/node-agent.yaml").read_text()
        self.assertIn(f"At most {self.AGENT} MiB, and {together} MiB for each GPU: {bound} MiB", manifest)
        (limit,) = re.findall(r"limits: \{memory: (\d+)Gi\}", manifest)
        self.assertGreaterEqual(int(limit) * 1024, bound)


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

    def command(self, *options, evidence="none"):
        return [harness.PROGRAM, "worker", "run", "--node", NODE,
                "--map", f"{LOCATION}={self.dir}/models/acme/llm", "--evidence", evidence,
                "--device", "cpu", "-o", "json", *options, *self.to]

    def start(self, *options, evidence="none"):
        process = subprocess.Popen(self.command(*options, evidence=evidence), cwd=self.dir,
                                   env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)

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
        self.assertEqual(sum(report["read_protection"]["files"].values()), 2)
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

    def once_on(self, device, *options, code=0):
        """Runs one job on a device; the events by name, and the report if there is one."""
        self.server.requests.clear()
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease())
        self.answer(self.report, Answer(200, {"state": "verified"}))
        command = self.command("--once", *options)
        command[command.index("--device") + 1] = device
        done = subprocess.run(command, cwd=self.dir, env=self.environment, capture_output=True,
                              text=True, timeout=harness.SLOW)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        reports = [json.loads(base64.b64decode(json.loads(base64.b64decode(
            json.loads(body)["envelope"]))["payload"])) for _, body in self.requests(self.report)]
        return {item["event"]: item for item in map(json.loads, done.stdout.splitlines())}, reports

    @unittest.skipUnless(LAYER, "no layer for the OpenCL loader in this build")
    def test_a_device_that_dies_gives_the_job_back_or_leaves_it_to_the_cpu(self):
        if not pathlib.Path("/etc/OpenCL/vendors/pocl.icd").exists():
            self.skipTest("no PoCL")
        fail = f"POST /v1/jobs/{JOB}:fail"
        self.answer(fail, Answer(200, {}))
        self.environment["OPENCL_LAYERS"] = LAYER
        self.environment["FAULT_LAYER_PLAN"] = "clEnqueueNDRangeKernel:1:CL_OUT_OF_RESOURCES:dies"
        events, reports = self.once_on("opencl:0", code=TROUBLE)
        self.assertEqual(events["finished"]["result"], "failed")
        self.assertEqual(events["finished"]["error"]["code"], "device-failed")
        self.assertIn("signal 6", events["finished"]["error"]["detail"])
        ((target, _),) = self.requests(fail)
        self.assertTrue(target.endswith("?lease=7&code=device-failed"), target)
        self.assertEqual(reports, [])
        events, (report,) = self.once_on("opencl:0", "--fallback", "cpu")
        self.assertEqual((events["device-failed"]["device"], events["device-failed"]["fallback"]),
                         ("opencl:0", "cpu"))  # fmt: skip
        self.assertEqual(report["device"]["id"], "cpu")
        self.assertNotIn("kernel_digest", report)
        self.assertEqual(self.requests(fail), [])

    def test_a_driver_that_dies_at_the_start(self):
        if not pathlib.Path("/etc/OpenCL/vendors/pocl.icd").exists():
            self.skipTest("no PoCL")
        self.environment["POCL_CACHE_DIR"] = ""
        _, reports = self.once_on("opencl:0", code=TROUBLE)
        self.assertEqual(reports, [])
        for device, options in (("auto", []), ("opencl:0", ["--fallback", "cpu"])):
            with self.subTest(device=device):
                _, (report,) = self.once_on(device, *options)
                self.assertEqual(report["device"]["id"], "cpu")

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

    def test_a_repository_of_a_hugging_face_cache(self):
        location = "pvc://inference/hub/models--acme--llm"
        repository = self.dir / "hub/models--acme--llm"
        (repository / "snapshots").mkdir(parents=True)
        (self.dir / "models/acme/llm").rename(repository / "blobs")
        for revision in ("r1", "r2"):
            (repository / "snapshots" / revision).mkdir()
            os.symlink("../../blobs/config.json", repository / "snapshots" / revision / "config.json")
        os.symlink("../../blobs/big.bin", repository / "snapshots/r1/big.bin")
        self.answer(f"POST /v1/nodes/{NODE}/lease", self.lease(location=location))
        self.answer(self.report, Answer(200, {"state": "mismatch"}))
        command = self.command("--once")
        command[command.index("--map") + 1] = f"pvc://inference/hub={self.dir}/hub"
        done = subprocess.run(command, cwd=self.dir, env=self.environment, capture_output=True,
                              text=True, timeout=harness.SLOW)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        ((_, body),) = self.requests(self.report)
        report = self.opened(base64.b64decode(json.loads(body)["envelope"]),
                             base64.b64decode(self.enrolments()[0]["public_key"]))
        self.assertEqual([entry["path"] for entry in report["entries"]], ["big.bin", "config.json"])
        self.assertEqual(report["not_covered"], [])
        self.assertEqual(report["extra"], [{"path": "snapshots/r2/config.json", "size": 2}])

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

    def test_a_token_of_another_verifier_has_256_kib(self):
        for size, event in (((256 << 10) + 1, "retry"), (256 << 10, "enrolled")):
            with self.subTest(size):
                program = self.write("result.sh", "#!/bin/sh\nprintf '{\"ear\":\"'\n"
                                     f"head -c {size} /dev/zero | tr '\\0' x\nprintf '\"}}'\n")  # fmt: skip
                program.chmod(0o700)
                process = self.start("--evidence-command", str(program), evidence="ear")
                events = map(json.loads, process.stdout)
                told = next(one for one in events if one["event"] in ("retry", "enrolled"))
                process.kill()
                self.assertEqual(told["event"], event)
                if event == "retry":
                    self.assertEqual(told["error"]["code"], "evidence-unavailable")
                    self.assertIn("more than 256 KiB", told["error"]["detail"])
                    self.assertEqual(self.enrolments(), [])
        (enrolment,) = self.enrolments()
        document = json.loads(base64.b64decode(enrolment["evidence"]["quote"]))
        self.assertEqual(document["ear"], "x" * (256 << 10))

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
