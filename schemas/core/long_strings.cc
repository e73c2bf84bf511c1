// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/long_strings.h"

#include <algorithm>

namespace assay {
namespace {

constexpr auto kNone = std::string_view::npos;

bool is_plain(std::string_view string) {
  unsigned bad = 0;
  for (const char one : string) {
    const auto byte = static_cast<unsigned char>(one);
    bad |= static_cast<unsigned>(byte < 0x20) | static_cast<unsigned>(byte >= 0x80) |
           static_cast<unsigned>(byte == '\\');
  }
  return bad == 0;
}

// The quote that ends the string whose first byte is at `begin`.
std::size_t end_of(std::string_view text, std::size_t begin) {
  for (std::size_t quote = text.find('"', begin); quote != kNone;
       quote = text.find('"', quote + 1)) {
    std::size_t escapes = quote;
    while (escapes > begin && text[escapes - 1] == '\\') {
      --escapes;
    }
    if ((quote - escapes) % 2 == 0) {
      return quote;
    }
  }
  return kNone;
}

}  // namespace

LongStrings::LongStrings(std::string_view text) : text_(text) {
  if (text.size() < kLongString) {
    return;
  }
  std::size_t copied = 0;
  std::size_t begin = 0;
  for (std::size_t number = 0; (begin = text.find('"', begin)) != kNone; ++number) {
    const std::size_t end = end_of(text, ++begin);
    if (end == kNone) {
      break;
    }
    const std::string_view string = text.substr(begin, end - begin);
    if (string.size() >= kLongString && is_plain(string)) {
      rest_.append(text.substr(copied, begin - copied));
      taken_.push_back({string, number, rest_.size()});
      copied = end;
    }
    begin = end + 1;
  }
  if (!taken_.empty()) {
    rest_.append(text.substr(copied));
  }
}

std::string_view LongStrings::next() {
  const std::size_t number = told_++;
  return given_ < taken_.size() && taken_[given_].number == number ? taken_[given_++].string
                                                                   : std::string_view();
}

std::size_t LongStrings::place_of(std::size_t position) const {
  std::size_t place = position;
  for (const Taken& taken : taken_) {
    place += position > taken.in_rest ? taken.string.size() : 0;
  }
  return place;
}

std::string LongStrings::line_and_column(std::size_t place) const {
  const std::string_view before = text_.substr(0, place == 0 ? 0 : place - 1);
  const auto lines = std::ranges::count(before, '\n');
  const std::string_view line = before.substr(before.rfind('\n') + 1);
  const auto characters = std::ranges::count_if(
      line, [](char c) { return (static_cast<std::uint8_t>(c) & 0xc0U) != 0x80U; });
  return "line " + std::to_string(lines + 1) + ", column " + std::to_string(characters + 1);
}

}  // namespace assay
