# SPDX-License-Identifier: Apache-2.0
"""The demo, with a small model of the user's own: every step and every refusal comes out; the service can
be kept."""
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request
import xml.etree.ElementTree

import harness
import pypi


class Story(unittest.TestCase):
    def test_demo_comes_out_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as scratch:
            model = pathlib.Path(scratch) / "model"
            subprocess.run([sys.executable, "-B", harness.ROOT / "tests/support/make_model.py",
                            str(model), "--size", "2MB"], check=True, capture_output=True)
            temporary = pathlib.Path(scratch) / "tmp"
            temporary.mkdir()
            env = {"PATH": "/usr/bin:/bin", "HOME": scratch, "TMPDIR": str(temporary),
                   "ASSAY_BIN": str(harness.BIN), "LC_ALL": "C.UTF-8",
                   "ASSAY_DEMO_OUT": f"{scratch}/pictures", "ASSAY_MODEL_SIGNING": self.model_signing()}
            done = subprocess.run([harness.ROOT / "deploy/demo/run.sh", str(model)], env=env,
                                  text=True, capture_output=True, timeout=280)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr[-4000:])
            self.assertIn("everything came out as expected", done.stdout)
            self.assertEqual(list(temporary.iterdir()), [])
            self.assertEqual(self.processes_below(temporary), [])
            self.look_at_pictures(pathlib.Path(scratch) / "pictures")

    @staticmethod
    def model_signing():
        """A Python with the package; where PyPI has none the demo skips its chapter, with the reason."""
        try:
            return str(pypi.python_with("model-signing==1.1.1", "model_signing.signing", "pyopenssl"))
        except unittest.SkipTest:
            return "/none"

    def test_demo_that_is_kept_serves_its_console(self):
        with tempfile.TemporaryDirectory() as scratch:
            env = {"PATH": "/usr/bin:/bin", "HOME": scratch, "TMPDIR": scratch, "LC_ALL": "C.UTF-8",
                   "ASSAY_BIN": str(harness.BIN), "ASSAY_DEMO_CHAPTER": "first", "ASSAY_DEMO_KEEP": "1"}
            subprocess.run([sys.executable, "-B", harness.ROOT / "tests/support/make_model.py",
                            f"{scratch}/model", "--size", "2MB"], check=True, capture_output=True)
            done = subprocess.run([harness.ROOT / "deploy/demo/run.sh", f"{scratch}/model"], env=env,
                                  text=True, capture_output=True, timeout=120)
            process = re.search(r"end it +kill (\d+); rm -r (\S+)", done.stdout)
            self.assertIsNotNone(process, done.stdout[-2000:] + done.stderr[-2000:])
            try:
                address = re.search(r"console +(\S+)/console ", done.stdout)[1]
                token = re.search(r"token +(\S+)", done.stdout)[1]
                self.assertIn("main.js", self.ask(process[2], f"{address}/console"))
                self.assertIn('"verdict":"allow"', self.ask(process[2], f"{address}/v1/decisions", token))
            finally:
                os.kill(int(process[1]), signal.SIGTERM)
                harness.wait_until("the service ends", lambda: not self.processes_below(scratch), 30)

    @staticmethod
    def ask(folder, url, token=""):
        context = ssl.create_default_context(cafile=f"{folder}/service/tls.crt")
        context.check_hostname = False
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context) as answer:
            return answer.read().decode()

    def look_at_pictures(self, folder):
        good, withdrawn = ((folder / name).read_text()
                           for name in ("lineage.svg", "lineage-withdrawn.svg"))  # fmt: skip
        for picture in (good, withdrawn):
            root = xml.etree.ElementTree.fromstring(picture)
            shown = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
            for name in ("acme/corpus", "acme/base", "acme/adapter", "acme/merged", "acme/chat",
                         "dataset", "adapter", "base-model"):  # fmt: skip
                self.assertIn(name, shown)
            self.assertEqual(shown.count("TDX"), 3)  # training, merge, quantisation
        self.assertIn("collect by data@acme.example (withdrawn)", withdrawn)
        self.assertNotIn("collect by data@acme.example (withdrawn)", good)

    @staticmethod
    def processes_below(directory):
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(process / "cwd").startswith(str(directory)):
                    found.append(process.name)
            except OSError:
                continue
        return found


if __name__ == "__main__":
    unittest.main()
