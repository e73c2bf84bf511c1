# SPDX-License-Identifier: Apache-2.0
"""Worker or service killed at every step of a job: what is recorded at the end is right, once."""
import os
import signal
import unittest

import nodes
from breaking_proxy import BreakingProxy

NODE = "node-1"
STEPS = ("challenge", "enrol", "lease", "manifest", "report")
SHORT = 2  # seconds of a lease


class Killed(unittest.TestCase):
    def setUp(self):
        self.service = self.enterContext(nodes.NodeService(
            nodes={"lease_seconds": SHORT, "mirror": "mirror", "spot_checks": 3}))
        self.artifact = self.service.publish()
        self.copy = self.service.place(NODE)
        (self.service.dir / "service/mirror/acme").mkdir(parents=True)
        self.service.run("cp", "-r", "model-a", "service/mirror/acme/demo")
        # So that there is a job before the worker that will be struck enrols.
        with self.service.worker() as first:
            first.wait("enrolled")
            self.assertEqual(first.stop(), 0)

    def ended(self, job, result):
        """The job ended once, as `result`; nothing else was ever recorded about it."""
        view = self.service.finished(job)
        self.assertEqual(view["result"], result, view)
        # The log is shown up to its anchor, which follows the row of the job within moments.
        nodes.wait_until(f"a record of {job}", lambda: self.service.records(
            type="report.accepted", subject=f"job:{job}"))  # fmt: skip
        reports = self.service.records(type="report.accepted", subject=f"job:{job}")
        self.assertEqual(len(reports), 1, reports)
        self.assertEqual(self.service.records(type="job.finished", subject=f"job:{job}"), [])

    def killed_worker(self, step, when, result):
        with BreakingProxy(self.service, step, when) as proxy:
            with self.service.worker(server=proxy.url) as worker:
                proxy.arm(worker.kill)
                job = self.service.new_job(self.artifact)
                nodes.wait_until(f"{step} of {worker}", proxy.acted.is_set)
            # Another worker takes over, without the proxy; its key is a new one.
            with self.service.worker() as second:
                second.wait("enrolled")
                self.ended(job, result)
                self.assertEqual(second.stop(), 0, second)

    def killed_service(self, step, when, result):
        with BreakingProxy(self.service, step, when, self.service.kill) as proxy:
            job = self.service.new_job(self.artifact)
            with self.service.worker(server=proxy.url) as worker:
                nodes.wait_until(f"{step} of {worker}", proxy.acted.is_set)
                self.service.start()
                self.ended(job, result)
                self.assertEqual(worker.stop(), 0, worker)

    def each(self, kill, steps, result):
        for step in steps:
            # Only an answer with a job in it is the step "lease".
            for when in ("after",) if step == "lease" else ("before", "after"):
                with self.subTest(step=step, when=when):
                    kill(step, when, result)
        self.service.verify_log()

    def test_worker_killed(self):
        self.each(self.killed_worker, (*STEPS, "spot"), "verified")

    def test_service_killed(self):
        self.each(self.killed_service, (*STEPS, "spot"), "verified")

    def flip(self):
        path = self.copy / "model.safetensors"
        content = bytearray(path.read_bytes())
        content[1_500_000] ^= 1
        path.write_bytes(content)

    def test_worker_killed_with_other_bytes(self):
        self.flip()
        self.each(self.killed_worker, ("report", "outline"), "mismatch")

    def test_service_killed_with_other_bytes(self):
        self.flip()
        self.each(self.killed_service, ("report", "outline"), "mismatch")


class Late(unittest.TestCase):
    def test_a_report_after_the_lease_is_refused(self):
        """A worker that slept through its lease reports in vain: another one has the job."""
        with nodes.NodeService(nodes={"lease_seconds": SHORT}) as service:
            artifact = service.publish()
            service.place(NODE)
            with BreakingProxy(service, "report") as proxy:
                with service.worker(server=proxy.url) as sleeper:
                    def freeze():
                        os.kill(sleeper.process.pid, signal.SIGSTOP)
                    proxy.arm(freeze)
                    sleeper.wait("enrolled")
                    job = service.new_job(artifact)
                    nodes.wait_until("the report", proxy.acted.is_set)
                    with service.worker() as second:
                        view = service.finished(job)
                        self.assertEqual(view["result"], "verified")
                        self.assertEqual(view["attempt"], 2)
                        sleeper.signal(signal.SIGCONT)
                        lost = sleeper.wait("finished", job=job)
                        self.assertEqual((lost["result"], lost["error"]["code"]),
                                         ("lost", "lease-lost"))
                        self.assertEqual(second.stop(), 0)
            self.assertEqual(len(service.records(type="report.accepted", subject=f"job:{job}")), 1)

    def test_a_job_that_nobody_survives_fails(self):
        with nodes.NodeService(nodes={"lease_seconds": 1}) as service:
            artifact = service.publish()
            service.place(NODE)
            with service.worker() as first:
                first.wait("enrolled")
                self.assertEqual(first.stop(), 0)
            job = service.new_job(artifact)
            while not service.job(job)["result"]:
                with BreakingProxy(service, "report") as proxy:
                    with service.worker(server=proxy.url) as worker:
                        proxy.arm(worker.kill)
                        nodes.wait_until(f"report of {worker}", lambda: proxy.acted.is_set()
                                         or service.job(job)["result"])
            view = service.job(job)
            self.assertEqual((view["result"], view["detail"]["code"]), ("failed", "lease-lost"))
            self.assertEqual(view["attempt"], 5)
            self.assertEqual(service.records(type="report.accepted", subject=f"job:{job}"), [])
            self.assertIsNone(view["report"])


class Draining(unittest.TestCase):
    def test_a_job_under_way_is_finished_first(self):
        with nodes.NodeService() as service:
            artifact = service.publish()
            service.place(NODE)
            with BreakingProxy(service) as proxy:
                with service.worker(server=proxy.url) as worker:
                    worker.wait("enrolled")
                    passed = proxy.ask

                    def ask(method, path, headers, body):
                        if path.endswith("manifests") or "/v1/manifests?" in path:
                            worker.signal()
                        return passed(method, path, headers, body)
                    proxy.ask = ask
                    job = service.new_job(artifact)
                    self.assertEqual(worker.end(), 0, worker)
            self.assertEqual(service.job(job)["result"], "verified")

    def test_a_second_signal_gives_the_job_up(self):
        with nodes.NodeService(nodes={"lease_seconds": SHORT}) as service:
            artifact = service.publish()
            service.place(NODE)
            with BreakingProxy(service, "report") as proxy:
                with service.worker(server=proxy.url) as worker:
                    def signals():
                        worker.signal()
                        worker.signal(signal.SIGINT)
                    proxy.arm(signals)
                    worker.wait("enrolled")
                    job = service.new_job(artifact)
                    self.assertEqual(worker.end(), 0, worker)
                    self.assertEqual(worker.wait("finished", job=job)["result"], "stopped")
            with service.worker() as second:
                self.assertEqual(service.finished(job)["result"], "verified")
                self.assertEqual(second.stop(), 0)


if __name__ == "__main__":
    unittest.main()
