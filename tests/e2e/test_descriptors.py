# SPDX-License-Identifier: Apache-2.0
"""A process that may open few files: silent strangers on the API leave admission its own."""
import contextlib
import json
import resource
import socket
import time
import unittest

import harness
from test_recovery import Admitting


class Descriptors(unittest.TestCase):
    LIMIT = 256

    def lowered(self, service):
        lines = [json.loads(line) for line in (service.dir / "assayd.log").read_text().splitlines()
                 if line.startswith("{")]  # fmt: skip
        return [line for line in lines if line["event"] == "connections_lowered"]

    def test_silent_strangers_on_the_api_leave_admission_its_descriptors(self):
        with Admitting() as service, contextlib.ExitStack() as strangers:
            self.assertEqual(self.lowered(service), [])
            service.stop()
            service.start("prlimit", f"--nofile={self.LIMIT}:{self.LIMIT}")
            [line] = self.lowered(service)
            self.assertEqual((line["descriptors"], line["configured"]), (self.LIMIT, 1024))
            self.assertLess(2 * line["max_connections"], self.LIMIT)
            self.assertLess(line["max_connections_per_address"], line["max_connections"])
            for _ in range(2 * self.LIMIT):
                strangers.enter_context(
                    socket.create_connection(("127.0.0.1", service.port), timeout=30))
            longest = 0
            for number in range(20):
                start = time.monotonic()
                self.assertTrue(service.admitted(f"pod-{number}"))
                longest = max(longest, time.monotonic() - start)
            self.assertLess(longest, 2, "admission waits for a descriptor")
            self.assertEqual(service.request("GET", "/readyz", token=None)[0], 200)
            print(f"longest answer of admission: {longest * 1000:.0f} ms", flush=True)

    def test_soft_limit_is_raised_and_a_hard_one_that_is_too_low_is_refused(self):
        with harness.Service() as service:
            _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            self.assertGreater(hard, 2048, "this machine cannot show it")
            service.stop()
            service.start("prlimit", f"--nofile=64:{hard}")
            self.assertEqual(self.lowered(service), [])
            service.stop()
            done = service.run("prlimit", "--nofile=64:64", "assayd", "run", "--config",
                               "service/assayd.json", check=False)  # fmt: skip
            self.assertEqual(done.returncode, 2)
            self.assertIn("invalid-config", done.stderr)
            self.assertIn("RLIMIT_NOFILE", done.stderr)


if __name__ == "__main__":
    unittest.main()
