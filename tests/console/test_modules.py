# SPDX-License-Identifier: Apache-2.0
"""Runs modules.test.js with node, beside copies of the modules and of the vectors that they read."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get("ASSAY_SOURCE_DIR", pathlib.Path(__file__).parents[2]))


class Modules(unittest.TestCase):
    def test_modules_of_the_console(self):
        node = shutil.which("node") or shutil.which("nodejs")
        if node is None:
            self.skipTest("node is not installed (Debian: nodejs)")
        with tempfile.TemporaryDirectory() as folder:
            for path in [*(ROOT / "server/console").glob("*.js"), ROOT / "tests/console/modules.test.js",
                         ROOT / "tests/vectors/log.json", ROOT / "tests/vectors/dsse.json"]:
                shutil.copy(path, folder)
            pathlib.Path(folder, "package.json").write_text('{"type": "module"}\n')
            done = subprocess.run([node, "--test", "modules.test.js"], cwd=folder, text=True,
                                  capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
