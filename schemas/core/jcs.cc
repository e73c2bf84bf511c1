// SPDX-License-Identifier: Apache-2.0
// RFC 8785: JSON Canonicalization Scheme.
#include "schemas/core/jcs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "schemas/core/json.h"

namespace assay {
namespace {

// UTF-16 code units of valid UTF-8, the sort key of section 3.2.3.
std::u16string utf16(std::string_view text) {
  std::u16string units;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) {
      return static_cast<char32_t>(static_cast<unsigned char>(text[at]));
    };
    const char32_t first = byte(i);
    const std::size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    char32_t point = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (std::size_t j = 1; j < length; ++j) {
      point = (point << 6) | (byte(i + j) & 0x3FU);
    }
    if (point >= 0x10000) {
      units += static_cast<char16_t>(0xD800 + ((point - 0x10000) >> 10));
      units += static_cast<char16_t>(0xDC00 + ((point - 0x10000) & 0x3FFU));
    } else {
      units += static_cast<char16_t>(point);
    }
    i += length;
  }
  return units;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

// Whether the text stands for itself between quotation marks.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
}

}  // namespace

// Section 3.2.2.2: only what must be escaped is, in the shortest form.
void append_canonical(std::string& out, std::string_view text) {
  if (is_plain(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  constexpr std::string_view kShort = "btn_fr";  // U+0008 to U+000D, U+000B has no short form
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x20) {
      out += c;
    } else if (byte >= 0x08 && byte <= 0x0D && byte != 0x0B) {
      out += '\\';
      out += kShort[byte - 0x08U];
    } else {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15U];
    }
  }
  out += '"';
}

namespace {

// Section 3.2.2.3: ECMAScript's Number::toString. std::to_chars gives the same shortest digits;
// only their layout differs.
void append_double(std::string& out, double value) {
  if (value == 0) {
    out += '0';  // also for -0
    return;
  }
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') {
      digits += c;
    }
  }
  int exponent = 0;
  const std::size_t start = text[e + 1] == '+' ? e + 2 : e + 1;
  std::from_chars(text.data() + start, text.data() + text.size(), exponent);
  const int count = static_cast<int>(digits.size());
  const int point = exponent + 1;  // the n of ECMA-262 Number::toString
  if (value < 0) {
    out += '-';
  }
  if (count <= point && point <= 21) {
    out += digits + std::string(static_cast<std::size_t>(point - count), '0');
  } else if (0 < point && point <= 21) {
    out += digits.substr(0, static_cast<std::size_t>(point)) + '.' +
           digits.substr(static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    out += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else {
    out += digits.substr(0, 1);
    if (count > 1) {
      out += '.' + digits.substr(1);
    }
    out += 'e';
    out += point > 0 ? '+' : '-';
    out += std::to_string(std::abs(point - 1));
  }
}

Status append(std::string& out, const Json& value);

Status append_member(std::string& out, const std::string& key, const Json& value) {
  out += out.back() == '{' ? "" : ",";
  append_canonical(out, key);
  out += ':';
  return append(out, value);
}

Status append_object(std::string& out, const Json& value) {
  out += '{';
  const auto& object = value.get_ref<const Json::object_t&>();
  // Those are in the order of their bytes, which for ASCII is that of section 3.2.3.
  if (std::all_of(object.begin(), object.end(),
                  [](const auto& member) { return is_ascii(member.first); })) {
    for (const auto& [key, member] : object) {
      ASSAY_TRY(append_member(out, key, member));
    }
    out += '}';
    return {};
  }
  std::vector<std::pair<std::u16string, Json::const_iterator>> members;
  for (auto it = value.begin(); it != value.end(); ++it) {
    if (!is_utf8(it.key())) {
      return fail(ErrorCode::kMalformedJson, "a member name is not UTF-8");
    }
    members.emplace_back(utf16(it.key()), it);
  }
  std::sort(members.begin(), members.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [order, member] : members) {
    ASSAY_TRY(append_member(out, member.key(), member.value()));
  }
  out += '}';
  return {};
}

Status append_array(std::string& out, const Json& value) {
  out += '[';
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (i > 0) {
      out += ',';
    }
    ASSAY_TRY(append(out, value[i]));
  }
  out += ']';
  return {};
}

Status append_number(std::string& out, const Json& value) {
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (!std::isfinite(number)) {
      return fail(ErrorCode::kMalformedJson, "JSON has no NaN and no infinity");
    }
    append_double(out, number);
    return {};
  }
  const bool too_big = value.is_number_unsigned() &&
                       value.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxSafeInteger);
  const auto number = value.get<std::int64_t>();
  if (too_big || number > kMaxSafeInteger || number < -kMaxSafeInteger) {
    return fail(ErrorCode::kMalformedJson, "an integer is outside the range that JSON keeps exact");
  }
  out += std::to_string(number);
  return {};
}

Status append(std::string& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      out += "null";
      return {};
    case Json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      return {};
    case Json::value_t::string:
      if (const auto& text = value.get_ref<const std::string&>();
          !is_plain(text) && !is_utf8(text)) {
        return fail(ErrorCode::kMalformedJson, "a string is not UTF-8");
      }
      append_canonical(out, value.get_ref<const std::string&>());
      return {};
    case Json::value_t::object:
      return append_object(out, value);
    case Json::value_t::array:
      return append_array(out, value);
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return append_number(out, value);
    default:
      return fail(ErrorCode::kMalformedJson, "the value has no JSON form");
  }
}

}  // namespace

Result<std::string> canonical_json(const Json& value) {
  std::string out;
  ASSAY_TRY(append(out, value));
  return out;
}

}  // namespace assay
