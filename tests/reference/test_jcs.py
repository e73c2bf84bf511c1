# SPDX-License-Identifier: Apache-2.0
import base64
import glob
import os
import unittest

import support
from reference import jcs


class Numbers(unittest.TestCase):
    def test_appendix_b_of_rfc8785(self):
        with open(support.shared_vectors("jcs-rfc8785", "numbers.tsv"), encoding="utf-8") as stream:
            rows = [line.rstrip("\n").split("\t") for line in stream][1:]
        self.assertGreater(len(rows), 20)
        for bits, want in rows:
            with self.subTest(bits=bits):
                if want.startswith("ERROR"):
                    self.assertRaises(jcs.JsonError, jcs.number_from_bits, bits)
                else:
                    self.assertEqual(jcs.number_from_bits(bits), want)

    def test_layout_borders(self):
        for value, want in ((1e20, "100000000000000000000"), (1e21, "1e+21"), (1e-6, "0.000001"), (1e-7, "1e-7"),
                            (123456789012345680000.0, "123456789012345680000"), (1.5e-9, "1.5e-9"), (0.1, "0.1"),
                            (12.0, "12"), (100.25, "100.25"), (-0.0, "0"), (1.25e25, "1.25e+25")):  # fmt: skip
            self.assertEqual(jcs.number(value), want)

    def test_text_reads_back_to_the_same_double(self):
        value = 5e-324
        while value < 1e308:
            self.assertEqual(float(jcs.number(value)), value)
            value *= 7.3


class Documents(unittest.TestCase):
    def test_public_inputs_and_outputs(self):
        inputs = glob.glob(support.shared_vectors("jcs-rfc8785", "input") + "/*.json")
        self.assertGreaterEqual(len(inputs), 6)
        for name in inputs:
            output = name.replace(os.sep + "input" + os.sep, os.sep + "output" + os.sep)
            with open(name, "rb") as stream, open(output, "rb") as expected:
                self.assertEqual(jcs.canonicalize(stream.read()), expected.read().rstrip(b"\n"), name)

    def test_own_vectors(self):
        data = support.vectors("jcs")
        for case in data["accept"]:
            got = jcs.canonicalize(base64.b64decode(case["input"]))
            self.assertEqual(got, base64.b64decode(case["output"]), case["input_text"])
            self.assertEqual(jcs.canonicalize(got), got, case["input_text"])
        for case in data["refuse"]:
            with self.assertRaises(jcs.JsonError, msg=case["input_text"]) as caught:
                jcs.loads(base64.b64decode(case["input"]))
            self.assertEqual(caught.exception.reason, case["reason"], case["input_text"])

    def test_writer_refuses_what_has_no_canonical_form(self):
        for value in (float("nan"), float("inf"), 2**53, -(2**53), "\ud800", {"\udc00": 1}):
            self.assertRaises(jcs.JsonError, jcs.dumps, value)

    def test_depth_is_bounded(self):
        self.assertEqual(jcs.dumps(jcs.loads(b"[" * 64 + b"]" * 64)), b"[" * 64 + b"]" * 64)
        with self.assertRaises(jcs.JsonError) as caught:
            jcs.loads(b"[" * 100000)
        self.assertEqual(caught.exception.reason, "depth")


if __name__ == "__main__":
    unittest.main()
