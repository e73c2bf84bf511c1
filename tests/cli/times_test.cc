// SPDX-License-Identifier: Apache-2.0
// Times as people type them.
#include "cli/times.h"

#include <gtest/gtest.h>

namespace assay::cli {
namespace {

std::string read(const std::string& text, Span span) {
  const auto time = read_time(text, parse_rfc3339("2026-03-10T12:00:00Z").value(), span);
  return time ? to_rfc3339(*time) : std::string(info(time.error().code).code);
}

TEST(Times, SpansLeadAheadOrBack) {
  EXPECT_EQ(read("2d", Span::kAgo), "2026-03-08T12:00:00.000Z");
  EXPECT_EQ(read("2d", Span::kAhead), "2026-03-12T12:00:00.000Z");
  EXPECT_EQ(read("12h", Span::kAgo), "2026-03-10T00:00:00.000Z");
  EXPECT_EQ(read("30m", Span::kAgo), "2026-03-10T11:30:00.000Z");
  EXPECT_EQ(read("36500d", Span::kAgo).substr(0, 4), "1926");
}

TEST(Times, DatesAndTimesAreThemselves) {
  for (const Span span : {Span::kAgo, Span::kAhead}) {
    EXPECT_EQ(read("2026-01-31", span), "2026-01-31T00:00:00.000Z");
    EXPECT_EQ(read("2026-01-31T07:08:09Z", span), "2026-01-31T07:08:09.000Z");
  }
}

TEST(Times, AnythingElse_IsAMistake) {
  for (const char* text : {"", "7", "d", "-1d", "+1d", " 1d", "1d ", "1.5d", "1w", "36501d",
                           "99999999999d", "yesterday", "2026-02-30", "2026-1-31"}) {
    EXPECT_EQ(read(text, Span::kAgo), "usage") << text;
  }
}

TEST(Times, FiltersKeepWhatTheServiceTakes) {
  for (const char* text : {"", "2026-01-31T07:08:09Z"}) {
    EXPECT_EQ(past_time(text, Timestamp()).value(), text);
  }
}

}  // namespace
}  // namespace assay::cli
