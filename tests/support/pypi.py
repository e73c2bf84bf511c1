# SPDX-License-Identifier: Apache-2.0
"""Packages from PyPI for tests, each in a virtual environment of its own below the temporary
directory, made once. A test that needs one is skipped with a reason where it cannot be had."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


def python_with(requirement, module, *more):
    """The interpreter of an environment that has `requirement`, and what it needs `more` without
    naming it; skips the test otherwise."""
    home = pathlib.Path(tempfile.gettempdir()) / f"assay-pypi-{os.getuid()}"
    home.mkdir(mode=0o700, exist_ok=True)
    if home.stat().st_uid != os.getuid():
        raise unittest.SkipTest(f"{home} belongs to somebody else")
    ready = home / "".join(c if c.isalnum() or c in ".-" else "_" for c in requirement)
    python = ready / "bin" / "python"
    if not python.exists():
        making = tempfile.mkdtemp(dir=home)
        try:
            for command in ([sys.executable, "-m", "venv", making],
                            [f"{making}/bin/python", "-m", "pip", "install", "-q", "--retries", "1",
                             "--timeout", "15", requirement, *more],
                            [f"{making}/bin/python", "-c", f"import {module}"]):
                subprocess.run(command, check=True, capture_output=True, timeout=150)
            os.rename(making, ready)
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(making, ignore_errors=True)
            if not python.exists():
                raise unittest.SkipTest(f"{requirement} cannot be had from PyPI: {error}")
    return python
