// SPDX-License-Identifier: Apache-2.0
// The pages of the threat model cite files and tests that exist.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace assay::policy::test {
namespace {

const std::string kRoot = std::string(ASSAY_SOURCE_DIR) + "/";

std::string read_text(const std::string& path) {
  std::ifstream in(kRoot + path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string read_threat_model() {
  return read_text("docs/threat-model.md") + "\n" + read_text("docs/threat-model-memory.md");
}

TEST(ThreatModel, CitedFilesAndTests_Exist) {
  const std::string page = read_threat_model();
  const std::regex citation("`([a-z_0-9/]+\\.(?:cc|h|py))(?::([A-Za-z_0-9]+))?`");
  int cited = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), citation), end; it != end; ++it) {
    const std::string path = (*it)[1];
    const std::string name = (*it)[2];
    EXPECT_TRUE(std::filesystem::is_regular_file(kRoot + path)) << path;
    EXPECT_NE(read_text(path).find(name), std::string::npos) << path << ": " << name;
    ++cited;
  }
  EXPECT_GT(cited, 60);
}

// Every row of the table names its asset and attackers by a known letter, and has a check and a
// test.
TEST(ThreatModel, EveryRow_IsComplete) {
  const std::string page = read_threat_model();
  const std::regex row(
      "\n\\| (A[0-9]) \\| ([A-Z, ]+) \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|");
  int rows = 0;
  for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
    ++rows;
    EXPECT_NE(page.find("| " + (*it)[1].str() + " | "), std::string::npos);
    EXPECT_NE((*it)[4].str().find('`'), std::string::npos) << (*it)[3];
    EXPECT_NE((*it)[5].str().find("`tests/"), std::string::npos) << (*it)[3];
  }
  EXPECT_GT(rows, 25);
}

}  // namespace
}  // namespace assay::policy::test
