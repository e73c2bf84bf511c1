# SPDX-License-Identifier: Apache-2.0
"""What an installation puts where: programs, man pages, completion, units, an example that is valid."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["ASSAY_BUILD"])
SOURCE = pathlib.Path(os.environ["ASSAY_SOURCE_DIR"])
CMAKE = os.environ["ASSAY_CMAKE"]


def run(*words, **options):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True, timeout=300,
                          **options)  # fmt: skip


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="assay-installed-"))
        cls.addClassCleanup(shutil.rmtree, cls.root)
        for words in (("--build", BUILD, "--target", "packages"),
                      ("--install", BUILD, "--prefix", cls.root, "--strip")):  # fmt: skip
            done = run(CMAKE, *words)
            assert done.returncode == 0, done.stdout + done.stderr

    def files(self, below):
        folder = self.root / below
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def test_programs_run_from_there(self):
        self.assertEqual(self.files("bin"), ["assay", "assay-verifier-host", "assayd"])
        for program in ("assay", "assayd"):
            self.assertRegex(run(self.root / "bin" / program, "--version").stdout, r"\d+\.\d+")

    def test_each_verb_has_its_page_and_each_shell_its_completion(self):
        pages = self.files("share/man/man1")
        self.assertIn("assay.1", pages)
        self.assertIn("assay-manifest-verify.1", pages)
        for place in ("bash-completion/completions/assay", "zsh/vendor-completions/_assay",
                      "fish/vendor_completions.d/assay.fish"):  # fmt: skip
            self.assertIn("assay", (self.root / "share" / place).read_text())

    def test_example_configuration_is_valid(self):
        example = self.root / "share/doc/assayd/examples/assayd.json"
        state = self.root / "state"
        state.mkdir()
        config = self.root / "assayd.json"
        config.write_text(example.read_text().replace("/var/lib/assay", str(state)))
        setup = run(self.root / "bin/assay", "setup", self.root / "trial")
        self.assertEqual(setup.returncode, 0, setup.stderr)
        made = run(self.root / "bin/assayd", "init", "--config", config, "--bootstrap",
                   self.root / "trial/service/bootstrap.json")  # fmt: skip
        self.assertEqual(made.returncode, 0, made.stderr)
        done = run(self.root / "bin/assayd", "check-config", "--config", config)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_units_name_what_is_installed_and_hold_the_service_tight(self):
        units = self.root / "lib/systemd/system"
        self.assertEqual(self.files("lib/systemd/system"), ["assay-node.service", "assayd.service"])
        for unit in units.iterdir():
            for start in re.findall(r"^Exec\w+=(\S+)", unit.read_text(), re.M):
                self.assertTrue(start.startswith("/bin/") or (self.root / "bin" / start).exists(), start)
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed: the units' words are not checked")
        # Programs are looked up in fixed folders, which have none here.
        for unit in units.iterdir():
            text = re.sub(r"^(Exec(?:StartPre|Start))=\S+", r"\1=/bin/true", unit.read_text(), flags=re.M)
            unit.write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
            found = run("systemd-analyze", "verify", unit)
            self.assertEqual((found.returncode, found.stderr), (0, ""))
        score = run("systemd-analyze", "security", "--offline=yes", "--threshold=25",
                    units / "assayd.service")  # fmt: skip
        self.assertEqual(score.returncode, 0, score.stdout)


if __name__ == "__main__":
    unittest.main()
