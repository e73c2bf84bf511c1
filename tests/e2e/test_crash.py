# SPDX-License-Identifier: Apache-2.0
"""A service killed in the middle of pushes comes back with everything it acknowledged."""
import contextlib
import http.client
import json
import os
import random
import threading
import unittest

import harness

WRITERS = 8
ROUNDS = int(os.environ.get("ASSAY_CRASH_ROUNDS", "3"))


class Crash(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("ASSAY_SEED", random.randrange(1 << 30)))
        print(f"seed {self.seed} (set ASSAY_SEED to repeat)", flush=True)

    def statements(self, service, count):
        """Signed evaluations of one model; each a statement of its own."""
        service.manifest("base")
        envelopes = []
        for i in range(count):
            service.run("assay", "attest", "create", "--stage", "evaluate", "--subject", "base.json",
                        "--metric", f"accuracy=0.{i + 1:03}", "--out", f"s{i}.json")
            service.run("assay", "sign", f"s{i}.json", "--key", "keys/evaluator.pem",
                        "--out", f"s{i}.signed.json")
            envelopes.append((service.dir / f"s{i}.signed.json").read_bytes())
        return envelopes

    def push_until_killed(self, service, envelopes, after):
        """Pushes from several connections; kills the service at the acknowledgement `after`."""
        acknowledged, lock, reached = [], threading.Lock(), threading.Event()
        queue = list(envelopes)
        started = threading.Barrier(WRITERS + 1)

        def push():
            started.wait()
            with contextlib.closing(service.connect()) as connection:
                while True:
                    with lock:
                        if not queue:
                            return
                        envelope = queue.pop()
                    try:
                        status, answer = service.request(
                            "POST", "/v1/attestations", envelope, connection=connection)
                    except (OSError, http.client.HTTPException):
                        return  # broken in the middle: not acknowledged
                    self.assertIn(status, (200, 201))
                    with lock:
                        acknowledged.append((answer, envelope))
                        if len(acknowledged) == after:
                            reached.set()

        threads = [threading.Thread(target=push) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        started.wait()
        self.assertTrue(reached.wait(60))
        service.kill()
        for thread in threads:
            thread.join()
        return acknowledged

    def test_kill_during_pushes_loses_nothing_acknowledged(self):
        chance = random.Random(self.seed)
        with harness.Service() as service:
            per_round = 40
            envelopes = self.statements(service, per_round * ROUNDS)
            for turn in range(ROUNDS):
                batch = envelopes[turn * per_round:(turn + 1) * per_round]
                acknowledged = self.push_until_killed(service, batch, chance.randrange(1, per_round - WRITERS))
                service.start()
                print(f"round {turn}: {len(acknowledged)} of {per_round} acknowledged", flush=True)
                receipts = []
                for i, (answer, envelope) in enumerate(acknowledged):
                    status, view = service.request("GET", f"/v1/attestations/{answer['id']}")
                    self.assertEqual(status, 200, answer["id"])
                    self.assertEqual(view["log_index"], answer["log"]["index"])
                    path = service.dir / f"receipt-{turn}-{i}.json"
                    path.write_text(json.dumps(answer["log"]))
                    receipts += ["--receipt", str(path)]
                    # A retry finds it, and says so.
                    self.assertEqual(service.request("POST", "/v1/attestations", envelope)[0], 200)
                service.verify_log(*receipts)
            self.assertEqual(service.stop(), 0)


if __name__ == "__main__":
    unittest.main()
