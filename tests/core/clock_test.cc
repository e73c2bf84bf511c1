// SPDX-License-Identifier: Apache-2.0
// RFC 3339 in UTC with milliseconds, both ways.
#include "schemas/core/clock.h"

#include <gtest/gtest.h>

#include "tests/support/vectors.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using test::code_of;

TEST(Rfc3339, KnownInstants_BothWays) {
  const std::pair<std::int64_t, const char*> instants[] = {
      {0, "1970-01-01T00:00:00.000Z"},
      {1, "1970-01-01T00:00:00.001Z"},
      {951782399999, "2000-02-28T23:59:59.999Z"},
      {951782400000, "2000-02-29T00:00:00.000Z"},
      {1709164800000, "2024-02-29T00:00:00.000Z"},
      {1767225599999, "2025-12-31T23:59:59.999Z"},
      {4107542400000, "2100-03-01T00:00:00.000Z"},
      {253402300799999, "9999-12-31T23:59:59.999Z"}};
  for (const auto& [count, text] : instants) {
    const Timestamp time{milliseconds(count)};
    EXPECT_EQ(to_rfc3339(time), text);
    EXPECT_EQ(parse_rfc3339(text), time) << text;
  }
}

TEST(Rfc3339, Fraction_IsCutToMilliseconds) {
  const Timestamp base = *parse_rfc3339("2026-01-02T03:04:05Z");
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.6Z"), base + milliseconds(600));
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.06Z"), base + milliseconds(60));
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.678999999Z"), base + milliseconds(678));
}

TEST(Rfc3339, AnythingElse_IsRefused) {
  for (const char* text : {"",
                           "Z",
                           "2026-01-02",
                           "2026-01-02T03:04:05",
                           "2026-01-02T03:04:05z",
                           "2026-01-02t03:04:05Z",
                           "2026-01-02 03:04:05Z",
                           "2026-01-02T03:04:05+00:00",
                           "2026-01-02T03:04:05-00:00",
                           "2026-01-02T03:04:05.Z",
                           "2026-01-02T03:04:05.0000000000Z",
                           "2026-01-02T03:04:05,5Z",
                           "2026-01-02T03:04:60Z",
                           "2016-12-31T23:59:60Z",
                           "2026-01-02T24:00:00Z",
                           "2026-01-02T03:60:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-32T00:00:00Z",
                           "2026-01-00T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "2100-02-29T00:00:00Z",
                           "1969-12-31T23:59:59Z",
                           "0000-01-01T00:00:00Z",
                           "10000-01-01T00:00:00Z",
                           "226-01-02T03:04:05Z",
                           "2026-1-2T3:4:5Z",
                           "+026-01-02T03:04:05Z",
                           "2026--1-02T03:04:05Z",
                           "2026-01-02T03:04:05Z ",
                           " 2026-01-02T03:04:05Z",
                           "2026-01-02T03:04:05ZZ",
                           "2026-01-02T03:04:5.5Z",
                           "20260102T030405Z"}) {
    EXPECT_EQ(code_of(parse_rfc3339(text)), "invalid-time") << text;
  }
}

TEST(SystemClock, Now_IsInThisCentury) {
  const Timestamp now = SystemClock().now();
  EXPECT_GT(now, *parse_rfc3339("2024-01-01T00:00:00Z"));
  EXPECT_LT(now, *parse_rfc3339("2100-01-01T00:00:00Z"));
}

}  // namespace
}  // namespace assay
