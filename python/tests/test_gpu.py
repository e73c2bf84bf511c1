# SPDX-License-Identifier: Apache-2.0
"""The real CUDA driver; skipped where there is none."""
import pathlib
import subprocess
import sys

import pytest

from conftest import needs_torch, torch
from cuda_reader import there_is_a_device

pytestmark = needs_torch


def test_gpu_check():
    why_not = there_is_a_device() or ("" if torch.cuda.is_available() else "PyTorch sees no CUDA device")
    if why_not:
        pytest.skip(why_not)
    check = pathlib.Path(__file__).with_name("gpu_check.py")
    result = subprocess.run([sys.executable, str(check), "64"], capture_output=True, text=True, timeout=900)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.endswith("gpu_check: passed\n")
