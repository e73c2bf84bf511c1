# SPDX-License-Identifier: Apache-2.0
"""`assay worker run --register-socket`: processes register memory with the program itself."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import harness
from nodes_served import NODE, NOTHING, NodeTestCase, challenge, enrolled
from tls_server import Answer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from instance_owner import Connection, Ended, MemoryFile, Owner  # noqa: E402

ARTIFACT = "assay-tree-v1-sha256:" + "4f" * 32
TENSORS = [(["norm"], "F32", [4], b"n" * 16), (["embed", "head"], "U8", [5000], b"e" * 5000)]


class Registering(NodeTestCase):
    def setUp(self):
        super().setUp()
        self.answer("POST /v1/challenges", Answer(201, challenge()))
        self.answer("POST /v1/nodes", enrolled())
        self.answer(f"POST /v1/nodes/{NODE}/lease", NOTHING)
        self.path = self.dir / "register.sock"

    def start(self, *options):
        process = subprocess.Popen(
            [harness.PROGRAM, "worker", "run", "--node", NODE, "--evidence", "none", "--device",
             "cpu", "-o", "json", "--register-socket", str(self.path), *options, *self.to],
            cwd=self.dir, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)  # fmt: skip

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        self.assertEqual(self.until(process, "started")["register_socket"], str(self.path))
        return process

    def start_for_me(self):
        return self.start("--register-uid", str(os.getuid()))

    def until(self, process, event):
        for line in process.stdout:
            found = json.loads(line)
            if found["event"] == event:
                return found
        self.fail(f"no {event}: {process.stderr.read()}")

    def connect(self):
        connection = Connection(self.path)
        self.addCleanup(connection.close)
        return connection

    def owner(self, *arguments, **options):
        owner = Owner(self.path, ARTIFACT, TENSORS, *arguments, **options)
        self.addCleanup(owner.connection.close)
        return owner

    def test_from_hello_to_the_end(self):
        process = self.start_for_me()
        owner = self.owner()
        answer = owner.register()
        self.assertEqual(owner.welcome, {"type": "welcome", "protocol": 1, "pod": "", "container": ""})
        self.assertEqual(answer["type"], "registered")
        told = self.until(process, "registered")
        self.assertEqual(
            {name: told[name] for name in ("registration", "pod", "instance", "rank", "world", "artifact", "pid")},
            {"registration": answer["registration"], "pod": "", "instance": "main", "rank": 0,
             "world": 1, "artifact": ARTIFACT, "pid": os.getpid()})  # fmt: skip
        owner.release()
        self.assertEqual(self.until(process, "unregistered")["registration"], answer["registration"])
        owner.connection.close()
        again = self.owner()
        self.assertEqual(again.register()["type"], "registered")
        again.connection.close()
        self.until(process, "registered")
        self.until(process, "unregistered")
        process.send_signal(signal.SIGTERM)
        self.until(process, "stopped")
        self.assertEqual(process.wait(harness.SLOW), 0)
        self.assertFalse(self.path.exists())

    def test_staged_memory(self):
        self.start_for_me()
        self.assertEqual(self.owner(staged=True).register()["type"], "registered")

    def test_many_pieces(self):
        self.start_for_me()
        tensors = [([f"t{i}"], "U8", [64], bytes([i % 256]) * 64) for i in range(600)]
        owner = Owner(self.path, ARTIFACT, tensors)
        self.addCleanup(owner.connection.close)
        self.assertEqual(owner.register()["type"], "registered")

    # A pod comes and goes with the largest frame, on one connection after the other.
    def test_largest_frames_leave_the_agent_small(self):
        process = self.start_for_me()
        count, first = 1 << 20, 1_000_000
        memory = MemoryFile(b"", first + count - 1)
        self.addCleanup(memory.close)
        frame = {"type": "register", "artifact": ARTIFACT, "instance": "main", "rank": 0, "world": 1,
                 "device": "", "pieces": [{"size": memory.size, "kind": "host", "cause": ""}],
                 "tensors": [{"names": ["t"], "dtype": "U8", "shape": [memory.size], "parts": [
                     [0, 0, first], *([0, first + i, 1] for i in range(count - 1))]}],
                 "uncovered": {"count": 0, "bytes": 0}, "window": 0}  # fmt: skip
        frame = json.dumps(frame, separators=(",", ":")).encode()
        for _ in range(4):
            connection = self.connect()
            connection.send({"type": "hello", "protocol": 1, "client": ""})
            self.assertEqual(connection.receive()["type"], "welcome")
            connection.send(frame)
            connection.send({"type": "pieces", "request": 0, "first": 0, "count": 1}, [memory.fd])
            self.assertEqual(connection.receive()["type"], "registered")
            connection.close()
            self.until(process, "unregistered")
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        peak = int(re.search(r"^VmHWM:\s+(\d+) kB", status, re.M)[1]) >> 10
        if "asan" in harness.PROGRAM or "tsan" in harness.PROGRAM:
            self.skipTest("a sanitizer keeps memory that was freed")
        print(f"the agent took {peak} MiB at most", file=sys.stderr)
        self.assertLess(peak, 400)  # four pods may have one each: docs/instances.md, "Host memory"

    def test_same_rank_twice(self):
        self.start_for_me()
        self.assertEqual(self.owner(rank=0, world=2).register()["type"], "registered")
        self.assertEqual(self.owner(rank=0, world=2).register()["code"], "already-registered")
        self.assertEqual(self.owner(rank=1, world=2).register()["type"], "registered")

    def test_who_is_not_in_a_pod(self):
        self.start()
        refused = self.connect().receive()
        self.assertEqual((refused["type"], refused["code"]), ("refused", "forbidden"))

    # Another pid namespace that the agent cannot see: the agent is put into one of its own.
    def test_who_cannot_be_seen(self):
        unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no pid namespace can be made here")
        process = subprocess.Popen(
            [*unshare, harness.PROGRAM, "worker", "run", "--node", NODE, "--evidence", "none",
             "--device", "cpu", "-o", "json", "--register-socket", str(self.path),
             "--register-uid", str(os.getuid()), *self.to],
            cwd=self.dir, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)  # fmt: skip

        def end():
            process.kill()
            process.communicate()
        self.addCleanup(end)
        self.until(process, "started")
        refused = self.connect().receive()
        self.assertEqual(refused["code"], "forbidden")
        self.assertIn("cannot see", refused["detail"])

    # The operator hears why, and not only the process.
    def test_refusals_are_told(self):
        process = self.start_for_me()
        owner = self.owner()
        lie = {**owner.registration(), "instance": "other"}
        lie["tensors"] = [{**lie["tensors"][0], "dtype": "U8"}, *lie["tensors"][1:]]
        connection = self.connect()
        connection.send({"type": "hello", "protocol": 1, "client": ""})
        connection.receive()
        connection.send(lie)
        refused = connection.receive()
        self.assertEqual(refused["type"], "refused")
        told = self.until(process, "registration-refused")
        self.assertEqual((told["code"], told["detail"]), (refused["code"], refused["detail"]))
        self.assertEqual((told["pod"], told["pid"]), ("", os.getpid()))
        self.assertIn("/tensors/0", told["detail"])
        # Ten in a minute are told: this one, and nine of twelve.
        for _ in range(12):
            self.assertEqual(self.owner(rank=5, world=2).register()["type"], "refused")
        self.assertEqual(self.owner().register()["type"], "registered")
        events = []
        for line in process.stdout:
            events.append(json.loads(line)["event"])
            if events[-1] == "registered":
                break
        self.assertEqual(events.count("registration-refused"), 9)

    # Whatever a hostile owner sends: it is refused, the others go on, and nothing stays open.
    def test_hostile_owners(self):
        process = self.start_for_me()
        honest = self.owner()
        self.assertEqual(honest.register()["type"], "registered")
        before = self.held(process)
        memory = MemoryFile(b"x" * 16)
        null = os.open("/dev/null", os.O_RDONLY)
        self.addCleanup(os.close, null)
        hello = {"type": "hello", "protocol": 1, "client": ""}
        registration = {**honest.registration(), "instance": "other"}
        attempts = [
            [(b"\xff" * 7, [])], [(b"{}", [])], [(b"[" * 10_000, [])],
            [(hello, [memory.fd] * 253)],
            [(hello, []), ({**registration, "more": 1}, [])],
            [(hello, []), (registration, [memory.fd])],
            [(hello, []), (registration, []), ({"type": "pieces", "request": 0, "first": 0, "count": 2}, [null] * 2)],
            [(hello, []), (registration, []), ({"type": "pieces", "request": 0, "first": 0, "count": 2}, [memory.fd] * 253)],
            [(hello, []), (registration, []), ({"type": "pieces", "request": 0, "first": 1, "count": 1}, [memory.fd])],
        ]  # fmt: skip
        for attempt in attempts:
            connection = self.connect()
            codes = []
            try:
                for message, descriptors in attempt:
                    connection.send(message, descriptors)
                while True:
                    answer = connection.receive()
                    codes.append(answer.get("code"))
            except (Ended, OSError):
                pass
            self.assertTrue(codes and codes[-1], attempt)
        # A length, and then nothing more.
        half = self.connect()
        half.socket.sendall(b"\x10\0\0\0{")
        half.socket.shutdown(socket.SHUT_WR)
        self.assertEqual(half.receive()["code"], "file-unreadable")
        # Everything that was sent has been answered: only the honest one is open.
        self.assertEqual(self.owner(instance="last").register()["type"], "registered")
        # Of each connection its socket, and the process behind it.
        self.assertEqual(before[0], 3)  # with the listener
        self.wait_for(lambda: self.held(process) == (before[0] + 2, before[1]))
        self.assertEqual(honest.verify()["state"], "unknown")

    # What the agent holds of the owners: connections and processes, and descriptors that came. Its connection to
    # the service comes and goes beside them.
    def held(self, process):
        inodes = {line.split()[6] for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                  if line.endswith(str(self.path))}
        links = []
        for entry in os.scandir(f"/proc/{process.pid}/fd"):
            try:
                links.append(os.readlink(entry.path))
            except FileNotFoundError:
                pass
        return (sum(link == "anon_inode:[pidfd]" or link[len("socket:["):-1] in inodes for link in links),
                sum(link.startswith(("/memfd:", "/dev/null")) for link in links))

    def wait_for(self, done):
        end = time.monotonic() + harness.SLOW
        while not done():
            self.assertLess(time.monotonic(), end, "it did not come to that")
            os.sched_yield()

    def test_owner_that_dies(self):
        process = self.start_for_me()
        code = ("import sys; sys.path.insert(0, sys.argv[1]); from instance_owner import Owner; "
                "o = Owner(sys.argv[2], sys.argv[3], [(['t'], 'U8', [4], b'abcd')]); "
                "print(o.register()['type'], flush=True); sys.stdin.read()")
        support = str(pathlib.Path(__file__).resolve().parents[1] / "support")
        child = subprocess.Popen([sys.executable, "-B", "-c", code, support, str(self.path), ARTIFACT],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.addCleanup(child.wait)
        self.assertEqual(child.stdout.readline(), "registered\n")
        self.assertEqual(self.until(process, "registered")["pid"], child.pid)
        child.kill()
        self.until(process, "unregistered")
        child.stdin.close()
        child.stdout.close()

    # The registration is the dead process's: what a child says on the socket that it inherited
    # counts no more.
    def test_owner_that_dies_and_leaves_its_socket_to_a_child(self):
        process = self.start_for_me()
        code = ("import os, sys; sys.path.insert(0, sys.argv[1]); from instance_owner import Owner; "
                "o = Owner(sys.argv[2], sys.argv[3], [(['t'], 'U8', [4], b'abcd')]); o.register(); "
                "child = os.fork(); "
                "(sys.stdin.read(), os._exit(0)) if child == 0 else print(child, flush=True); "
                "os.kill(os.getpid(), 9)")
        support = str(pathlib.Path(__file__).resolve().parents[1] / "support")
        parent = subprocess.Popen([sys.executable, "-B", "-c", code, support, str(self.path), ARTIFACT],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.assertEqual(self.until(process, "registered")["pid"], parent.pid)
        child = int(parent.stdout.readline())
        self.until(process, "unregistered")
        os.kill(child, 0)  # it lives, and its socket is open
        parent.stdin.close()
        parent.stdout.close()
        parent.wait()

    def test_options(self):
        run = ("worker", "run", "--node", NODE, *self.to)
        for options in (["--register-socket", "relative"], ["--register-uid", "0"],
                        ["--register-socket", "/a", "--register-uid", "4294967295"],
                        ["--register-socket", "/a", "--register-uid", "-1"],
                        ["--register-socket", "/a", "--register-uid", "x"],
                        ["--register-socket", "/no/such/folder/socket", "--evidence", "none",
                         "--device", "cpu"]):  # fmt: skip
            self.assertIn("usage", self.assay(*run, *options, code=harness.TROUBLE).err, options)


if __name__ == "__main__":
    harness.main()
