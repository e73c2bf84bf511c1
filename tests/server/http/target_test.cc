// SPDX-License-Identifier: Apache-2.0
// Decoding of request targets.

#include "server/http/target.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay::server {
namespace {

using test::code_of;
using Query = std::vector<std::pair<std::string, std::string>>;

TEST(Target, PathAndQuery_AreDecoded) {
  const auto target = parse_target("/v1/a%3Ab?x=1%2B1&y=a+b&z&x=&&");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/v1/a:b");
  EXPECT_EQ(target->query, (Query{{"x", "1+1"}, {"y", "a b"}, {"z", ""}, {"x", ""}}));
}

TEST(Target, SlashAndEqualsInAValue_AreKept) {
  const auto target = parse_target("/a?name=acme/demo&b=c=d&e=?");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->query, (Query{{"name", "acme/demo"}, {"b", "c=d"}, {"e", "?"}}));
}

TEST(Target, PlusInAPath_IsAPlus) { EXPECT_EQ(parse_target("/a+b")->path, "/a+b"); }

class TargetRefuses : public testing::TestWithParam<const char*> {};

TEST_P(TargetRefuses, Shape_IsABadRequest) {
  EXPECT_EQ(code_of(parse_target(GetParam())), "bad-request");
}

INSTANTIATE_TEST_SUITE_P(Shapes, TargetRefuses,
                         testing::Values("", "a", "?a=b", "/%", "/%4", "/%zz", "/a%2", "/%00",
                                         "/a%0Ab", "/a%7F", "/a%2Fb", "/a%2fb", "/a%5Cb", "/.",
                                         "/..", "/a/../b", "/a/./b", "/a/..", "/%2e%2e/a", "/a/%2E",
                                         "/%ff", "/%c0%af", "/%ed%a0%80", "/a?b=%00", "/a?%ff=b",
                                         "/a?b=%f"));

TEST(Target, DotsInsideASegment_Pass) { EXPECT_EQ(parse_target("/a..b/...")->path, "/a..b/..."); }

TEST(Target, TooManyParameters_AreRefused) {
  std::string target = "/a?";
  for (std::size_t i = 0; i < kMaxQueryParameters; ++i) {
    target += "a&";
  }
  EXPECT_TRUE(parse_target(target));
  EXPECT_EQ(code_of(parse_target(target + "a")), "bad-request");
}

TEST(PercentEncode, EverythingElse_IsEncoded) {
  EXPECT_EQ(percent_encode("a-b_c.d~1 /+&=\xC3\xA9"), "a-b_c.d~1%20%2F%2B%26%3D%C3%A9");
}

TEST(PercentEncode, DecodesToTheSame) {
  std::string text;
  for (int byte = 0x20; byte < 0x7F; ++byte) {
    text += static_cast<char>(byte);
  }
  EXPECT_EQ(parse_target("/?a=" + percent_encode(text))->query.front().second, text);
}

}  // namespace
}  // namespace assay::server
