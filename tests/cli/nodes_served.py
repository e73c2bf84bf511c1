# SPDX-License-Identifier: Apache-2.0
"""A small server of our own that answers as the service does about nodes and jobs."""
import datetime

import harness
from tls_server import Answer, Server, make_certificate

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
        # A job that compiles kernels first may outlive a third of its lease.
        self.answer(f"POST /v1/jobs/{JOB}:renew", Answer(200, {"expires_at": time_text(60)}))

    def answer(self, what, *answers):
        self.server.answers[what] = list(answers)

    def requests(self, what):
        """(target, body) of the requests of this method and path."""
        return [(target, body) for method, target, _, body in list(self.server.requests)
                if f"{method} {target.split('?')[0]}" == what]
