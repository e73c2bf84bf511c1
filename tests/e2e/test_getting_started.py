# SPDX-License-Identifier: Apache-2.0
"""docs/getting-started.md, docs/lineage.md and docs/simulated-node.md do what they say: their own commands,
in one shell, in an empty folder."""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

import harness

def commands(page="getting-started"):
    """The blocks that the page marks as ones to type after building."""
    text = (harness.ROOT / f"docs/{page}.md").read_text()
    return re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class GettingStarted(unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="assay-started-"))
        self.addCleanup(shutil.rmtree, self.dir)

    def run_page(self, blocks):
        port = free_port()
        script = "set -eux\ntrap 'kill %1 && wait %1' EXIT\n" + "\n".join(blocks)
        # Another port than the page's, which may be taken; and a shell waits for nobody, a reader does.
        script = script.replace("assay setup trial", f"assay setup trial --port {port}")
        script = script.replace(". trial/env", ". trial/env; until curl -skf "
                                "$ASSAY_SERVER/livez >/dev/null; do kill -0 %1; done")
        python = pathlib.Path(sys.executable).parent
        env = {"PATH": f"{harness.BIN}:{python}:/usr/bin:/bin", "HOME": str(self.dir), "LC_ALL": "C.UTF-8"}
        if "ASSAY_TEST_POCL_CACHE" in os.environ:
            env["POCL_CACHE_DIR"] = os.environ["ASSAY_TEST_POCL_CACHE"]
        return subprocess.run(["bash", "-c", script], cwd=self.dir, env=env, text=True,
                              capture_output=True, timeout=120)

    def test_every_command_of_the_page_works(self):
        blocks = commands()
        self.assertGreaterEqual(len(blocks), 7, "the page lost its commands")
        done = self.run_page(blocks)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^allow\b")
        self.assertRegex(done.stdout, r"(?m)^deny\b")
        # What README.md shows is what the page's commands print.
        shown = re.search(r"^```\n(\$ assay decide .*?)^```$", (harness.ROOT / "README.md").read_text(), re.S | re.M)
        for answer in re.split(r"^\$ .*\n", shown[1], flags=re.M):
            self.assertIn(answer.strip(), done.stdout)

    def test_lineage_of_the_trial_model(self):
        blocks = commands("lineage")
        self.assertGreaterEqual(len(blocks), 4, "the page lost its commands")
        # Up to the published manifest: what the page starts from.
        done = self.run_page(commands()[:3] + blocks)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("dataset: acme/corpus", done.stdout)
        self.assertIn("MISSING", done.stdout)
        self.assertRegex(done.stdout, r"\[collect by trainer@acme.example\] +Apache-2.0")
        self.assertIn("</svg>", (self.dir / "demo.svg").read_text())

    def test_node_with_simulated_evidence(self):
        blocks = commands("simulated-node")
        self.assertGreaterEqual(len(blocks), 4, "the page lost its commands")
        done = self.run_page(commands()[:3] + blocks)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"(?m)^.*\bsim-1\b")
        self.assertIn("UpToDate", done.stdout)
        self.assertIn("verified", done.stdout)

    def test_a_path_of_at_most_a_dozen_commands_leads_to_the_first_answer(self):
        before = "\n".join(commands()).split("assay decide")[0]
        typed = [line for line in before.splitlines() if line and not line.startswith("echo")]
        self.assertLessEqual(len(typed), 12, typed)


if __name__ == "__main__":
    unittest.main()
