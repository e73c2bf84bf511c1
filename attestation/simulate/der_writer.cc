// SPDX-License-Identifier: Apache-2.0
#include "attestation/simulate/der_writer.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "attestation/tdx/der_reader.h"

namespace assay::attestation::tdx::der {
namespace {

constexpr std::uint8_t kBoolean = 0x01;
constexpr std::uint8_t kBitString = 0x03;
constexpr std::uint8_t kUtf8String = 0x0c;
constexpr std::uint8_t kUtcTime = 0x17;
constexpr std::uint8_t kGeneralizedTime = 0x18;
constexpr std::uint8_t kSet = 0x31;
constexpr std::uint8_t kContext = 0xa0;

Bytes big_endian(std::uint64_t number) {
  Bytes bytes;
  for (int shift = 56; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(number >> shift));
  }
  return bytes;
}

ByteView without_leading_zeros(ByteView bytes) {
  const auto first = std::ranges::find_if(bytes, [](std::uint8_t b) { return b != 0; });
  return bytes.subspan(static_cast<std::size_t>(first - bytes.begin()));
}

Bytes join(std::span<const Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Base 128, the highest bit set in all bytes but the last (X.690 section 8.19.2).
void append_arc(std::uint64_t arc, Bytes& out) {
  Bytes digits = {static_cast<std::uint8_t>(arc & 0x7fU)};
  for (arc >>= 7; arc > 0; arc >>= 7) {
    digits.push_back(static_cast<std::uint8_t>(0x80U | (arc & 0x7fU)));
  }
  out.insert(out.end(), digits.rbegin(), digits.rend());
}

}  // namespace

Bytes value(std::uint8_t tag, ByteView content) {
  Bytes out = {tag};
  if (content.size() < 0x80) {
    out.push_back(static_cast<std::uint8_t>(content.size()));
  } else {
    const Bytes all = big_endian(content.size());
    const ByteView digits = without_leading_zeros(all);
    out.push_back(static_cast<std::uint8_t>(0x80U | digits.size()));
    out.insert(out.end(), digits.begin(), digits.end());
  }
  out.insert(out.end(), content.begin(), content.end());
  return out;
}

Bytes sequence(std::initializer_list<Bytes> parts) {
  return sequence(std::span(parts.begin(), parts.size()));
}
Bytes sequence(std::span<const Bytes> parts) { return value(kDerSequence, join(parts)); }
Bytes set(std::initializer_list<Bytes> parts) {
  return value(kSet, join(std::span(parts.begin(), parts.size())));
}
Bytes context(std::uint8_t number, ByteView content) {
  return value(static_cast<std::uint8_t>(kContext | number), content);
}

Bytes oid(std::string_view dotted) {
  Bytes content;
  std::uint64_t first = 0;
  std::size_t index = 0;
  while (!dotted.empty()) {
    std::uint64_t arc = 0;
    const auto end = std::from_chars(dotted.data(), dotted.data() + dotted.size(), arc).ptr;
    dotted.remove_prefix(
        std::min(static_cast<std::size_t>(end - dotted.data()) + 1, dotted.size()));
    if (index == 0) {
      first = arc;
    } else {
      append_arc(index == 1 ? first * 40 + arc : arc, content);
    }
    ++index;
  }
  return value(kDerOid, content);
}

Bytes integer(std::uint64_t number) { return integer(ByteView(big_endian(number))); }

Bytes integer(ByteView magnitude) {
  const ByteView digits = without_leading_zeros(magnitude);
  Bytes content;
  if (digits.empty() || digits.front() >= 0x80) {
    content.push_back(0);
  }
  content.insert(content.end(), digits.begin(), digits.end());
  return value(kDerInteger, content);
}

Bytes enumerated(std::uint8_t number) { return value(kDerEnumerated, ByteView(&number, 1)); }

Bytes boolean_true() {
  constexpr std::uint8_t kTrue = 0xff;
  return value(kBoolean, ByteView(&kTrue, 1));
}

Bytes octets(ByteView content) { return value(kDerOctetString, content); }

Bytes bits(ByteView content, std::uint8_t unused) {
  Bytes all = {unused};
  all.insert(all.end(), content.begin(), content.end());
  return value(kBitString, all);
}

Bytes utf8(std::string_view text) { return value(kUtf8String, as_bytes(text)); }

Bytes time(Timestamp time) {
  // "YYYY-MM-DDTHH:MM:SS.mmmZ"
  std::string digits = to_rfc3339(time).substr(0, 19);
  std::erase_if(digits, [](char c) { return c < '0' || c > '9'; });
  const bool utc = digits < "2050";
  return value(utc ? kUtcTime : kGeneralizedTime, as_bytes(digits.substr(utc ? 2 : 0) + "Z"));
}

}  // namespace assay::attestation::tdx::der
