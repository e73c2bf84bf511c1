# SPDX-License-Identifier: Apache-2.0
"""docs/python.md, "On one machine", does what it says: its own commands after those of
docs/getting-started.md, in one shell. With PyTorch where the Python that runs this has it, else with
stand_in/ in its place."""
import importlib.util
import re
import unittest

import harness
import test_getting_started

TORCH = importlib.util.find_spec("torch") is not None
STAND_IN = "" if TORCH else f":{harness.ROOT / 'tests/e2e/stand_in'}"


def section():
    text = (harness.ROOT / "docs/python.md").read_text()
    return re.findall(r"^```\n(.*?)^```$", text.split("\n## On one machine\n")[1].split("\n## ")[0], re.S | re.M)


def instead(text, old, new):
    assert text.count(old) == 1, f"the page lost: {old}"
    return text.replace(old, new)


class OnOneMachine(test_getting_started.GettingStarted):
    # Not those of that page again.
    test_every_command_of_the_page_works = None
    test_lineage_of_the_trial_model = None
    test_a_path_of_at_most_a_dozen_commands_leads_to_the_first_answer = None

    def test_every_command_of_the_section_works(self):
        page = "\n".join(section())
        # Installed already, or stood for.
        page = instead(page, "python3 -m venv trial/venv\n. trial/venv/bin/activate\n"
                       "pip install ./python torch numpy safetensors\n",
                       f"export PYTHONPATH={harness.ROOT / 'python/src'}{STAND_IN}\n")  # fmt: skip
        # A shell waits for nobody, a reader does.
        page = instead(page, "2>>trial/assayd.log &\n", "2>>trial/assayd.log &\n"
                       "until curl -skf $ASSAY_SERVER/livez >/dev/null; do kill -0 %1; done\n")  # fmt: skip
        page = instead(page, ">trial/worker.log &\n", ">trial/worker.log &\n"
                       "until [ -S trial/run/register.sock ]; do kill -0 %2; sleep 0.1; done\n")  # fmt: skip
        done = self.run_page([*test_getting_started.commands()[:1], page, "cat trial/worker.log; kill %2; wait %2"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        before, after = done.stdout.split("\nverified\n")
        self.assertIn("verified", before)  # by the job
        allowed, denied = after.split("\nviolated ")
        self.assertRegex(allowed, r"(?m)^allow\b")
        self.assertIn("tensor='0.weight'", denied.splitlines()[0])
        self.assertRegex(denied, r"(?m)^deny\b")
        self.assertIn("instance-violated", denied)


if __name__ == "__main__":
    unittest.main()
