# SPDX-License-Identifier: Apache-2.0
"""The configuration of clang-tidy reports errors planted in a header and in a source."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

HEADER = """#pragma once
namespace assay {
class badName {
 public:
  badName(int value) : wrong(value) {}
  int get() const { return wrong; }
 private:
  int wrong;
};
inline long widen(const void* p) { return (long)p; }
}
"""
SOURCE = """#include "schemas/planted.h"
#include <string>
#include <utility>
namespace assay {
std::string twice(std::string text) {
  std::string first = std::move(text);
  return first + text;
}
}
"""


class Tidy(unittest.TestCase):
    def run_tidy(self, header, source):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            shutil.copy(ROOT / ".clang-tidy", folder)
            (folder / "schemas").mkdir()
            (folder / "schemas/planted.h").write_text(header)
            (folder / "schemas/planted.cc").write_text(source)
            return subprocess.run(
                ["clang-tidy-19", "--quiet", "schemas/planted.cc", "--", "-std=c++23", f"-I{folder}"],
                cwd=folder, capture_output=True, text=True)

    def test_planted_errors_are_reported(self):
        done = self.run_tidy(HEADER, SOURCE)
        self.assertNotEqual(done.returncode, 0)
        for check in ("readability-identifier-naming", "google-explicit-constructor",
                      "cppcoreguidelines-pro-type-cstyle-cast", "bugprone-use-after-move"):
            self.assertIn(check, done.stdout)
        self.assertIn("planted.h:3", done.stdout)
        self.assertIn("planted.cc:7", done.stdout)

    def test_clean_files_are_clean(self):
        header = "#pragma once\nnamespace assay {\nint one();\n}  // namespace assay\n"
        source = '#include "schemas/planted.h"\nint assay::one() { return 1; }\n'
        done = self.run_tidy(header, source)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)


if __name__ == "__main__":
    unittest.main()
