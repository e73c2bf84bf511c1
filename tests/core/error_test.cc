// SPDX-License-Identifier: Apache-2.0
// The error table: what clients rely on.
#include "schemas/core/error.h"

#include <regex>
#include <set>

#include <gtest/gtest.h>

namespace assay {
namespace {

std::vector<ErrorInfo> table() {
  std::vector<ErrorInfo> rows;
  for (std::size_t i = 0; i < error_code_count(); ++i) {
    rows.push_back(info(static_cast<ErrorCode>(i)));
  }
  return rows;
}

TEST(ErrorTable, Codes_AreUniqueKebabCase) {
  const std::regex kebab("[a-z]+(-[a-z]+)*");
  std::set<std::string_view> codes;
  for (const ErrorInfo& row : table()) {
    EXPECT_TRUE(std::regex_match(std::string(row.code), kebab)) << row.code;
    EXPECT_TRUE(codes.insert(row.code).second) << row.code;
  }
  EXPECT_GT(codes.size(), 50U);
}

TEST(ErrorTable, Titles_AreUniqueSentencesWithoutFullStop) {
  std::set<std::string_view> titles;
  for (const ErrorInfo& row : table()) {
    ASSERT_FALSE(row.title.empty()) << row.code;
    EXPECT_TRUE(titles.insert(row.title).second) << row.code;
    EXPECT_NE(row.title.back(), '.') << row.code;
  }
}

TEST(ErrorTable, NextSteps_AreWholeSentences) {
  for (const ErrorInfo& row : table()) {
    EXPECT_GE(row.next.size(), 12U) << row.code;
    EXPECT_EQ(row.next.back(), '.') << row.code;
  }
}

TEST(ErrorTable, Codes_AreFoundByTheirTextForm) {
  for (const ErrorInfo& row : table()) {
    EXPECT_EQ(info(error_code_from(row.code).value()).code, row.code);
  }
  for (const char* none : {"", "Not-Found", "not-found ", "manifest-missing"}) {
    EXPECT_FALSE(error_code_from(none)) << none;
  }
}

TEST(ErrorTable, Status_IsOneThatTheServiceUses) {
  const std::set<int> known = {400, 401, 403, 404, 405, 406, 408, 409, 410, 411,
                               412, 413, 414, 415, 422, 429, 431, 500, 502, 503};
  for (const ErrorInfo& row : table()) {
    EXPECT_TRUE(known.contains(row.http_status)) << row.code << " " << row.http_status;
  }
}

// The same request may succeed later only when the service or the world was the cause.
TEST(ErrorTable, MalformedInput_IsNotRetryable) {
  for (const ErrorInfo& row : table()) {
    if (row.http_status == 400 || row.http_status == 401 || row.http_status == 413) {
      EXPECT_FALSE(row.retryable) << row.code;
    }
  }
}

TEST(Error, ToString_NamesCodeDetailAndPlace) {
  EXPECT_EQ(to_string({ErrorCode::kNotFound, "no such manifest", "/id"}),
            "not-found: no such manifest (at /id)");
  EXPECT_EQ(to_string({ErrorCode::kNotFound, "no such manifest", ""}),
            "not-found: no such manifest");
  EXPECT_EQ(to_string({ErrorCode::kNotFound, "", ""}),
            "not-found: " + std::string(info(ErrorCode::kNotFound).title));
}

TEST(Error, Macros_ReturnTheFirstError) {
  const auto half = [](int value) -> Result<int> {
    if (value % 2 != 0) {
      return fail(ErrorCode::kInvalidParameter, "odd");
    }
    return value / 2;
  };
  const auto quarter = [&](int value) -> Result<int> {
    ASSAY_ASSIGN(const int once, half(value));
    ASSAY_TRY(half(once));
    return half(once);
  };
  EXPECT_EQ(quarter(8), 2);
  EXPECT_FALSE(quarter(6));
  EXPECT_FALSE(quarter(7));
}

}  // namespace
}  // namespace assay
