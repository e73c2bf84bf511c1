# SPDX-License-Identifier: Apache-2.0
"""Runs the real program in an environment of its own. Used by the tests of this folder."""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "support"))
import seen_codes  # noqa: E402

PROGRAM = os.environ.get("ASSAY_PROGRAM", str(SOURCE / "build" / "dev" / "bin" / "assay"))
SLOW = 120  # seconds that one call may take, on a loaded machine

YES, NO, TROUBLE = 0, 1, 2


class Result:
    """What one call did."""

    def __init__(self, arguments, done):
        self.arguments = arguments
        self.code = done.returncode
        self.raw = done.stdout
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    def json(self):
        return json.loads(self.raw)

    def __str__(self):
        return f"{' '.join(self.arguments)}: exit {self.code}\n{self.out}\n{self.err}"


class TestCase(unittest.TestCase):
    """A test with a directory of its own, `self.dir`, which is also the home."""

    maxDiff = None

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="assay-cli-"))
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        kernels = os.environ.get("ASSAY_TEST_POCL_CACHE", str(self.dir / "pocl"))
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.dir),
            "XDG_CONFIG_HOME": str(self.dir / "config"),
            "XDG_CACHE_HOME": str(self.dir / "cache"),
            "POCL_CACHE_DIR": kernels,
            "LC_ALL": "C.UTF-8",
            "TZ": "Asia/Kathmandu",
        }
        for name in ("LSAN_OPTIONS", "ASAN_OPTIONS", "UBSAN_OPTIONS", "OCL_ICD_VENDORS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def assay(self, *arguments, code=YES, stdin=b"", env=None):
        """Runs assay in self.dir and expects the exit status `code`."""
        arguments = [str(argument) for argument in arguments]
        done = subprocess.run(
            [PROGRAM, *arguments], input=stdin, capture_output=True, cwd=self.dir, timeout=SLOW,
            env={**self.environment, **(env or {})}, check=False, start_new_session=True,
        )  # fmt: skip
        result = Result(arguments, done)
        if not hasattr(self, "server"):  # a test's own server says any code
            seen_codes.note(result.out + "\n" + result.err)
        if code is not None:
            self.assertEqual(result.code, code, str(result))
        return result

    def on_a_terminal(self, *arguments, code=YES):
        """Runs assay with a terminal as its standard output; returns what arrives there."""
        ours, theirs = os.openpty()
        try:
            done = subprocess.run(
                [PROGRAM, *(str(argument) for argument in arguments)], stdin=subprocess.DEVNULL,
                stdout=theirs, stderr=subprocess.PIPE, cwd=self.dir, timeout=SLOW,
                env=self.environment, check=False, start_new_session=True,
            )  # fmt: skip
            self.assertEqual(done.returncode, code, done.stderr)
            return os.read(ours, 65536)
        finally:
            os.close(ours)
            os.close(theirs)

    def error(self, *arguments, code=TROUBLE, **options):
        """Runs assay with -o json, expects failure, and returns the error's code."""
        result = self.assay(*arguments, "-o", "json", code=code, **options)
        if code == TROUBLE:
            return json.loads(result.err.strip().splitlines()[-1])["error"]["code"]
        return result.json()["error"]["code"]

    def write(self, name, content):
        path = self.dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def write_json(self, name, value):
        return self.write(name, json.dumps(value))

    def read_json(self, name):
        return json.loads((self.dir / name).read_bytes())

    def key(self, name, algorithm="ed25519"):
        """Makes name.pem and name.pem.pub; returns the key id."""
        made = self.assay("key", "new", "--algorithm", algorithm, "--out", f"{name}.pem")
        return made.out.strip()

    def model(self, name="model"):
        """A directory with all that is odd about files."""
        pattern = bytes(i % 251 for i in range(70000))
        self.write(f"{name}/config.json", '{"layers":2}\n')
        self.write(f"{name}/empty", b"")
        self.write(f"{name}/.hidden/also hidden", b"x")
        self.write(f"{name}/data/chunk.bin", pattern[:16384])
        self.write(f"{name}/data/longer.bin", pattern[:16385])
        self.write(f"{name}/data/\u00e9\u0301-\u540d\u524d.txt", "unicode \u2028 name\n")
        self.write(f"{name}/data/line\nbreak", b"control character in the name")
        tensors = {"layer.0.weight": ("F32", [100, 40], pattern[:16000]),
                   "layer.0.bias": ("BF16", [], pattern[:2]),
                   "none": ("U8", [0, 7], b"")}  # fmt: skip
        self.write(f"{name}/model.safetensors", safetensors(tensors))
        self.write(f"{name}/.git/config", b"not part of the model")
        return self.dir / name


def safetensors(tensors):
    """A file with these tensors: name to (dtype, shape, bytes)."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}  # fmt: skip
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def main():
    unittest.main(verbosity=2)
