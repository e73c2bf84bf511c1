// SPDX-License-Identifier: Apache-2.0
// RFC 8785 against its own vectors and those of an independent implementation.
#include <bit>
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "schemas/core/json.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

double from_bits(const std::string& hex) {
  return std::bit_cast<double>(std::stoull(hex, nullptr, 16));
}

// RFC 8785 appendix B.
TEST(Jcs, NumbersOfAppendixB_AreWrittenAsThere) {
  const Json vectors = test::load_vectors("jcs.json");
  ASSERT_GE(vectors["numbers"].size(), 30U);
  for (const Json& row : vectors["numbers"]) {
    const auto text = canonical_json(Json(from_bits(row["bits"])));
    if (row["want"] == "accept") {
      EXPECT_EQ(text, row["text"].get<std::string>()) << row;
    } else {
      EXPECT_EQ(code_of(text), "malformed-json") << row;
    }
  }
}

TEST(Jcs, AcceptedInputs_HaveTheirCanonicalForm) {
  const Json vectors = test::load_vectors("jcs.json");
  ASSERT_GE(vectors["accept"].size(), 40U);
  for (const Json& row : vectors["accept"]) {
    const auto parsed = parse_json(test::text_from_base64(row["input"]));
    ASSERT_TRUE(parsed) << row;
    const std::string want = test::text_from_base64(row["output"]);
    EXPECT_EQ(canonical_json(*parsed), want) << row;
    const auto again = parse_json(want);
    ASSERT_TRUE(again) << row;
    EXPECT_EQ(canonical_json(*again), want) << row;
  }
}

TEST(Jcs, RefusedInputs_AreRefused) {
  const Json vectors = test::load_vectors("jcs.json");
  ASSERT_GE(vectors["refuse"].size(), 70U);
  for (const Json& row : vectors["refuse"]) {
    EXPECT_FALSE(parse_json(test::text_from_base64(row["input"]))) << row;
  }
}

TEST(Jcs, FilesOfTheReferenceImplementation_Match) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "jcs-rfc8785");
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "input")) {
    const std::string input = test::read_file(entry.path());
    const std::string want = test::read_file(folder / "output" / entry.path().filename());
    const auto parsed = parse_json(input);
    ASSERT_TRUE(parsed) << entry.path().filename();
    EXPECT_EQ(canonical_json(*parsed), want.substr(0, want.find_last_not_of("\r\n") + 1))
        << entry.path().filename();
    ++compared;
  }
  EXPECT_GE(compared, 6);
}

TEST(Jcs, NumberTableOfTheReferenceImplementation_Matches) {
  ASSAY_SHARED_VECTORS_OR_SKIP(folder, "jcs-rfc8785");
  std::istringstream table(test::read_file(folder / "numbers.tsv"));
  std::string line;
  std::getline(table, line);
  int compared = 0;
  for (; std::getline(table, line); ++compared) {
    const std::size_t tab = line.find('\t');
    const double value = from_bits(line.substr(0, tab));
    if (std::isfinite(value)) {
      EXPECT_EQ(canonical_json(Json(value)), line.substr(tab + 1)) << line;
    } else {
      EXPECT_FALSE(canonical_json(Json(value))) << line;
    }
  }
  EXPECT_GE(compared, 20);
}

// Section 3.2.3: by UTF-16 code units, which differs from UTF-8 order beyond U+FFFF.
TEST(Jcs, MemberNames_AreSortedAsUtf16) {
  const Json value = {{"\uFB33", 1}, {"\U0001F600", 2}, {"\u20AC", 3}, {"1", 4}, {"", 5}};
  EXPECT_EQ(canonical_json(value), "{\"\":5,\"1\":4,\"\u20AC\":3,\"\U0001F600\":2,\"\uFB33\":1}");
}

TEST(Jcs, Strings_EscapeOnlyWhatTheyMust) {
  EXPECT_EQ(canonical_json(Json(std::string("\x00\x01\b\t\n\v\f\r\x1F\x7F\"\\/", 13))),
            "\"\\u0000\\u0001\\b\\t\\n\\u000b\\f\\r\\u001f\x7F\\\"\\\\/\"");
}

TEST(Jcs, WhatIJsonCannotSay_IsRefused) {
  EXPECT_EQ(code_of(canonical_json(Json("\xFF"))), "malformed-json");
  EXPECT_EQ(code_of(canonical_json(Json{{"\xFF", 1}})), "malformed-json");
  EXPECT_EQ(code_of(canonical_json(Json(kMaxSafeInteger + 1))), "malformed-json");
  EXPECT_EQ(code_of(canonical_json(Json(-kMaxSafeInteger - 1))), "malformed-json");
  EXPECT_EQ(code_of(canonical_json(Json(UINT64_MAX))), "malformed-json");
  EXPECT_EQ(code_of(canonical_json(Json(std::nan("")))), "malformed-json");
  EXPECT_EQ(code_of(canonical_json(Json::binary({1, 2}))), "malformed-json");
  EXPECT_EQ(canonical_json(Json(kMaxSafeInteger)), "9007199254740991");
  EXPECT_EQ(canonical_json(Json(-kMaxSafeInteger)), "-9007199254740991");
}

}  // namespace
}  // namespace assay
