// SPDX-License-Identifier: Apache-2.0
// Every code that policy uses is asserted by a test of policy. (That it is in the table, the
// compiler checks: codes are enumerators of it.)
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "schemas/core/error.h"

namespace assay::policy::test {
namespace {

// Enumerators of ErrorCode named in the .cc and .h files of `folder`.
std::set<std::string> codes_in(const std::string& folder, const std::string& except = {}) {
  std::set<std::string> codes;
  const std::regex pattern("ErrorCode::(k[A-Za-z]+)");
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ASSAY_SOURCE_DIR) + "/" + folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == except) {
      continue;
    }
    std::ifstream in(entry.path());
    std::stringstream text;
    text << in.rdbuf();
    const std::string content = text.str();
    for (std::sregex_iterator it(content.begin(), content.end(), pattern), end; it != end; ++it) {
      codes.insert((*it)[1]);
    }
  }
  return codes;
}

TEST(Codes, EveryCodeOfPolicy_IsInATest) {
  const std::set<std::string> used = codes_in("policy");
  const std::set<std::string> tested = codes_in("tests/policy", "codes_test.cc");
  EXPECT_GE(used.size(), 12U);
  for (const std::string& code : used) {
    EXPECT_TRUE(tested.contains(code)) << code;
  }
}

}  // namespace
}  // namespace assay::policy::test
