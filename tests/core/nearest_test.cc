// SPDX-License-Identifier: Apache-2.0
// Suggestions for mistyped words.
#include "schemas/core/nearest.h"

#include <array>

#include <gtest/gtest.h>

namespace assay {
namespace {

constexpr std::array<std::string_view, 6> kKnown = {"policy", "push",     "node",
                                                    "job",    "manifest", "man"};

TEST(Nearest, Mistyped_IsFound) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"polcy", "policy"}, {"poilcy", "policy"},  {"pusch", "push"},
      {"nodes", "node"},   {"manif", "manifest"}, {"mnaifset", "manifest"}};
  for (const auto& [word, meant] : cases) {
    const auto found = nearest(word, kKnown);
    ASSERT_FALSE(found.empty()) << word;
    EXPECT_EQ(found.front(), meant) << word;
  }
}

TEST(Nearest, FarOrKnownOrLong_HasNone) {
  for (const std::string& word :
       {std::string(), std::string("zebra"), std::string("policy"), std::string("x"),
        std::string(65, 'p'), std::string(1 << 20, 'n')}) {
    EXPECT_TRUE(nearest(word, kKnown).empty()) << word.substr(0, 80);
  }
}

TEST(Nearest, Suggestion_IsASentence) {
  EXPECT_EQ(did_you_mean("polcy", kKnown), "; did you mean 'policy'?");
  EXPECT_EQ(did_you_mean("zebra", kKnown), "");
}

}  // namespace
}  // namespace assay
