// SPDX-License-Identifier: Apache-2.0
// Reading RFC 3339 with offsets. Date and time of day are read by parse_rfc3339().
#include "schemas/instant.h"

#include <algorithm>
#include <optional>
#include <string>

namespace assay {
namespace {

constexpr std::size_t kSecondsEnd = 19;  // "YYYY-MM-DDTHH:MM:SS"
constexpr std::size_t kMaxDigits = 9;
constexpr std::size_t kOffsetBytes = 6;  // "+hh:mm"

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::unexpected<Error> not_a_time() {
  return fail(ErrorCode::kInvalidTime, "this is no RFC 3339 time between 1970 and 9999");
}

std::optional<std::int64_t> two_digits(std::string_view text) {
  if (text.size() != 2 || !is_digit(text[0]) || !is_digit(text[1])) {
    return std::nullopt;
  }
  return (text[0] - '0') * 10 + (text[1] - '0');
}

// Seconds that the local time is ahead of UTC.
std::optional<std::int64_t> offset_of(std::string_view text) {
  constexpr std::int64_t kMinute = 60;
  if (text == "Z" || text == "z") {
    return 0;
  }
  if (text.size() != kOffsetBytes || (text[0] != '+' && text[0] != '-') || text[3] != ':') {
    return std::nullopt;
  }
  const auto hours = two_digits(text.substr(1, 2));
  const auto minutes = two_digits(text.substr(4, 2));
  if (!hours || !minutes || *hours > 23 || *minutes > 59) {
    return std::nullopt;
  }
  return (*hours * kMinute + *minutes) * kMinute * (text[0] == '-' ? -1 : 1);
}

}  // namespace

Result<Instant> parse_instant(std::string_view text) {
  if (text.size() <= kSecondsEnd || (text[10] != 'T' && text[10] != 't')) {
    return not_a_time();
  }
  std::string local(text.substr(0, kSecondsEnd));
  local[10] = 'T';
  const auto time = parse_rfc3339(local + "Z");
  if (!time) {
    return not_a_time();
  }
  text.remove_prefix(kSecondsEnd);
  Instant instant;
  if (text.front() == '.') {
    text.remove_prefix(1);
    const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
    const auto digits = static_cast<std::size_t>(end - text.begin());
    if (digits == 0 || digits > kMaxDigits) {
      return not_a_time();
    }
    for (std::size_t i = 0; i < kMaxDigits; ++i) {
      instant.nanoseconds = instant.nanoseconds * 10 + (i < digits ? text[i] - '0' : 0);
    }
    text.remove_prefix(digits);
  }
  const auto offset = offset_of(text);
  if (!offset) {
    return not_a_time();
  }
  instant.seconds = std::chrono::floor<std::chrono::seconds>(*time).time_since_epoch().count();
  instant.seconds -= *offset;
  return instant;
}

Instant instant_of(Timestamp time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::chrono::nanoseconds rest = time - seconds;
  return {seconds.time_since_epoch().count(), static_cast<std::int32_t>(rest.count())};
}

Timestamp floor_of(const Instant& instant) {
  constexpr std::int32_t kNanosecondsPerMillisecond = 1'000'000;
  return Timestamp(std::chrono::seconds(instant.seconds)) +
         std::chrono::milliseconds(instant.nanoseconds / kNanosecondsPerMillisecond);
}

}  // namespace assay
