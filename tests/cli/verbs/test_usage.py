# SPDX-License-Identifier: Apache-2.0
"""Every verb explains itself; wrong usage is told apart from a "no"."""
import json
import pathlib
import re
import shutil
import subprocess

import harness
from harness import TROUBLE


class Usage(harness.TestCase):
    def subcommands(self, path):
        text = self.assay(*path, "--help").out
        found, inside = [], False
        for line in text.splitlines():
            if re.match(r"[A-Z][a-z ]+:$", line):
                inside = line not in ("Arguments:", "Options:", "Examples:")
            elif inside and re.match(r"  \S", line):
                found.append(line.split()[0])
            elif line == "":
                inside = False
        return text, found

    def verbs(self, path=()):
        text, below = self.subcommands(path)
        if not below:
            yield path, text
        for name in below:
            yield from self.verbs((*path, name))

    def test_every_verb_has_help_with_an_example(self):
        verbs = list(self.verbs())
        self.assertGreater(len(verbs), 35)
        for path, text in verbs:
            with self.subTest(verb=" ".join(path)):
                self.assertIn("Examples:", text)
                self.assertIn("\n  assay ", text)
                for comment in re.findall(r"^  # (.*)\n(?:  # .*\n)*  assay ", text, re.MULTILINE):
                    self.assertRegex(comment, r"^[a-z]+ \S+ \S+", "say what the example does")
                self.assertTrue(text.splitlines()[1].startswith("Usage: assay " + path[0]), text)
                if path != ("help",):
                    self.assertEqual(self.assay("help", *path).out, text)
                    self.assertIn("--output", text)

    def test_verbs_of_the_contract(self):
        names = {" ".join(path) for path, _ in self.verbs()}
        for verb in ("hash", "device list", "device selftest", "device bench", "manifest create",
                     "manifest sign", "manifest verify", "manifest show", "manifest prove", "push",
                     "get", "search", "policy lint", "policy test", "policy diff", "policy activate",
                     "decide", "explain", "admission test", "audit events", "audit export", "log checkpoint",
                     "log prove", "log verify", "log mirror", "key new", "key revoke", "token new",
                     "sign", "attest create", "decision verify", "trust change", "worker run",
                     "node list", "node show", "job new", "job list", "job show",
                     "evidence verify", "evidence collect", "evidence simulate"):  # fmt: skip
            self.assertIn(verb, names)

    def test_version(self):
        self.assertRegex(self.assay("--version").out, r"\Aassay \d+\.\d+\.\d+\n\Z")

    def test_explain(self):
        text = self.assay("explain", "manifest-missing").out
        self.assertIn("manifest-missing: No manifest by a trusted publisher names this model\n", text)
        self.assertIn("\n  What to do: ", text)
        shown = self.assay("explain", "key-revoked", "-o", "json").json()
        self.assertEqual([m["kind"] for m in shown["meanings"]], ["reason", "error"])
        reason, error = shown["meanings"]
        self.assertEqual(set(reason), {"kind", "code", "title", "explanation", "next"})
        self.assertEqual(set(error), {"kind", "code", "title", "next", "http_status", "retryable"})
        self.assertEqual((error["http_status"], error["retryable"]), (422, False))
        both = self.assay("explain", "key-revoked").out
        self.assertIn("A reason of a decision", both)
        self.assertIn("HTTP status 422", both)

    def test_explain_lists_all_codes(self):
        codes = self.assay("explain", "-o", "json").json()["codes"]
        for kind, table in (("reason", "schemas/reason_codes.def"),
                            ("error", "schemas/core/error_codes.def")):
            rows = re.findall(r'^ASSAY_[A-Z]+\(\w+, "([^"]+)"', (harness.SOURCE / table).read_text(),
                              re.MULTILINE)
            self.assertEqual([c["code"] for c in codes if c["kind"] == kind], rows)
        text = self.assay("explain").out
        for entry in codes:
            self.assertRegex(text, rf"(?m)^{entry['code']} +{entry['kind']} +{re.escape(entry['title'])}$")

    def test_explain_of_no_code(self):
        self.assertEqual(self.error("explain", "no-such-code"), "usage")

    def test_wrong_usage(self):
        for arguments in ([], ["hash"], ["nosuchverb"], ["manifest"], ["hash", "x", "--nosuch"],
                          ["hash", ".", "--hash", "md5"], ["hash", ".", "--chunk-size", "many"],
                          ["hash", ".", "--chunk-size", "5000"], ["hash", ".", "-o", "yaml"],
                          ["help", "nosuchverb"], ["key", "new"], ["sign", "x"],
                          ["hash", ".", "--device", "abacus"]):  # fmt: skip
            with self.subTest(arguments=arguments):
                result = self.assay(*arguments, code=TROUBLE)
                self.assertEqual(result.out, "")
                self.assertTrue(result.err.startswith("error: "), result.err)

    def test_a_verb_that_there_is_not(self):
        for arguments, word, where in ((["polcy"], "polcy", "assay"),
                                       (["policy", "tset"], "tset", "assay policy")):  # fmt: skip
            err = self.assay(*arguments, code=TROUBLE).err
            self.assertIn(f"There is no verb '{word}'; did you mean", err)
            self.assertIn(f"See '{where} --help'", err)
        self.assertIn("A subcommand is required", self.assay("policy", code=TROUBLE).err)

    def test_the_list_of_verbs_is_by_task(self):
        text = self.assay("help").out
        self.assertEqual(re.findall(r"(?m)^([A-Z][a-z ]+):$", text), [
            "Begin", "Make and sign", "Publish and find", "Verify offline", "Decide what may run",
            "Run nodes and pods", "Govern and audit", "Options", "Examples"])  # fmt: skip

    def test_man_pages_are_made_of_the_same_words(self):
        (self.dir / "man").mkdir()
        self.assay("man", "--out", "man")
        pages = {path.name for path in (self.dir / "man").iterdir()}
        for path, text in self.verbs():
            self.assertIn("-".join(("assay", *path)) + ".1", pages)
        page = self.assay("man", "manifest", "verify").out
        self.assertEqual(page, (self.dir / "man/assay-manifest-verify.1").read_text())
        for option in re.findall(r"(?m)^  (--[a-z-]+)", self.assay("help", "manifest", "verify").out):
            self.assertIn(option.replace("-", "\\-"), page)
        self.assertNotIn("worker-reader", " ".join(pages), "hidden verbs have no page")
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings", "-l", "man/assay-manifest-verify.1"],
                                  cwd=self.dir, capture_output=True, check=True,
                                  env={**self.environment, "MANPAGER": "cat"}, timeout=harness.SLOW)  # fmt: skip
            self.assertEqual(done.stderr, b"")
            self.assertIn(b"--threshold", done.stdout)

    def completed(self, *words):
        return [line.split("\t")[0] for line in self.assay("__complete", *words).out.splitlines()]

    def test_completion(self):
        for words, expected in ((("poli",), ["policy"]), (("policy", "de"), ["deactivate"]),
                                (("decide", "--point", ""), ["create", "bind", "serve"]),
                                (("decide", "--poi"), ["--point"]), (("decide", "--model", ""), []),
                                (("sign", "--key", ""), [":files"]), (("sign", "x", "y"), []),
                                (("help", "policy", "ac"), ["activate"]),
                                (("worker", "rea"), [])):  # fmt: skip
            with self.subTest(words=words):
                self.assertEqual(self.completed(*words), expected)
        self.assertEqual(self.completed("sign", ""), [":files"])

    def test_each_shell_completes(self):
        inside = {"bash": "source <({a} completion bash); COMP_WORDS=({a} policy deac); COMP_CWORD=2; "
                          "_assay; echo ${{COMPREPLY[*]}}",
                  "fish": "{a} completion fish | source; complete -C '{a} policy deac'"}  # fmt: skip
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell=shell):
                script = self.assay("completion", shell).out
                self.write("script", script)
                if shutil.which(shell) is None:
                    continue
                check = [shell, "-n", "script"]
                subprocess.run(check, cwd=self.dir, check=True, env=self.environment)
                if shell in inside:
                    command = inside[shell].format(a="assay")
                    path = f"{pathlib.Path(harness.PROGRAM).parent}:{self.environment['PATH']}"
                    done = subprocess.run([shell, "-c", command], cwd=self.dir, capture_output=True,
                                          env={**self.environment, "PATH": path}, check=True)  # fmt: skip
                    self.assertEqual(done.stdout.decode().split()[0], "deactivate", done.stderr)
        self.assertEqual(self.error("completion", "tcsh"), "usage")

    def test_errors_as_json(self):
        result = self.assay("hash", "-o", "json", code=TROUBLE)
        error = json.loads(result.err)["error"]
        self.assertEqual(error["code"], "usage")
        self.assertIn("PATH", error["detail"])
        self.assertEqual(self.error("hash", "no/such/path"), "file-unreadable")

    def test_missing_address_of_the_service(self):
        self.assertEqual(self.error("decide", "--model", "acme/demo"), "usage")
        self.assertEqual(self.error("trust", "show", "--server", "http://localhost:1"), "usage")

    def test_a_result_that_cannot_be_written_is_trouble(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.PROGRAM, "--version"], stdout=full, check=False,
                                  stderr=subprocess.PIPE, timeout=harness.SLOW)  # fmt: skip
        self.assertEqual(done.returncode, TROUBLE, done.stderr)


if __name__ == "__main__":
    harness.main()
