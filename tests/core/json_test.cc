// SPDX-License-Identifier: Apache-2.0
// Strict JSON: what two readers could understand differently is refused, with a stable code.
#include "schemas/core/json.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "schemas/core/json_foreign.h"
#include "tests/support/vectors.h"

namespace assay {
namespace {

using test::code_of;
using test::where_of;

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(StrictJson, DuplicateMember_IsNamed) {
  const auto result = parse_json(R"({"a":{"b":1,"b":1}})");
  EXPECT_EQ(code_of(result), "duplicate-key");
  EXPECT_EQ(where_of(result), "b");
}

TEST(StrictJson, DuplicateAfterUnescaping_IsRefused) {
  EXPECT_EQ(code_of(parse_json(R"({"a":1,"\u0061":2})")), "duplicate-key");
}

TEST(StrictJson, DuplicateAmongMany_IsNamed) {
  for (const int count : {1, 2, 14, 15, 16, 17, 18, 100}) {
    std::string members;
    for (int i = 0; i < count; ++i) {
      members += "\"" + std::to_string(i) + "\":{\"x\":1,\"y\":{}},";
    }
    EXPECT_TRUE(parse_json("{" + members + "\"z\":1}")) << count;
    for (const int twice : {0, count / 2, count - 1}) {
      const auto result = parse_json("{" + members + "\"" + std::to_string(twice) + "\":1}");
      EXPECT_EQ(code_of(result), "duplicate-key") << count;
      EXPECT_EQ(where_of(result), std::to_string(twice));
    }
  }
}

TEST(StrictJson, SameNameInTwoObjects_IsFine) {
  EXPECT_TRUE(parse_json(R"([{"a":1},{"a":{"a":2}}])"));
}

TEST(StrictJson, NotWellFormed_IsMalformed) {
  for (const char* text : {"",
                           " ",
                           "{",
                           "}",
                           "[1,]",
                           "{\"a\":1,}",
                           "{a:1}",
                           "'a'",
                           "nul",
                           "NaN",
                           "Infinity",
                           "-",
                           "01",
                           "1.",
                           ".5",
                           "+1",
                           "1e",
                           "0x10",
                           "\"\t\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"a",
                           "[1 2]",
                           "1 2",
                           "{}x",
                           "// c\n1",
                           "/* c */1",
                           "[1]\xC2\xA0",
                           "\xEF\xBB\xBF{}",
                           "\"\xFF\"",
                           "\"\xED\xA0\x80\"",
                           R"("\ud800")",
                           R"("\udc00")",
                           R"("\ud800\u0041")",
                           R"({"\ud800":1})"}) {
    EXPECT_EQ(code_of(parse_json(text)), "malformed-json") << text;
  }
}

TEST(StrictJson, NulBehindTheEnd_IsMalformed) {
  EXPECT_EQ(code_of(parse_json(std::string_view("{}\0", 3))), "malformed-json");
  EXPECT_EQ(code_of(parse_json(std::string_view("1\0{\"a\":2}", 9))), "malformed-json");
}

TEST(StrictJson, UnsafeNumbers_ExceedALimit) {
  for (const char* text :
       {"9007199254740992", "-9007199254740992", "18446744073709551616",
        "123456789012345678901234567890", "1e400", "-1e400", "1E20", "9007199254740992.0"}) {
    EXPECT_EQ(code_of(parse_json(text)), "limit-exceeded") << text;
  }
}

TEST(StrictJson, SafeNumbers_AreTaken) {
  EXPECT_EQ(parse_json("9007199254740991"), Json(9007199254740991));
  EXPECT_EQ(parse_json("-9007199254740991"), Json(-9007199254740991));
  EXPECT_EQ(parse_json("1E30"), Json(1e30));
  EXPECT_EQ(parse_json("-0"), Json(0));
}

TEST(StrictJson, Limits_HoldExactly) {
  EXPECT_TRUE(parse_json(nested(64)));
  EXPECT_EQ(code_of(parse_json(nested(65))), "limit-exceeded");
  EXPECT_TRUE(parse_json(nested(5), {16, 5}));
  EXPECT_EQ(code_of(parse_json(nested(6), {16, 5})), "limit-exceeded");
  EXPECT_TRUE(parse_json("[1234567890]", {12, 5}));
  EXPECT_EQ(code_of(parse_json("[12345678901]", {12, 5})), "limit-exceeded");
}

// What the parser counts is never less than what the value takes.
TEST(StrictJson, MemoryOfTheValue_IsLimited) {
  for (const char* item : {"{}", "[]", "0", "1.5", "null", "\"\"", "\"somewhat longer text\"",
                           "{\"a\":{}}", "[0,0,1]", "{\"a name of a member\":[true]}"}) {
    std::string text = std::string("[") + item;
    for (int i = 0; i < 10'000; ++i) {
      text += std::string(",") + item;
    }
    text += "]";
    const std::size_t before = mallinfo2().uordblks;
    const auto value = parse_json(text);
    const std::size_t taken = mallinfo2().uordblks - before;
    ASSERT_TRUE(value) << item;
    if (taken == 0) {
      GTEST_SKIP() << "this allocator does not count";
    }
    EXPECT_EQ(code_of(parse_json(text, {.max_memory = taken - 1})), "limit-exceeded") << item;
    EXPECT_TRUE(parse_json(text, {.max_memory = 4 * taken})) << item;
  }
}

// Deep nesting must not exhaust the stack before the limit is seen.
TEST(StrictJson, HostileDepth_IsRefusedQuickly) {
  EXPECT_EQ(code_of(parse_json(std::string(1U << 20, '['))), "limit-exceeded");
}

TEST(StrictJson, EveryTruncation_IsMalformed) {
  const std::string text = R"({"a":[1,2.5e3,"x\u00e9\n",true,null],"b":{"c":-1}})";
  ASSERT_TRUE(parse_json(text));
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(code_of(parse_json(text.substr(0, size))), "malformed-json") << size;
  }
}

// Objects of others: Kubernetes has integers of 64 bits.
TEST(ForeignJson, LargeIntegers_AreTextsOfTheirDigits) {
  for (const char* digits :
       {"9007199254740992", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        "-9007199254740992", "123456789012345678901234567890", "-1000000000000000000000000"}) {
    EXPECT_EQ(code_of(parse_json(digits)), "limit-exceeded") << digits;
    const auto value = parse_foreign_json(as_bytes(digits));
    ASSERT_TRUE(value) << digits;
    EXPECT_EQ(*value, Json(digits));
    EXPECT_EQ(canonical_json(*value), '"' + std::string(digits) + '"');
  }
  for (const char* text : {"0", "-1", "9007199254740991", "-9007199254740991", "1.5"}) {
    EXPECT_EQ(parse_foreign_json(as_bytes(text)).value(), parse_json(text).value()) << text;
  }
  for (const char* text : {"0", "-0", "-0.0", "1.0", "9007199254740991", "1.5", "1e21", "\"12\""}) {
    EXPECT_EQ(parse_exact_json(as_bytes(text)).value(), parse_json(text).value()) << text;
    EXPECT_EQ(large_integer(parse_exact_json(as_bytes(text)).value()), std::nullopt) << text;
  }
  EXPECT_EQ(code_of(parse_exact_json(as_bytes("1e400"))), "limit-exceeded");
  EXPECT_EQ(code_of(parse_foreign_json(as_bytes("1e400"))), "limit-exceeded");
  EXPECT_EQ(code_of(parse_foreign_json(as_bytes(R"({"a":1,"a":2})"))), "duplicate-key");
}

}  // namespace
}  // namespace assay
