# SPDX-License-Identifier: Apache-2.0
"""`assay worker run` and a process that registered its weights: jobs about memory, the watch over
what was verified, heartbeats."""
import base64
import hashlib
import json
import os
import pathlib
import resource
import select
import signal
import struct
import subprocess
import sys
import time
import unittest

import harness
from nodes_served import JOB, NODE, NOTHING, NodeTestCase, challenge, enrolled, time_text
from tls_server import Answer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from instance_owner import F_SEAL_GROW, F_SEAL_SHRINK, MemoryFile, Owner  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/src"))
import assay  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

TENSORS = {"embed": b"e" * 70_000, "norm": bytes(range(256)) * 4, "out": b"o" * 50_001}
HEARTBEAT = f"POST /v1/nodes/{NODE}/heartbeat"
REPORT = f"POST /v1/jobs/{JOB}/report"
INSTANCE = {"pod": "", "instance": "main"}


def safetensors(tensors):
    return typed_safetensors({name: ("U8", [len(content)], content) for name, content in tensors.items()})


def typed_safetensors(tensors):
    header, at = {}, 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(content for _, _, content in tensors.values())


def payload(envelope):
    return json.loads(base64.b64decode(json.loads(envelope)["payload"]))


def child_of(pid):
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(path.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                return int(path.parent.name)
        except (FileNotFoundError, ProcessLookupError):
            pass
    raise AssertionError(f"{pid} has no child")


class Memory(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.key("publisher")
        model = self.dir / "llm"
        model.mkdir()
        (model / "model.safetensors").write_bytes(safetensors(TENSORS))
        made = self.assay("manifest", "create", "llm", "--name", "acme/llm", "--key",
                          "publisher.pem", "--out", "llm.json", "-o", "json").json()  # fmt: skip
        self.artifact, manifest = made["artifact"], made["id"]
        self.answer("POST /v1/challenges", Answer(201, challenge()))
        self.answer("POST /v1/nodes", enrolled())
        self.answer("GET /v1/manifests", Answer(200, {"items": [
            {"id": manifest, "name": "acme/llm", "artifact": self.artifact}]}))  # fmt: skip
        self.answer(f"GET /v1/manifests/{manifest}", Answer(
            200, (self.dir / "llm.json").read_bytes(), "application/vnd.dsse.envelope.v1+json"))
        self.answer(f"POST /v1/nodes/{NODE}/lease", NOTHING)
        self.answer(HEARTBEAT, Answer(200, {"counts": True, "session": "07" * 32, "sequence": 1}))
        self.path = self.dir / "register.sock"
        self.tensors = [entry for entry in self.objects() if "name" in entry]

    def objects(self):
        return self.assay("manifest", "show", "llm.json", "-o", "json").json()["objects"]

    def start(self, *options, device="cpu"):
        process = subprocess.Popen(
            [harness.PROGRAM, "worker", "run", "--node", NODE, "--evidence", "none", "--device",
             device, "-o", "json", "--register-socket", str(self.path), "--register-uid",
             str(os.getuid()), *options, *self.to],
            cwd=self.dir, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)  # fmt: skip

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        self.started = self.until(process, "started")
        return process

    def until(self, process, event, **members):
        for line in process.stdout:
            found = json.loads(line)
            if found["event"] == event and members.items() <= found.items():
                return found
        self.fail(f"no {event}: {process.stderr.read()}")

    def order(self, answer):
        """One job about the instance, and what the service says of its report."""
        self.answer(REPORT, Answer(200, {"state": answer}))
        lease = Answer(200, {
            "protocol": 1, "job": JOB, "artifact": self.artifact, "model_name": "acme/llm",
            "scope": "device-memory", "node": NODE, "location": "", "subset": [], "token": 7,
            "expires_at": time_text(60), "lease_seconds": 60, "instance": INSTANCE,
            "challenge": challenge("report", job=JOB)})  # fmt: skip
        self.answer(f"POST /v1/nodes/{NODE}/lease", lease, NOTHING)

    def owner(self, tensors=None, **options):
        owner = Owner(self.path, self.artifact,
                      [([name], "U8", [len(content)], content)
                       for name, content in (tensors or TENSORS).items()], **options)  # fmt: skip
        self.addCleanup(owner.connection.close)
        self.assertEqual(owner.register()["type"], "registered")
        return owner

    def envelope(self):
        (_, body), *_ = self.requests(REPORT)
        return base64.b64decode(json.loads(body)["envelope"])

    @staticmethod
    def told(owner, state):
        return owner.wait(lambda message: message["type"] == "state" and message["state"] == state)

    def beat(self, state):
        """The first heartbeat that says so of the instance."""
        end = time.monotonic() + harness.SLOW
        while time.monotonic() < end:
            for _, body in self.requests(HEARTBEAT):
                found = payload(body)
                if found["instances"][0]["state"] == state:
                    return found
            os.sched_yield()
        self.fail(f"no heartbeat says {state}")

    def test_verified_and_watched_until_a_byte_changes(self):
        for staged in (False, True):
            with self.subTest(staged=staged):
                self.server.requests.clear()
                process = self.start()
                owner = self.owner(staged=staged)
                self.order("verified")
                self.told(owner, "verified")
                # Who was told may ask at once.
                self.assertEqual(owner.verify()["state"], "verified")
                report = payload(self.envelope())
                size = sum(map(len, TENSORS.values()))
                self.assertEqual(report["scope"], "device-memory")
                self.assertEqual(report["instance"], INSTANCE)
                self.assertEqual(report["location"], "")
                self.assertEqual(report["entries"], self.tensors)
                self.assertEqual(report["not_covered"], [])
                (reader,) = report["memory"].pop("read_by")
                self.assertTrue(reader.pop("driver"))
                self.assertEqual(reader, {
                    "ranks": [0], "id": "cpu", "name": report["device"]["name"], "uuid": None,
                    "pci": None, "kernel_digest": None})  # fmt: skip
                self.assertEqual(report["memory"], {
                    "world": 1, "containers": [], "devices": [],
                    "in_place": 0 if staged else size, "on_devices": 0, "staged": size if staged else 0,
                    "staged_causes": ["a test"] if staged else [], "registered": size,
                    "uncovered": 0, "uncovered_count": 0, "device_bytes": None, "redrawn": 0 if staged else 3,
                    "detection": 0 if staged else 1, "extra_tensors": [],
                    "extra_tensor_count": 0})  # fmt: skip
                beat = self.beat("verified")
                self.assertEqual(beat["instances"], [{
                    **INSTANCE, "artifact": self.artifact, "state": "verified",
                    "report": "sha256:" + hashlib.sha256(self.envelope()).hexdigest(),
                    "watch": {"check": "tags", "period_ms": 2000, "share_percent": 100}}])  # fmt: skip
                self.assertEqual(owner.verify()["state"], "verified")
                owner.write(2, 50_000, b"?")
                findings = self.told(owner, "violated")["findings"]
                self.assertEqual([(item["kind"], item["tensor"]) for item in findings], [("changed", "out")])
                (found,) = self.beat("violated")["instances"][0]["findings"]
                self.assertEqual(found["tensor"], "out")
                self.until(process, "instance", state="violated")
                self.assertEqual(owner.verify()["state"], "violated")
                owner.release()
                owner.close()
                process.terminate()
                process.wait(harness.SLOW)

    def with_the_package(self, model, flip):
        process = self.start()
        registration = assay.register(model, artifact=self.artifact, socket=str(self.path))
        self.addCleanup(registration.close)
        self.order("verified")
        self.assertEqual(registration.wait(harness.SLOW), "verified")
        self.assertEqual(registration.verify_now(harness.SLOW), "verified")
        report = payload(self.envelope())
        self.assertEqual(report["entries"], self.tensors)
        self.assertEqual(report["memory"]["in_place"], sum(map(len, TENSORS.values())))
        flip()
        self.assertEqual(registration.verify_now(harness.SLOW), "violated")
        self.assertEqual([(one.kind, one.tensor) for one in registration.findings], [("changed", "out")])
        (found,) = self.beat("violated")["instances"][0]["findings"]
        self.assertEqual(found["tensor"], "out")
        self.until(process, "instance", state="violated")
        registration.close()

    # What a server holds of F32 files: q, k and v joined and cast, the norm as it is.
    def test_weights_with_a_layout_are_those_of_the_files(self):
        self.with_a_layout("cpu")

    # The roots are computed by the process of the device's driver.
    def test_weights_with_a_layout_on_a_device(self):
        self.with_a_layout("opencl:0")

    def with_a_layout(self, device):
        numbers = {name: [(index * 7 + at) / 8 for index in range(8)]
                   for at, name in enumerate(("k_proj", "norm", "q_proj", "v_proj"))}
        files = {f"{name}.weight": ("F32", [4, 2] if name != "norm" else [8], struct.pack("<8f", *values))
                 for name, values in numbers.items()}  # fmt: skip
        (self.dir / "llm/model.safetensors").write_bytes(typed_safetensors(files))
        made = self.assay("manifest", "create", "llm", "--name", "acme/llm", "--location", "pvc://a/llm", "--key",
                          "publisher.pem", "--out", "llm.json", "-o", "json").json()  # fmt: skip
        self.artifact = made["artifact"]
        self.answer("GET /v1/manifests", Answer(200, {"items": [
            {"id": made["id"], "name": "acme/llm", "artifact": self.artifact}]}))  # fmt: skip
        self.answer(f"GET /v1/manifests/{made['id']}", Answer(
            200, (self.dir / "llm.json").read_bytes(), "application/vnd.dsse.envelope.v1+json"))
        # Each number is exact in BF16: the upper half of its bits.
        joined = b"".join(struct.pack("<f", value)[2:] for name in ("q_proj", "k_proj", "v_proj")
                          for value in numbers[name])  # fmt: skip
        shared = assay.SharedTensors({"qkv_proj.weight": ("BF16", [12, 2], joined),
                                      "norm.weight": ("F32", [8], files["norm.weight"][2])})  # fmt: skip
        parts = [{"entry": f"{name}.weight"} for name in ("q_proj", "k_proj", "v_proj")]
        layout = {"artifact": self.artifact, "ranks": [{"tensors": [
            {"name": "norm.weight", "dtype": "F32", "shape": [8], "from": {"entry": "norm.weight"}},
            {"name": "qkv_proj.weight", "dtype": "BF16", "shape": [12, 2],
             "from": {"cast": {"concat": parts, "axis": 0}, "to": "BF16"}}]}]}  # fmt: skip
        process = self.start("--map", f"pvc://a/llm={self.dir / 'llm'},volume=pv", device=device)
        registration = assay.register(shared, artifact=self.artifact, socket=str(self.path), layout=layout)
        self.addCleanup(registration.close)
        self.order("verified")
        self.assertEqual(registration.wait(harness.SLOW), "verified")
        report = payload(self.envelope())
        tensors = [entry for entry in self.objects() if "name" in entry]
        self.assertEqual((report["entries"], report["not_covered"]), (tensors, []))
        told = report["memory"]["layout"]
        self.assertEqual((told["kind"], told["by_table"]), ("recipe", True))
        text = json.dumps(layout, sort_keys=True, separators=(",", ":"))
        self.assertEqual(told["digest"], "sha256:" + hashlib.sha256(text.encode()).hexdigest())
        self.until(process, "layout-computed", device=device, layout=told["digest"])
        (self.dir / "llm").rename(self.dir / "gone")  # the roots are in memory now
        shared["qkv_proj.weight"][47] ^= 1
        self.assertEqual(registration.verify_now(harness.SLOW), "violated")
        self.assertEqual([one.tensor for one in registration.findings], ["qkv_proj.weight"])
        self.until(process, "instance", state="violated")
        registration.close()
        # From the start another one of the joined matrices differs: no entry in it is as in the manifest.
        wrong = assay.register(shared, artifact=self.artifact, socket=str(self.path), layout=layout)
        self.addCleanup(wrong.close)
        self.server.requests.clear()
        self.order("mismatch")
        self.assertEqual(wrong.wait(harness.SLOW), "violated")
        seen = {entry["name"]: entry for entry in payload(self.envelope())["entries"]}
        for entry in tensors:
            self.assertEqual(seen[entry["name"]] == entry, entry["name"] == "norm.weight")
        wrong.close()

    def test_the_python_package_without_pytorch(self):
        shared = assay.SharedTensors({name: ("U8", [len(content)], content)
                                      for name, content in TENSORS.items()})  # fmt: skip

        def flip():
            shared["out"][50_000] ^= 1
        self.with_the_package(shared, flip)

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_the_python_package_with_pytorch(self):
        tensors = {name: torch.frombuffer(bytearray(content), dtype=torch.uint8).clone()
                   for name, content in TENSORS.items()}

        def flip():
            tensors["out"][50_000] ^= 1
        self.with_the_package(tensors, flip)

    def test_the_python_package_in_the_server_of_the_demo(self):
        """With CPU tensors where PyTorch is installed, as `make test-python` has it, else without."""
        self.start()
        server = subprocess.Popen(
            [sys.executable, "-B", str(pathlib.Path(__file__).resolve().parents[2] / "deploy/demo/serve.py"),
             str(self.dir / "llm"), str(self.path), self.artifact],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip

        def end():
            server.kill()
            server.communicate()
        self.addCleanup(end)

        def says(**members):
            for line in server.stdout:
                if members.items() <= (found := json.loads(line)).items():
                    return found
            self.fail(f"the server does not say {members}")
        says(type="registered")
        self.order("verified")
        says(state="verified")
        server.stdin.write("flip out\n")
        server.stdin.flush()
        findings = says(state="violated")["findings"]
        self.assertEqual([(item["kind"], item["tensor"]) for item in findings], [("changed", "out")])

    def test_where_bytes_changed_follows_the_denial(self):
        process = self.start("--watch-period", "200ms", "--watch-slices", "2")
        self.assertEqual(self.started["watch"], {"check": "tags", "share_percent": 100, "period_ms": 200,
                                                 "slices": 2, "full_ms": 3_600_000})  # fmt: skip
        owner = self.owner()
        self.order("verified")
        self.told(owner, "verified")
        # After some periods all that can be learned is learned.
        owner.wait_for_exports(6)
        owner.write(0, 69_999, b"?")
        told = self.until(process, "instance", state="violated")
        self.assertEqual([item["tensor"] for item in told["findings"]], ["embed"])
        self.assertNotIn("bytes 0", told["findings"][0]["detail"])
        located = self.until(process, "located")
        self.assertEqual(located["state"], "violated")
        self.assertEqual([(item["tensor"], item["detail"]) for item in located["findings"]], [
            ("embed", "rank 0: its bytes are not what they were: bytes 0 to 70000")])  # fmt: skip
        owner.wait(lambda m: m["type"] == "state" and m["findings"]
                   and m["findings"][0]["detail"].endswith("bytes 0 to 70000"))  # fmt: skip

    def test_each_check_finds_a_flipped_byte(self):
        cases = {
            "tags": ("--watch-check", "tags", "--watch-full", "2h"),
            "sha256": ("--watch-check", "sha256", "--watch-period", "500ms"),
            "random": ("--watch-check", "random", "--watch-share", "50", "--watch-slices", "3"),
            "full": ("--watch-full", "100ms", "--watch-period", "100ms", "--watch-slices", "1"),
        }
        for check, options in cases.items():
            with self.subTest(check):
                self.server.requests.clear()
                process = self.start(*options)
                self.assertEqual(self.started["watch"]["check"], {"full": "tags"}.get(check, check))
                owner = self.owner()
                self.order("verified")
                self.told(owner, "verified")
                owner.write(1, 3, b"?")
                self.assertEqual(self.told(owner, "violated")["findings"][0]["tensor"], "norm")
                owner.close()
                process.terminate()
                process.wait(harness.SLOW)

    def test_options_of_the_watch(self):
        run = ("worker", "run", "--node", NODE, *self.to)
        socket = ("--register-socket", "/a")
        for options in ([*socket, "--watch-period", "2"], [*socket, "--watch-period", "1h"],
                        [*socket, "--watch-period", "61s"], [*socket, "--watch-period", "99ms"],
                        [*socket, "--watch-period", "-2s"], [*socket, "--watch-slices", "0"],
                        [*socket, "--watch-slices", "4294967297"], [*socket, "--watch-full", "1s"],
                        [*socket, "--watch-full", "200h"], [*socket, "--watch-check", "crc"],
                        [*socket, "--watch-check", "random"], [*socket, "--watch-share", "50"],
                        [*socket, "--watch-check", "random", "--watch-share", "3"],
                        [*socket, "--watch-check", "sha256", "--watch-share", "50"],
                        ["--map", "hostpath:///a=/", "--watch-period", "2s"]):  # fmt: skip
            self.assertIn("--watch-", self.assay(*run, *options, code=harness.TROUBLE).err, options)

    # A period is a minute: by itself nothing would look at the memory for half of it.
    def test_a_yield_has_what_is_due_run_at_once(self):
        self.start("--watch-period", "60s", "--watch-slices", "2")
        owner = self.owner(hints=True)
        self.assertEqual(owner.yield_slice(50)["slices"], 0)  # not verified: nobody looks
        self.order("verified")
        self.told(owner, "verified")
        answers = [owner.yield_slice(10_000) for _ in range(4)]
        ran = sum(answer["slices"] for answer in answers)
        self.assertTrue(1 <= ran <= 3, answers)  # the first slice runs by itself, and none twice
        self.assertEqual(answers[-1]["slices"], 0)
        self.assertGreater(answers[-1]["next_ms"], 5_000)

    def test_a_step_is_waited_for(self):
        self.start("--watch-period", "60s", "--watch-slices", "1")
        owner = self.owner(hints=True)
        owner.hint(1, 0)
        self.order("verified")
        self.told(owner, "verified")
        owner.write(1, 3, b"?")
        time.sleep(0.3)  # there is no event of a slice that does not run
        self.assertFalse([m for m in owner.messages if m.get("state") == "violated"])
        owner.hint(1, 1)
        self.told(owner, "violated")

    def test_lies_in_the_page_of_hints_move_no_deadline(self):
        self.start("--watch-period", "400ms", "--watch-slices", "2")
        for lie in ((7, 0, 0), (1 << 63, 5, 1 << 63), (0, 9, 3), (5, 5, (1 << 64) - 1)):
            with self.subTest(lie=lie):
                self.server.requests.clear()
                owner = self.owner(hints=True)
                owner.hint(*lie)
                self.order("verified")
                self.told(owner, "verified")
                owner.write(2, 3, b"?")
                self.told(owner, "violated")
                owner.release()
                owner.close()

    def test_a_replaced_piece_is_found(self):
        self.start()
        owner = self.owner()
        self.order("verified")
        self.told(owner, "verified")
        owner.replace(0, b"E" * 70_000)
        findings = self.told(owner, "violated")["findings"]
        self.assertEqual([item["tensor"] for item in findings], ["embed"])

    def test_memory_that_its_owner_can_still_punch_holes_into_is_refused(self):
        """Reading a hole makes a page, which the kernel charges to the process that reads."""
        self.start()
        owner = Owner(self.path, self.artifact, [(["a"], "U8", [1 << 20], b"a" * (1 << 20))])
        self.addCleanup(owner.close)
        owner.files[0].close()
        owner.files[0] = MemoryFile(b"a" * (1 << 20), seals=F_SEAL_SHRINK | F_SEAL_GROW)
        answer = owner.register()
        self.assertEqual((answer["type"], answer.get("code")), ("refused", "invalid-parameter"))
        self.assertIn("F_SEAL_FUTURE_WRITE: add them with fcntl(F_ADD_SEALS)", answer["detail"])

    def test_a_file_with_holes_in_a_later_answer_ends_its_registration(self):
        self.start()
        owner = self.owner()
        with self.assertRaises(PermissionError):
            owner.files[0].punch()
        holes = MemoryFile(b"", 70_000, seals=0, sparse=True)
        holes.reserve_behind_its_end()
        holes.seal()
        owner.files[0].close()
        owner.files[0] = holes
        self.order("failed")
        self.assertEqual(owner.wait_for_end(), "invalid-parameter")
        with self.assertRaises(OSError):  # nobody has made a page
            os.lseek(holes.fd, 0, os.SEEK_DATA)

    def test_an_owner_that_saw_a_change_itself(self):
        self.start()
        owner = self.owner()
        self.order("verified")
        self.told(owner, "verified")
        owner.connection.send({"type": "changed", "tensors": ["norm"]})
        self.assertEqual(self.beat("violated")["instances"][0]["state"], "violated")

    def test_released_memory_is_let_go_at_once(self):
        process = self.start()
        owner = self.owner()
        self.order("verified")
        self.told(owner, "verified")
        maps = pathlib.Path(f"/proc/{self.reader(process)}/maps")
        self.assertIn("memfd:weights", maps.read_text())
        begun = time.monotonic()
        owner.release()
        self.assertLess(time.monotonic() - begun, 5)  # 0.5 s where nothing else runs
        self.assertNotIn("memfd:weights", maps.read_text())
        self.assertEqual(self.beat("ended")["instances"][0]["state"], "ended")

    def reader(self, process):
        """The number of the process that reads memory."""
        return self.until(process, "reader-started")["pid"]

    def test_the_agent_itself_touches_no_memory_and_the_reader_has_no_network(self):
        process = self.start()
        owner = self.owner()
        self.order("verified")
        self.told(owner, "verified")
        reader = self.reader(process)
        self.assertNotIn("memfd:weights", pathlib.Path(f"/proc/{process.pid}/maps").read_text())
        self.assertIn("memfd:weights", pathlib.Path(f"/proc/{reader}/maps").read_text())
        links = [os.readlink(link) for link in pathlib.Path(f"/proc/{reader}/fd").iterdir()]
        self.assertEqual(len([link for link in links if link.startswith("socket:")]), 1, links)
        self.assertEqual([link for link in links if str(self.dir) in link], [])
        # For want of memory the kernel ends it, and not the agent.
        self.assertEqual(pathlib.Path(f"/proc/{reader}/oom_score_adj").read_text(), "1000\n")
        # It ends with the agent, however that ends.
        process.kill()
        self.gone(reader)

    def test_on_a_device_of_its_own(self):
        """The reader has the device, and compares keyed tags there."""
        devices = self.assay("device", "list", "-o", "json").json()["devices"]
        found = [item["id"] for item in devices if item["id"] != "cpu"]
        if not found:
            self.skipTest("no OpenCL device")
        process = self.start(device=found[0])
        owner = self.owner()
        self.order("verified")
        self.told(owner, "verified")
        started = self.until(process, "reader-started")
        self.assertEqual(started["device"], found[0])
        self.assertEqual(payload(self.envelope())["device"]["id"], found[0])
        owner.write(0, 1_000, b"?")
        findings = self.told(owner, "violated")["findings"]
        self.assertEqual([item["tensor"] for item in findings], ["embed"])

    def gone(self, pid):
        try:
            end = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            self.assertTrue(select.select([end], [], [], harness.SLOW)[0], f"process {pid} goes on")
        finally:
            os.close(end)

    def test_a_reader_that_fails_while_it_watches(self):
        """Killed or stopped: unknown, said to everybody, until a new job has looked at everything."""
        for name, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
            with self.subTest(name):
                self.server.requests.clear()
                process = self.start("--reader-timeout", "1", "--metrics-port", "0")
                owner = self.owner()
                self.order("verified")
                self.told(owner, "verified")
                self.beat("verified")
                reader = self.reader(process)
                os.kill(reader, number)
                findings = self.told(owner, "unknown")["findings"]
                self.assertEqual([item["kind"] for item in findings], ["error"])
                self.assertEqual(self.until(process, "reader-failed")["pid"], reader)
                self.gone(reader)
                self.server.requests.clear()
                self.assertEqual(self.beat("unknown")["instances"][0]["state"], "unknown")
                self.assertEqual(owner.verify()["state"], "unknown")
                self.order("verified")
                self.told(owner, "verified")
                self.beat("verified")
                self.assertNotEqual(self.reader(process), reader)
                owner.release()
                owner.close()
                process.terminate()
                process.wait(harness.SLOW)

    def test_only_the_agent_starts_a_reader(self):
        self.assertEqual(self.error("worker", "reader", "--device", "cpu"), "usage")
        self.assertNotIn("reader", self.assay("worker", "--help").out)
        run = ("worker", "run", "--node", NODE, "--evidence", "none", "--register-socket", self.path, *self.to)
        for seconds in ("0", "3601"):
            self.assertEqual(self.error(*run, "--reader-timeout", seconds), "usage")

    def test_a_reader_that_dies_under_a_job(self):
        process = self.start()
        owner = self.owner()
        answer = owner.answer

        def kill_first(message):
            if message["type"] == "export":
                owner.answer = answer
                os.kill(child_of(process.pid), signal.SIGKILL)
            return answer(message)
        owner.answer = kill_first
        self.order("verified")
        self.assertEqual(self.told(owner, "unknown")["findings"][0]["kind"], "error")
        finished = self.until(process, "finished")
        self.assertEqual((finished["result"], finished["error"]["code"]), ("failed", "device-failed"))
        self.assertEqual(self.requests(REPORT), [])
        self.order("verified")
        self.told(owner, "verified")

    def test_other_bytes_are_reported_as_they_are(self):
        self.start()
        owner = self.owner({**TENSORS, "norm": b"?" * 1024})
        self.order("mismatch")
        findings = self.told(owner, "violated")["findings"]
        self.assertEqual([(item["kind"], item["tensor"]) for item in findings], [("mismatch", "norm")])
        found = payload(self.envelope())["entries"]
        roots = {entry["name"]: entry["root"] for entry in found}
        expected = {entry["name"]: entry["root"] for entry in self.tensors}
        self.assertEqual({name for name in roots if roots[name] != expected[name]}, {"norm"})

    # Even if the service did not see it: an agent that found an extra tensor tells no owner "verified".
    def test_extra_and_missing_tensors(self):
        self.start()
        owner = self.owner({"embed": TENSORS["embed"], "more": b"m" * 9, "norm": TENSORS["norm"]})
        self.order("verified")
        findings = self.told(owner, "violated")["findings"]
        self.assertEqual({(item["kind"], item["tensor"]) for item in findings},
                         {("extra", "more"), ("missing", "out")})  # fmt: skip
        report = payload(self.envelope())
        self.assertEqual(report["memory"]["extra_tensors"], [{"name": "more", "size": 9}])
        self.assertEqual([entry["name"] for entry in report["entries"]], ["embed", "norm"])
        self.assertEqual(report["not_covered"], [])

    def test_without_memory_or_threads_a_job_fails_and_the_agent_goes_on(self):
        process = self.start()
        owner = self.owner()
        pages = int(pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[0])
        before = resource.prlimit(process.pid, resource.RLIMIT_AS)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE"), before[1]))
        self.order("verified")
        self.assertEqual(self.until(process, "finished")["result"], "failed")
        resource.prlimit(process.pid, resource.RLIMIT_AS, before)
        self.order("verified")
        self.told(owner, "verified")

    def test_a_job_says_why_its_instance_was_refused(self):
        process = self.start()
        owner = Owner(self.path, self.artifact, [(["norm"], "F32", [1], TENSORS["norm"])])
        self.addCleanup(owner.connection.close)
        refused = owner.register()
        self.assertEqual(refused["type"], "refused")
        fail = f"POST /v1/jobs/{JOB}:fail"
        self.answer(fail, Answer(200, {}))
        self.order("verified")
        finished = self.until(process, "finished")
        self.assertEqual((finished["result"], finished["error"]["code"]), ("unmapped", "instance-missing"))
        self.assertIn(f"refused: {refused['code']}: {refused['detail']}", finished["error"]["detail"])
        (target, _), *_ = self.requests(fail)
        self.assertIn("code=instance-missing", target)
        self.assertIn(f"refused={refused['code']}", target)
        self.assertEqual(self.requests(REPORT), [])

    def test_an_instance_that_is_not_complete(self):
        process = self.start()
        self.owner(rank=0, world=2)
        self.order("incomplete")
        self.assertEqual(self.until(process, "finished")["result"], "incomplete")
        report = payload(self.envelope())
        self.assertEqual(report["entries"], [])
        self.assertEqual({item["reason"] for item in report["not_covered"]}, {"not-found"})
        self.assertEqual(len(report["not_covered"]), 3)


if __name__ == "__main__":
    harness.main()
