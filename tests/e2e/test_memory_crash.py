# SPDX-License-Identifier: Apache-2.0
"""Node agent or service killed at every step of a job about memory, and at heartbeats, beside an owner
of memory that lives on; and the owner killed at every step of its own: only what was found right is ever
allowed to serve."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import unittest

import harness
import nodes
from breaking_proxy import STEPS, BreakingProxy

sys.path.insert(0, str(harness.ROOT / "tests/support"))
from instance_owner import Owner  # noqa: E402
from test_memory import POLICY, TENSOR, WEIGHTS  # noqa: E402

NODE = "node-1"
EARLY = ("challenge", "enrol")  # before anything can be registered
RIGHT = (*EARLY, "lease", "manifest", "report")
WRONG = ("lease", "manifest", "report", "outline")
SHORT = 2  # seconds of a lease
AT = 1_234_567
WRONG_WEIGHTS = WEIGHTS[:AT] + bytes([WEIGHTS[AT] ^ 1]) + WEIGHTS[AT + 1 :]


class Case(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(nodes.NodeService(nodes={"lease_seconds": SHORT}))
        self.artifact = self.service.publish()
        self.service.activate(POLICY)
        self.socket = self.service.dir / "register.sock"

    def agent(self, server=None):
        options = ("--register-socket", str(self.socket), "--register-uid", str(os.getuid()))
        return self.service.worker(server=server, options=options)

    def owner(self, flipped):
        weights = WRONG_WEIGHTS if flipped else WEIGHTS
        owner = Owner(self.socket, self.artifact, [(*TENSOR[:3], weights)])
        self.addCleanup(owner.close)
        self.assertEqual(owner.register()["type"], "registered")
        return owner

    def order(self):
        status, job = self.service.request("POST", "/v1/jobs", json.dumps({
            "artifact": self.artifact, "node": NODE, "scope": "device-memory",
            "instance": {"pod": "", "instance": "main"}}))  # fmt: skip
        self.assertIn(status, (200, 201), job)
        return job["id"]

    def ended(self, job, flipped):
        """The job's result is about what lies in memory, and was recorded once. It is ordered again when
        the agent that has it now was asked before the owner had registered there."""
        view = self.service.finished(job)
        while view["result"] == "failed":
            self.assertEqual(view["detail"]["code"], "instance-missing", view)
            job = self.order()
            view = self.service.finished(job)
        self.assertEqual(view["result"], "mismatch" if flipped else "verified", view)
        nodes.wait_until(f"a record of {job}", lambda: self.service.records(
            type="report.accepted", subject=f"job:{job}"))  # fmt: skip
        self.assertEqual(len(self.service.records(type="report.accepted", subject=f"job:{job}")), 1)

    def may_serve(self):
        status, answer = self.service.request("POST", "/v1/decisions", json.dumps({
            "point": "serve", "model": self.artifact, "node": NODE, "dry_run": True,
            "workload": {"resources": ["nvidia.com/gpu"]}}))  # fmt: skip
        self.assertEqual(status, 200, answer)
        return answer["decision"]["verdict"]["allowed"]

    def never(self):
        """Asks again and again: nothing is allowed to serve meanwhile."""
        return Never(self)

    def heard(self, state):
        """The service has heard this of the instance."""
        def look():
            status, node = self.service.request("GET", f"/v1/nodes/{NODE}")
            return status == 200 and [one["state"] for one in node["instances"]] == [state]
        nodes.wait_until(f"instance {state}", look)

    def settles(self, owner, job, flipped):
        """What becomes of the job, and that the watch goes on from there."""
        if flipped:
            self.ended(job, True)
            self.assertFalse(self.may_serve())
        else:
            self.ended(job, False)
            nodes.wait_until("an allow", self.may_serve)
            owner.write(0, AT, WRONG_WEIGHTS[AT : AT + 1])
            self.heard("violated")
            self.assertFalse(self.may_serve())

    def each(self, kill, steps, *more):
        for step in steps:
            # Only an answer with a job in it is the step "lease".
            for when in ("after",) if step == "lease" else ("before", "after"):
                with self.subTest(step=step, when=when):
                    kill(step, when, *more)
        self.service.verify_log()


class Never:
    def __init__(self, case):
        self.case, self.allowed, self.over = case, False, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.over.wait(0.05):
            try:
                self.allowed = self.allowed or self.case.may_serve()
            except (OSError, http.client.HTTPException):
                pass  # the service is away

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.case.assertFalse(self.allowed, "something was allowed to serve")


class Job(Case):
    def killed_agent(self, step, when, flipped):
        job = None
        with BreakingProxy(self.service, step, when) as proxy, self.agent(proxy.url) as agent:
            proxy.arm(agent.kill)
            if step not in EARLY:
                agent.wait("enrolled")
                self.owner(flipped)
                job = self.order()
            nodes.wait_until(f"{step} of {agent}", proxy.acted.is_set)
        with self.agent() as second:
            second.wait("enrolled")
            owner = self.owner(flipped)
            if job and self.service.job(job)["result"]:
                # Reported before: that says nothing of what a new agent has not read.
                self.ended(job, flipped)
                self.heard("unknown")
                self.assertFalse(self.may_serve())
                job = None
            self.settles(owner, job or self.order(), flipped)
            owner.close()
            self.assertEqual(second.stop(), 0, second)

    def killed_service(self, step, when, flipped):
        with BreakingProxy(self.service, step, when) as proxy, self.agent(proxy.url) as agent:
            proxy.arm(self.service.kill)
            if step not in EARLY:
                agent.wait("enrolled")
                owner = self.owner(flipped)
                job = self.order()
            nodes.wait_until(f"{step} of {agent}", proxy.acted.is_set)
            self.service.start()
            if step in EARLY:
                agent.wait("enrolled")
                owner = self.owner(flipped)
                job = self.order()
            self.settles(owner, job, flipped)
            owner.close()
            self.assertEqual(agent.stop(), 0, agent)

    def test_agent_killed(self):
        self.each(self.killed_agent, RIGHT, False)

    def test_service_killed(self):
        self.each(self.killed_service, RIGHT, False)

    def test_agent_killed_with_other_bytes(self):
        with self.never():
            self.each(self.killed_agent, WRONG, True)

    def test_service_killed_with_other_bytes(self):
        with self.never():
            self.each(self.killed_service, WRONG, True)


class Heartbeat(Case):
    """After a job has verified the memory, and a decision has allowed it to serve."""

    def struck(self, proxy, when, act, owner, flipped):
        """Waits for `act` at a heartbeat; with a flip, none after it was found comes before that."""
        proxy.when, proxy.pattern = when, re.compile(STEPS["heartbeat"])
        if flipped:
            owner.write(0, AT, WRONG_WEIGHTS[AT : AT + 1])
            owner.wait(lambda m: m["type"] == "state" and m["state"] == "violated")
        proxy.arm(act)
        nodes.wait_until("a heartbeat", proxy.acted.is_set)

    def verified(self, agent):
        agent.wait("enrolled")
        owner = self.owner(False)
        self.ended(self.order(), False)
        nodes.wait_until("an allow", self.may_serve)
        return owner

    def killed_agent(self, _, when, flipped):
        with BreakingProxy(self.service) as proxy, self.agent(proxy.url) as agent:
            owner = self.verified(agent)
            self.struck(proxy, when, agent.kill, owner, flipped)
        # What was verified then says nothing of what a new agent has not read.
        with self.agent() as second:
            second.wait("enrolled")
            with self.never():
                owner = self.owner(flipped)
                self.heard("unknown")
                self.assertFalse(self.may_serve())
            self.settles(owner, self.order(), flipped)
            owner.close()
            self.assertEqual(second.stop(), 0, second)

    def killed_service(self, _, when, flipped):
        with BreakingProxy(self.service) as proxy, self.agent(proxy.url) as agent:
            owner = self.verified(agent)
            self.struck(proxy, when, self.service.kill, owner, flipped)
            if flipped:
                with self.never():
                    self.service.start()
                    self.heard("violated")
            else:
                self.service.start()
                nodes.wait_until("an allow, without a new job", self.may_serve)
            owner.close()
            self.assertEqual(agent.stop(), 0, agent)

    def test_agent_killed(self):
        self.each(self.killed_agent, ("heartbeat",), False)

    def test_service_killed(self):
        self.each(self.killed_service, ("heartbeat",), False)

    def test_agent_killed_with_other_bytes(self):
        self.each(self.killed_agent, ("heartbeat",), True)

    def test_service_killed_with_other_bytes(self):
        self.each(self.killed_service, ("heartbeat",), True)


class DyingOwner:
    """A process that registers, and kills itself right after its step `last`: each frame that it sent
    or got is one."""

    def __init__(self, case, last, flipped, staged):
        weights = case.service.dir / "weights"
        weights.write_bytes(WRONG_WEIGHTS if flipped else WEIGHTS)
        self.process = subprocess.Popen(
            [sys.executable, "-B", harness.ROOT / "tests/support/dying_owner.py", case.socket,
             case.artifact, TENSOR[0][0], weights, str(last), *(["staged"] if staged else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
        self.steps = []

    def until(self, wanted):
        """Reads its steps until one is `wanted`; false when it died before."""
        for line in self.process.stdout:
            self.steps.append(line.strip())
            if line.strip() == wanted:
                return True
        return False

    def close(self):
        """Waits for its death, or ends it; whether it killed itself."""
        self.process.stdin.close()
        killed = self.process.wait(nodes.SLOW) == -signal.SIGKILL
        self.steps += [line.strip() for line in self.process.stdout]
        self.process.stdout.close()
        return killed

    def was_read(self):
        """Whether the node agent was given any bytes."""
        return "sent copied" in self.steps or self.steps.count("sent pieces") > 1


class OwnerKilled(Case):
    """The owner, at every step of its registration, of the job and of the watch after that."""

    def sweep(self, flipped, staged):
        with self.agent() as agent:
            agent.wait("enrolled")
            last = 0
            alive = False
            while not alive:
                last += 1
                with self.subTest(step=last):
                    alive = not self.killed(last, flipped, staged)
            self.assertGreaterEqual(last, 8)
            owner = self.owner(flipped)
            self.settles(owner, self.order(), flipped)
            owner.close()
            self.assertEqual(agent.stop(), 0, agent)
        self.service.verify_log()

    def killed(self, last, flipped, staged):
        """Whether it came to that step."""
        owner = DyingOwner(self, last, flipped, staged)
        try:
            owner.until("got registered")
            job = self.service.finished(self.order())
            if not flipped and owner.until("got state verified"):
                owner.until("sent copied" if staged else "sent pieces")  # one look of the watch
        finally:
            killed = owner.close()
        if flipped or not owner.was_read():
            self.assertNotEqual(job["result"], "verified", owner.steps)
        if killed:
            self.assertEqual(len(owner.steps), last)
        nodes.wait_until("nothing verified", self.nothing_is_verified)
        self.assertFalse(self.may_serve())
        return killed

    def nothing_is_verified(self):
        status, node = self.service.request("GET", f"/v1/nodes/{NODE}")
        return status == 200 and all(one["state"] != "verified" for one in node["instances"])

    def test_right_bytes(self):
        self.sweep(False, False)

    def test_right_bytes_that_are_copied(self):
        self.sweep(False, True)

    def test_other_bytes(self):
        with self.never():
            self.sweep(True, False)

    def test_other_bytes_that_are_copied(self):
        with self.never():
            self.sweep(True, True)


if __name__ == "__main__":
    unittest.main()
