// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/printable.h"

#include <algorithm>
#include <cstdint>

#include "schemas/core/bytes.h"

namespace assay {
namespace {

void escape_byte(std::string& out, std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\x";
  out += kDigits[byte >> 4U];
  out += kDigits[byte & 15U];
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  for (std::size_t length = 1; length <= 4 && length <= text.size(); ++length) {
    if (is_utf8(text.substr(0, length))) {
      return length;
    }
  }
  return 0;
}

std::string_view utf8_prefix(std::string_view text, std::size_t size) {
  if (text.size() <= size) {
    return text;
  }
  while (size > 0 && (static_cast<std::uint8_t>(text[size]) & 0xC0U) == 0x80U) {
    --size;
  }
  return text.substr(0, size);
}

bool is_deceptive(std::string_view sequence) {
  if (sequence.size() == 2) {
    return (sequence >= "\xc2\x80" && sequence <= "\xc2\x9f") || sequence == "\xd8\x9c";
  }
  return sequence.size() == 3 &&
         ((sequence >= "\xe2\x80\x8b" && sequence <= "\xe2\x80\x8f") ||
          // NOLINTNEXTLINE(misc-misleading-bidirectional): these are what is looked for
          (sequence >= "\xe2\x80\xa8" && sequence <= "\xe2\x80\xae") ||
          (sequence >= "\xe2\x81\xa0" && sequence <= "\xe2\x81\xaf") ||
          sequence == "\xef\xbb\xbf" ||
          (sequence >= "\xef\xb7\x90" && sequence <= "\xef\xb7\xaf") ||
          (sequence >= "\xef\xbf\xbe" && sequence <= "\xef\xbf\xbf"));
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const auto first = static_cast<std::uint8_t>(text.front());
    if (length == 0 || (length == 1 && (first < 0x20 || first == 0x7f))) {
      escape_byte(out, first);
      text.remove_prefix(1);
      continue;
    }
    const std::string_view sequence = text.substr(0, length);
    if (is_deceptive(sequence)) {
      for (const char byte : sequence) {
        escape_byte(out, static_cast<std::uint8_t>(byte));
      }
    } else {
      out += sequence;
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._/+@%:=,-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text.front() != '-' && std::ranges::all_of(text, plain)) {
    return text;
  }
  std::string word = "'";
  for (const char c : text) {
    word += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return word + "'";
}

}  // namespace assay
