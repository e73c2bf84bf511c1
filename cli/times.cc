// SPDX-License-Identifier: Apache-2.0
#include "cli/times.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace assay::cli {
namespace {

std::optional<std::chrono::minutes> unit_of(std::string_view text) {
  if (text == "m") {
    return std::chrono::minutes(1);
  }
  if (text == "h") {
    return std::chrono::hours(1);
  }
  return text == "d" ? std::optional<std::chrono::minutes>(std::chrono::days(1)) : std::nullopt;
}

// Nothing when the text is no span of a hundred years or less.
std::optional<std::chrono::minutes> span_in(const std::string& text) {
  constexpr std::chrono::minutes kMost = std::chrono::days(36500);
  std::uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  const auto unit = unit_of(std::string_view(stop, end));
  if (error != std::errc() || !unit || count > kMost / *unit) {
    return std::nullopt;
  }
  return *unit * static_cast<std::int64_t>(count);
}

}  // namespace

Result<Timestamp> read_time(const std::string& text, Timestamp now, Span span) {
  if (const auto length = span_in(text)) {
    return span == Span::kAhead ? now + *length : now - *length;
  }
  constexpr std::size_t kDateLength = 10;
  if (auto time = parse_rfc3339(text.size() == kDateLength ? text + "T00:00:00Z" : text)) {
    return *time;
  }
  return fail(ErrorCode::kUsage,
              span == Span::kAhead
                  ? "A time is written as 2027-01-31T12:00:00Z, as 2027-01-31, or as the span from "
                    "now such as 90d, 12h or 30m"
                  : "A time is written as 2026-01-31T12:00:00Z, as 2026-01-31, or as its age such "
                    "as 7d, 12h or 30m",
              text);
}

Result<std::string> past_time(const std::string& text, Timestamp now) {
  if (text.empty() || parse_rfc3339(text)) {
    return text;
  }
  ASSAY_ASSIGN(const Timestamp time, read_time(text, now, Span::kAgo));
  return to_rfc3339(time);
}

}  // namespace assay::cli
