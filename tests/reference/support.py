# SPDX-License-Identifier: Apache-2.0
"""Paths that the tests of the reference implementation need."""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SUPPORT = os.path.join(ROOT, "tests", "support")
VECTORS = os.path.join(ROOT, "tests", "vectors")
sys.path.insert(0, SUPPORT)


def shared_vectors(*parts):
    """Path of public vectors kept beside the repository; skips the test where they are absent."""
    top = os.environ.get("ASSAY_SHARED_VECTORS") or os.path.join(ROOT, "..", "shared", "vectors")
    path = os.path.join(top, *parts)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"no public vectors at {path}: set ASSAY_SHARED_VECTORS")
    return path


def vectors(name):
    with open(os.path.join(VECTORS, name + ".json"), "rb") as stream:
        return json.load(stream)
