// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/bytes.h"

#include <array>
#include <cstring>

#include <openssl/crypto.h>

namespace assay {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kStandardAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

using DecodeTable = std::array<std::int8_t, 256>;

constexpr DecodeTable make_decode_table(std::string_view alphabet) {
  DecodeTable table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}

constexpr DecodeTable kStandardTable = make_decode_table(kStandardAlphabet);
constexpr DecodeTable kUrlTable = make_decode_table(kUrlAlphabet);

int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return -1;
}

std::string encode(ByteView bytes, std::string_view alphabet, bool padded) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      word = (word << 8) | (j < count ? bytes[i + j] : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      if (j <= count) {
        text += alphabet[(word >> (18 - 6 * j)) & 63U];
      } else if (padded) {
        text += '=';
      }
    }
  }
  return text;
}

// Decodes one padded quad-aligned text; refuses any spelling that `encode` would not produce.
Result<Bytes> decode(std::string_view text, const DecodeTable& table) {
  if (text.size() % 4 != 0) {
    return fail(ErrorCode::kInvalidEncoding, "base64 text must be a multiple of 4 characters");
  }
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    std::size_t pad = 0;
    if (last && text[i + 3] == '=') {
      pad = text[i + 2] == '=' ? 2 : 1;
    }
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const int value = j < 4 - pad ? table[static_cast<unsigned char>(text[i + j])] : 0;
      if (value < 0) {
        return fail(ErrorCode::kInvalidEncoding,
                    "base64 text holds a character outside its alphabet");
      }
      word = (word << 6) | static_cast<std::uint32_t>(value);
    }
    if ((pad == 1 && (word & 0xFFU) != 0) || (pad == 2 && (word & 0xFFFFU) != 0)) {
      return fail(ErrorCode::kInvalidEncoding, "base64 text has bits behind its end");
    }
    for (std::size_t j = 0; j < 3 - pad; ++j) {
      bytes.push_back(static_cast<std::uint8_t>(word >> (16 - 8 * j)));
    }
  }
  return bytes;
}

// Length of the UTF-8 sequence at the start of `text`, or 0 when it is malformed (RFC 3629
// section 4: the second byte's range depends on the first).
std::size_t utf8_sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) {
    return 0;
  }
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) {
      return 0;
    }
  }
  return length;
}

}  // namespace

ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string_view as_text(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

Bytes to_bytes(std::string_view text) {
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

std::string hex_encode(ByteView bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15U];
  }
  return text;
}

Result<Bytes> hex_decode(std::string_view text) {
  if (text.size() % 2 != 0) {
    return fail(ErrorCode::kInvalidEncoding, "hex text must have an even number of digits");
  }
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) {
      return fail(ErrorCode::kInvalidEncoding, "hex text takes only the digits 0-9 and a-f");
    }
    bytes.push_back(static_cast<std::uint8_t>(high * 16 + low));
  }
  return bytes;
}

std::string base64_encode(ByteView bytes) { return encode(bytes, kStandardAlphabet, true); }

Result<Bytes> base64_decode(std::string_view text) { return decode(text, kStandardTable); }

std::string base64url_encode(ByteView bytes) { return encode(bytes, kUrlAlphabet, false); }

Result<Bytes> base64_decode_any(std::string_view text) {
  const bool url = text.find_first_of("-_") != std::string_view::npos;
  return decode(text, url ? kUrlTable : kStandardTable);
}

bool constant_time_equal(ByteView a, ByteView b) {
  return a.size() == b.size() && (a.empty() || CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0);
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

void secure_wipe(std::span<std::uint8_t> bytes) {
  if (!bytes.empty()) {
    OPENSSL_cleanse(bytes.data(), bytes.size());
  }
}

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
  if (this != &other) {
    secure_wipe(bytes_);
    bytes_ = std::move(other.bytes_);
    other.bytes_.clear();
  }
  return *this;
}

}  // namespace assay
