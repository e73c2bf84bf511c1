# SPDX-License-Identifier: Apache-2.0
"""Schemathesis against a service of its own: no 5xx, no wrong 405, nothing served that
schemas/openapi.yaml does not say, and at most 1 % of what it allows refused, for documented reasons
(schemathesis_hooks.py).

    schemathesis_run.py SCHEMATHESIS SECONDS [option of schemathesis...]

SCHEMATHESIS is the program; its settings are in schemathesis.toml beside this file. The webhooks
have a listener of their own and are left out: tests/kubernetes drives them.
"""
import json
import os
import pathlib
import subprocess
import sys

import harness
import schemathesis_reasons

ROLES = ("reader", "submitter", "worker", "policy-author", "policy-approver", "decider", "auditor",
         "monitor", "admin")  # fmt: skip
HERE = pathlib.Path(__file__).parent


class Service(harness.Service):
    def _extend(self):
        self.principal("everybody", *ROLES)


def is_small(share):
    """The program prints what the hooks counted. They are imported where Schemathesis is."""
    if not share.exists():
        print("schemathesis: nothing was counted")
        return False
    counts = json.loads(share.read_text())
    return schemathesis_reasons.judge(counts)


def main(program, seconds, *options):
    with Service() as service:
        service.request("POST", "/v1/manifests", service.manifest(),
                        content_type="application/vnd.dsse.envelope.v1+json")  # fmt: skip
        share = service.dir / "share.json"
        environment = {**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
                       "PYTHONPATH": str(HERE),
                       "ASSAY_SHARE_FILE": str(share)}  # fmt: skip
        base = f"https://127.0.0.1:{service.port}"
        done = subprocess.run(
            [program, "--config-file", HERE / "schemathesis.toml", "run", f"{base}/openapi.json",
             "--url", base, "--tls-verify", service.dir / "service/tls.crt",
             "-H", f"Authorization: Bearer {service.token('everybody')}",
             "--exclude-path-regex", "^/v1/admission/", "--max-time", seconds,
             # NUL is in no name and no text of a document, which no schema repeats.
             "--generation-allow-x00", "false", "--continue-on-failure", *options],
            cwd=service.dir, check=False, env=environment)  # fmt: skip
        if service.process.poll() is not None:
            print("schemathesis: the service ended\n" + service.log_tail())
            return 1
        small = is_small(share)
        return done.returncode or (0 if small else 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
