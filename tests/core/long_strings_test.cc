// SPDX-License-Identifier: Apache-2.0
// What is taken out of a text comes back where it was, and changes no answer of the parser.
#include "schemas/core/long_strings.h"

#include <random>

#include <gtest/gtest.h>

#include "schemas/core/json.h"
#include "tests/support/seed.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;

const std::string kLong(kLongString, 'A');
const std::string kLonger(3 * kLongString, 'b');

TEST(LongStrings, Rest_HasNoLongPlainString) {
  EXPECT_EQ(LongStrings(R"({"a":")" + kLong + R"(","b":1})").rest(), R"({"a":"","b":1})");
  const std::string shorter = R"({"a":")" + kLong.substr(1) + R"("})";
  EXPECT_EQ(LongStrings(shorter).rest(), shorter);
  for (const std::string special : {"\\n", "\\\"", "\\\\", "\x01", "\xc3\xa9", "\xff"}) {
    const std::string text = "\"" + kLong + special + "\"";
    EXPECT_EQ(LongStrings(text).rest(), text) << special;
  }
}

// However long a body is, what the library reads byte by byte is what stands around its strings.
TEST(LongStrings, Rest_DoesNotGrowWithThem) {
  for (const std::size_t size :
       {std::size_t{1} << 12, std::size_t{1} << 20, std::size_t{1} << 24}) {
    const std::string text = R"({"payload":")" + std::string(size, 'A') + R"("})";
    EXPECT_EQ(LongStrings(text).rest().size(), 14U);
  }
}

TEST(LongStrings, Parsed_AreWhereTheyWere) {
  const auto json = parse_json("{\"" + kLong + "\":[\"x\",\"" + kLonger + "\",\"\",{\"y\":\"" +
                               kLong + "\",\"z\":\"\\\"\"}]}");
  ASSERT_TRUE(json);
  ASSERT_TRUE(json->contains(kLong));
  const Json& list = json->at(kLong);
  EXPECT_EQ(list, Json({"x", kLonger, "", {{"y", kLong}, {"z", "\""}}}));
}

TEST(LongStrings, AsNamesOfMembers_AreCompared) {
  EXPECT_EQ(code_of(parse_json("{\"" + kLong + "\":1,\"" + kLong + "\":2}")), "duplicate-key");
  EXPECT_TRUE(parse_json("{\"" + kLong + "\":1,\"" + kLonger + "\":2,\"\":3}"));
}

TEST(LongStrings, ErrorBehindOne_NamesItsByte) {
  const std::string before = R"({"a":")" + kLong + R"(",)";
  const auto error = parse_json(before + "!}").error();
  EXPECT_EQ(error.code, ErrorCode::kMalformedJson);
  const std::string said = to_string(error);
  EXPECT_NE(said.find("at byte " + std::to_string(before.size() + 1)), std::string::npos) << said;
  const std::string column = "line 1, column " + std::to_string(before.size() + 1);
  EXPECT_NE(said.find(column), std::string::npos) << said;
  const std::string third =
      to_string(parse_json(R"({"a":")" + kLong + "\",\n\n\"\u00e9\":!}").error());
  EXPECT_NE(third.find("line 3, column 5"), std::string::npos) << third;
}

// Texts that are cut or changed anywhere: the answer is that about the same text with a short
// string in place of each long one.
TEST(LongStrings, AnyText_HasTheAnswerOfItsShortForm) {
  const std::vector<std::string> pieces = {"{",      "}",     "[",      "]",  ":",    ",",
                                           "\"",     "\\",    "1",      "x",  "\\\"", "\"a\"",
                                           "\"b\":", "\"L\"", "\"L\":", "\"L"};
  const std::uint64_t seed = random_test_seed();
  SCOPED_TRACE(test_seed_text(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 4'000; ++round) {
    std::string text;
    std::string longer;
    const std::size_t count = 1 + random() % 12;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& piece = pieces[random() % pieces.size()];
      text += piece;
      for (const char one : piece) {
        longer += one == 'L' ? kLong : std::string(1, one);
      }
    }
    const auto expected = parse_json(text);
    const auto found = parse_json(longer);
    ASSERT_EQ(found.has_value(), expected.has_value()) << text;
    if (!expected) {
      ASSERT_EQ(found.error().code, expected.error().code) << text;
      continue;
    }
    std::string dumped = found->dump();
    for (auto at = dumped.find(kLong); at != std::string::npos; at = dumped.find(kLong)) {
      dumped.replace(at, kLong.size(), "L");
    }
    ASSERT_EQ(dumped, expected->dump()) << text;
  }
}

}  // namespace
}  // namespace assay
