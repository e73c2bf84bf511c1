// SPDX-License-Identifier: Apache-2.0
#include "schemas/name_form.h"

#include <algorithm>
#include <vector>

namespace assay {
namespace {

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char l = lowered(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

// Percent-encoding undone, once. Nothing when an escape is broken, hides a control character, or
// leaves one more to undo: then nobody knows what the name means to the next reader.
std::optional<std::string> decoded(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    int c = static_cast<unsigned char>(name[i]);
    if (c == '%') {
      const int high = i + 2 < name.size() ? hex_digit(name[i + 1]) : -1;
      const int low = high >= 0 ? hex_digit(name[i + 2]) : -1;
      if (low < 0) {
        return std::nullopt;
      }
      c = high * 16 + low;
      i += 2;
    }
    if (c < 0x21 || c == 0x7F || c == '%' || c == '\\') {
      return std::nullopt;
    }
    out += lowered(static_cast<char>(c));
  }
  return out;
}

}  // namespace

bool has_control_character(std::string_view text) {
  constexpr unsigned char kC1Lead = 0xC2;
  constexpr unsigned char kC1Last = 0x9F;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 = byte == kC1Lead && i + 1 < text.size() &&
                    static_cast<unsigned char>(text[i + 1]) <= kC1Last;
    if (byte < 0x20 || byte == 0x7F || c1) {
      return true;
    }
  }
  return false;
}

std::optional<std::string> normalised_name(std::string_view name) {
  const std::optional<std::string> plain = decoded(name);
  if (!plain) {
    return std::nullopt;
  }
  std::vector<std::string_view> parts;
  for (std::size_t start = 0; start <= plain->size();) {
    const std::size_t slash = std::min(plain->find('/', start), plain->size());
    const std::string_view part = std::string_view(*plain).substr(start, slash - start);
    start = slash + 1;
    if (part == "..") {
      if (parts.empty()) {
        return std::nullopt;
      }
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  std::string out;
  for (const std::string_view part : parts) {
    out += out.empty() ? "" : "/";
    out += part;
  }
  return out;
}

}  // namespace assay
