// SPDX-License-Identifier: Apache-2.0
// What patterns cost to compile, and the budget that all patterns of a document share.

#include "schemas/pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += text;
  }
  return all;
}

ErrorCode refusal(const std::string& text) {
  PatternBudget budget;
  const auto pattern = budget.compile(text);
  EXPECT_FALSE(pattern) << text;
  return pattern ? ErrorCode{} : pattern.error().code;
}

TEST(Pattern, Budget_IsTakenUpToItsEndAndNotBeyond) {
  const std::string text = "sha256:[0-9a-f]{64}";
  const std::size_t each = Pattern::cost_of(text) + Pattern::compile(text).value()->size();
  EXPECT_LT(each, 300U);
  PatternBudget budget;
  for (std::size_t i = 0; i < PatternBudget::kUnits / each; ++i) {
    ASSERT_TRUE(budget.compile(text)) << i;
  }
  EXPECT_EQ(budget.compile(text).error().code, ErrorCode::kLimitExceeded);
  EXPECT_EQ(budget.compile("a").error().code, ErrorCode::kLimitExceeded) << "nothing fits any more";
}

TEST(Pattern, PatternsOfRealPolicies_AreAFewHundredUnits) {
  for (const char* text :
       {"https://github\\.com/acme/[a-z-]+/\\.github/workflows/release\\.yml@refs/tags/v.*",
        "ghcr\\.io/acme/[a-z0-9._/-]+@sha256:[0-9a-f]{64}", "(?i)apache-2\\.0|mit|bsd-[23]-clause",
        "[a-z]([a-z0-9-]{0,61}[a-z0-9])?", "v?[0-9]{1,4}(\\.[0-9]{1,4}){2}"}) {
    PatternBudget budget;
    const auto pattern = budget.compile(text);
    ASSERT_TRUE(pattern) << text;
    EXPECT_LT(Pattern::cost_of(text) + (*pattern)->size(), 1000U) << text;
  }
}

// None of these is well-formed, so that limit-exceeded says that it was not compiled.
TEST(Pattern, WhatItsTextSaysIsTooExpensive_IsNotCompiled) {
  const std::vector<std::string> expensive = {"(?i)(" + repeated("\\PL", 300),
                                              "(" + repeated("a-\\d", 254),
                                              "(" + repeated("-\xc2\x80", 300),
                                              "(" + repeated("[)]{0,99}?", 100),
                                              "((a{0,99}){0,99}){0,99}(",
                                              "(a){1000}(b){1000}(",
                                              "(" + repeated("a{99999999999999999999}", 2)};
  for (const std::string& text : expensive) {
    ASSERT_LE(text.size(), Pattern::kMaxBytes);
    EXPECT_EQ(refusal(text), ErrorCode::kLimitExceeded) << text;
  }
  EXPECT_EQ(refusal("("), ErrorCode::kInvalidParameter) << "the honest neighbour";
  EXPECT_EQ(refusal(std::string(Pattern::kMaxBytes + 1, 'a')), ErrorCode::kInvalidParameter);
}

TEST(Pattern, Counts_OfRepetitionsAloneCost) {
  for (const char* text : {"{", "a{", "a{,5}", "a{x}", "\\{7", "{}", "a-b", ""}) {
    EXPECT_LE(Pattern::cost_of(text), std::string(text).size() + 7) << text;
  }
  EXPECT_GE(Pattern::cost_of("a{5,600}"), 600U);
  EXPECT_GE(Pattern::cost_of("a{600,}"), 600U);
  EXPECT_GE(Pattern::cost_of("(ab){100}"), 900U) << "all that stands before it";
}

}  // namespace
}  // namespace assay
