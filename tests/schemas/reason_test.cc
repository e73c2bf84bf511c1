// SPDX-License-Identifier: Apache-2.0
// The table of reasons, and how it goes together with the table of errors.
#include "schemas/reason.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace assay {
namespace {

const std::map<std::string, std::string> kReasonCodes = {
#define ASSAY_REASON(enumerator, code, title, explanation, next) {#enumerator, code},
#include "schemas/reason_codes.def"
#undef ASSAY_REASON
};
const std::map<std::string, std::string> kErrorCodes = {
#define ASSAY_ERROR(enumerator, code, http_status, retryable, title, next) {#enumerator, code},
#include "schemas/core/error_codes.def"
#undef ASSAY_ERROR
};

std::vector<ReasonInfo> table() {
  std::vector<ReasonInfo> rows;
  for (std::size_t i = 0; i < reason_count(); ++i) {
    rows.push_back(info(static_cast<Reason>(i)));
  }
  return rows;
}

bool is_kebab_case(std::string_view text) {
  const bool letters = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == text.npos;
  return letters && !text.empty() && text.front() != '-' && text.back() != '-' &&
         text.find("--") == text.npos;
}

TEST(Reasons, Codes_AreUniqueKebabCase) {
  std::set<std::string_view> seen;
  for (const ReasonInfo& row : table()) {
    EXPECT_TRUE(seen.insert(row.code).second) << row.code;
    EXPECT_TRUE(is_kebab_case(row.code)) << row.code;
    EXPECT_EQ(info(reason_from(row.code).value()).code, row.code);
  }
  EXPECT_EQ(seen.size(), kReasonCodes.size());
  for (const char* none : {"", "Key-Revoked", "key-revoked ", "not-found"}) {
    EXPECT_FALSE(reason_from(none)) << none;
  }
}

// A warning in kubectl has 120 bytes, for the policy, the condition, the title and the code.
TEST(Reasons, Titles_AreShortSentencesWithoutFullStop) {
  std::set<std::string_view> seen;
  for (const ReasonInfo& row : table()) {
    EXPECT_TRUE(seen.insert(row.title).second) << row.title;
    EXPECT_LE(row.title.size(), 72U) << row.title;
    EXPECT_TRUE(row.title.front() >= 'A' && row.title.front() <= 'Z') << row.title;
    EXPECT_FALSE(row.title.size() > 1 && row.title[1] >= 'A' && row.title[1] <= 'Z')
        << row.title << ": begins with an acronym, which has no small first letter";
    EXPECT_NE(row.title.back(), '.') << row.title;
  }
}

TEST(Reasons, ExplanationAndNextStep_AreWholeSentences) {
  for (const ReasonInfo& row : table()) {
    for (const std::string_view text : {row.explanation, row.next}) {
      EXPECT_GE(text.size(), 15U) << row.code;
      EXPECT_LE(text.size(), 300U) << row.code;
      EXPECT_EQ(text.back(), '.') << row.code;
    }
  }
}

// One meaning, one spelling: a client that knows the code of the error knows that of the reason.
TEST(Reasons, CodesInBothTables_HaveOneTextForm) {
  std::set<std::string> both;
  for (const auto& [enumerator, code] : kReasonCodes) {
    const auto error = kErrorCodes.find(enumerator);
    EXPECT_EQ(error_code_from(code).has_value(), error != kErrorCodes.end()) << code;
    if (error != kErrorCodes.end()) {
      EXPECT_EQ(error->second, code);
      both.insert(code);
    }
  }
  EXPECT_EQ(both,
            (std::set<std::string>{"condition-undecided", "conflict", "enrolment-expired",
                                   "evidence-rejected", "key-expired", "key-not-yet-valid",
                                   "key-revoked", "limit-exceeded", "model-reference-ambiguous",
                                   "node-not-enrolled", "node-revoked", "reference-unbound",
                                   "role-not-granted", "subject-mismatch", "wrong-purpose"}));
}

TEST(Reasons, OfAnError_IsTheReasonOfThatNameOrUndecided) {
  EXPECT_EQ(info(reason_of(ErrorCode::kKeyRevoked)).code, "key-revoked");
  EXPECT_EQ(info(reason_of(ErrorCode::kStorage)).code, "condition-undecided");
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    const auto error = static_cast<ErrorCode>(i);
    const std::string_view code = info(error).code;
    EXPECT_EQ(info(reason_of(error)).code, reason_from(code) ? code : "condition-undecided");
  }
}

}  // namespace
}  // namespace assay
