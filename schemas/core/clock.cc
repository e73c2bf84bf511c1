// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/clock.h"

#include <charconv>
#include <cstdint>

namespace assay {
namespace {

void append_padded(std::string& out, std::uint64_t value, std::size_t width) {
  const std::string digits = std::to_string(value);
  out.append(width > digits.size() ? width - digits.size() : 0, '0');
  out += digits;
}

// Reads exactly `width` digits at the start of `text` and removes them; -1 when it cannot.
int take_digits(std::string_view& text, std::size_t width) {
  int value = 0;
  if (text.size() < width) {
    return -1;
  }
  const char* const first = text.data();
  const auto [end, error] = std::from_chars(first, first + width, value);
  if (error != std::errc{} || end != first + width || text.front() == '-') {
    return -1;
  }
  text.remove_prefix(width);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

// Milliseconds of a fraction ".d+"; -1 when malformed. Digits behind the third are cut.
int take_fraction(std::string_view& text) {
  if (text.empty() || text.front() != '.') {
    return 0;
  }
  text.remove_prefix(1);
  int value = 0;
  std::size_t digits = 0;
  for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits) {
    if (digits < 3) {
      value = value * 10 + (text.front() - '0');
    }
    text.remove_prefix(1);
  }
  if (digits == 0 || digits > 9) {
    return -1;
  }
  for (; digits < 3; ++digits) {
    value *= 10;
  }
  return value;
}

}  // namespace

std::string to_rfc3339(Timestamp time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string out;
  append_padded(out, static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, static_cast<std::uint64_t>(clock.hours().count()), 2);
  out += ':';
  append_padded(out, static_cast<std::uint64_t>(clock.minutes().count()), 2);
  out += ':';
  append_padded(out, static_cast<std::uint64_t>(clock.seconds().count()), 2);
  out += '.';
  append_padded(out, static_cast<std::uint64_t>(clock.subseconds().count()), 3);
  out += 'Z';
  return out;
}

Result<Timestamp> parse_rfc3339(std::string_view text) {
  const auto malformed = [] {
    return fail(ErrorCode::kInvalidTime, "this is not a time; write times as 2026-01-31T12:00:00Z");
  };
  std::string_view rest = text;
  const int year = take_digits(rest, 4);
  const bool dash1 = take(rest, '-');
  const int month = take_digits(rest, 2);
  const bool dash2 = take(rest, '-');
  const int day = take_digits(rest, 2);
  const bool t = take(rest, 'T');
  const int hour = take_digits(rest, 2);
  const bool colon1 = take(rest, ':');
  const int minute = take_digits(rest, 2);
  const bool colon2 = take(rest, ':');
  const int second = take_digits(rest, 2);
  const int milliseconds = take_fraction(rest);
  if (!dash1 || !dash2 || !t || !colon1 || !colon2 || rest != "Z" || year < 1970 || month < 0 ||
      day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 ||
      milliseconds < 0) {
    return malformed();
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) {
    return malformed();
  }
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second) + std::chrono::milliseconds(milliseconds);
}

Timestamp SystemClock::now() const {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace assay
