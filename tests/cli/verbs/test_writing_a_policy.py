# SPDX-License-Identifier: Apache-2.0
"""docs/writing-a-policy.md: its commands are run in order, and print what the page shows. With
`--write` the page gets the outputs that they have now. The commands at the head of docs/policies.md
and docs/policies/README.md work, too."""
import json
import pathlib
import re
import subprocess
import sys

import harness

PAGE = harness.SOURCE / "docs/writing-a-policy.md"
BLOCK = re.compile(r"^```(json policy\.json|json condition|sh|text)\n(.*?)^```$", re.S | re.M)


class Page(harness.TestCase):
    def run_page(self):
        """(what the page shows, what was printed) for each output on the page."""
        (self.dir / "docs").symlink_to(harness.SOURCE / "docs")
        environment = {**self.environment, "PATH": f"{pathlib.Path(harness.PROGRAM).parent}:"
                                                   f"{self.environment['PATH']}"}  # fmt: skip
        shown, printed = [], None
        for kind, text in BLOCK.findall(PAGE.read_text()):
            if kind == "json policy.json":
                self.write("policy.json", text)
            elif kind == "json condition":
                policy = self.read_json("policy.json")
                policy["require"].append(json.loads(text))
                self.write_json("policy.json", policy)
            elif kind == "sh":
                printed = subprocess.run(["bash", "-c", text], cwd=self.dir, env=environment,
                                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                         text=True, timeout=harness.SLOW).stdout  # fmt: skip
            else:
                shown.append((text, printed))
        return shown

    def test_outputs_are_real(self):
        shown = self.run_page()
        self.assertGreater(len(shown), 6)
        for written, printed in shown:
            self.assertEqual(written, printed)

    def test_commands_of_the_other_pages_work(self):
        for folder in ("docs", "deploy"):
            (self.dir / folder).symlink_to(harness.SOURCE / folder)
        environment = {**self.environment, "PATH": f"{pathlib.Path(harness.PROGRAM).parent}:"
                                                   f"{self.environment['PATH']}"}  # fmt: skip
        for page in ("docs/policies.md", "docs/policies/README.md"):
            block = re.search(r"^```(?:sh)?\n(.*?)^```$", (harness.SOURCE / page).read_text(),
                              re.S | re.M)[1]  # fmt: skip
            self.assertIn("assay policy test", block)
            with self.subTest(page=page):
                done = subprocess.run(["bash", "-ec", block], cwd=self.dir, env=environment,
                                      capture_output=True, text=True, timeout=harness.SLOW)  # fmt: skip
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_steps_end_at_the_ready_policy(self):
        self.run_page()
        built = self.read_json("policy.json")["require"]
        ready = json.loads((harness.SOURCE / "docs/policies/atlas-three-stage.json").read_text())
        stages = {one["id"]: one for one in ready["require"]}
        parts = stages.pop("stage-1-expected-signers")["all"] + list(stages.values())
        self.assertEqual({one["id"]: one for one in built}, {one["id"]: one for one in parts})


def write():
    case = Page("test_outputs_are_real")
    case.setUp()
    outputs = iter([printed for _, printed in case.run_page()])
    page = BLOCK.sub(lambda found: f"```text\n{next(outputs)}```" if found[1] == "text" else found[0],
                     PAGE.read_text())  # fmt: skip
    PAGE.write_text(page)
    case.doCleanups()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        harness.main()
