# SPDX-License-Identifier: Apache-2.0
import json
import os
import unittest

import support
import vectorgen


class Vectors(unittest.TestCase):
    def test_a_rebuild_is_byte_identical(self):
        for name in vectorgen.FILES:
            with open(os.path.join(support.VECTORS, name + ".json"), "rb") as stream:
                self.assertTrue(stream.read() == vectorgen.render(name),
                                f"{name}.json: run python3 tests/support/make_vectors.py {name}")  # fmt: skip

    def test_each_file_says_where_it_comes_from(self):
        for name in vectorgen.FILES:
            comment = support.vectors(name)["_comment"]
            self.assertEqual(set(comment), {"what", "source", "generator", "licence"})
            self.assertTrue(all(comment.values()))

    def test_no_number_leaves_the_range_of_json(self):
        def check(value):
            if isinstance(value, dict):
                for item in value.values():
                    check(item)
            elif isinstance(value, list):
                for item in value:
                    check(item)
            elif isinstance(value, int):
                self.assertLess(abs(value), 2**53)
            else:
                self.assertNotIsInstance(value, float)

        for name in vectorgen.FILES:
            with open(os.path.join(support.VECTORS, name + ".json"), "rb") as stream:
                text = stream.read()
            self.assertTrue(text.isascii())
            check(json.loads(text))


if __name__ == "__main__":
    unittest.main()
