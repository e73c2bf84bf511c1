# SPDX-License-Identifier: Apache-2.0
"""docs/operations.md does what it says, and describes what there is: configuration and metrics."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import unittest

import harness

PAGE = (harness.ROOT / "docs/operations.md").read_text()
# Waits for a service that was just started; one that ends meanwhile is an error.
WAIT = ("; until curl -skf $ASSAY_SERVER/livez >/dev/null; do kill -0 $SERVICE; sleep 0.05; done")


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(title):
    """What the first column of the section's table names, in backquotes."""
    names = []
    for line in section(title).splitlines():
        if line.startswith("| `"):
            names += re.findall(r"`([^`]+)`", line.split("|")[1])
    return names


def members(schema, before=""):
    """Paths of all members that have no members of their own."""
    found = []
    for name, member in schema["properties"].items():
        path = before + name
        found += members(member, path + ".") if "properties" in member else [path]
    return found


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Operations(unittest.TestCase):
    def test_every_member_of_the_configuration_is_described_once(self):
        schema = json.loads((harness.ROOT / "schemas/json/config.schema.json").read_text())
        self.assertEqual(sorted(rows("Configuration")), sorted(members(schema)))

    def test_every_metric_is_described_once(self):
        source = (harness.ROOT / "server/metrics.cc").read_text()
        made = re.findall(r"(?:counter|gauge|histogram)\(\s*registry,\s*\"([a-z_]+)\"", source)
        self.assertGreater(len(made), 10)
        self.assertEqual(sorted(rows("Health and metrics")), sorted(made))

    def test_reasons_of_readiness_are_the_service_s(self):
        for reason, file in (("storage", "server/api/operations.cc"),
                             ("clock-behind", "server/service/services.h")):
            self.assertIn(f'"{reason}: ', (harness.ROOT / file).read_text())
            self.assertIn(f"`{reason}`", section("Health and metrics"))

    def test_the_page_names_files_that_are_there(self):
        for name in re.findall(r"\]\(([a-z-]+\.md)\)", PAGE):
            self.assertTrue((harness.ROOT / "docs" / name).exists(), name)

    def test_every_command_works(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="assay-operations-"))
        self.addCleanup(shutil.rmtree, folder)
        blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.S | re.M)
        self.assertGreaterEqual(len(blocks), 9, "the page lost its commands")
        script = "set -eux\ntrap 'kill $SERVICE || true' EXIT\n" + "\n".join(blocks)
        # Another port than the page's, which may be taken; and a reader waits where a shell does not.
        script = script.replace("assay setup trial", f"assay setup trial --port {free_port()}")
        script = script.replace(". trial/env", ". trial/env" + WAIT)
        env = {"PATH": f"{harness.BIN}:/usr/bin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8"}
        if "ASSAY_TEST_POCL_CACHE" in os.environ:
            env["POCL_CACHE_DIR"] = os.environ["ASSAY_TEST_POCL_CACHE"]
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, text=True,
                              capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('"needed": false', done.stdout, "nothing was lost")
        self.assertIn("olivia", done.stdout, "the third operator")


if __name__ == "__main__":
    unittest.main()
