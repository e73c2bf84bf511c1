// SPDX-License-Identifier: Apache-2.0
// Reads DER (X.690) values with definite, minimal lengths of at most 65,535 bytes from bounded
// memory. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

inline constexpr std::uint8_t kDerInteger = 0x02;
inline constexpr std::uint8_t kDerOctetString = 0x04;
inline constexpr std::uint8_t kDerOid = 0x06;
inline constexpr std::uint8_t kDerEnumerated = 0x0a;
inline constexpr std::uint8_t kDerSequence = 0x30;

class DerReader {
 public:
  explicit DerReader(ByteView bytes) : rest_(bytes) {}

  [[nodiscard]] bool done() const { return rest_.empty(); }

  // Takes the content of the next value, which must have `tag`. Returns nullopt and consumes
  // nothing otherwise.
  [[nodiscard]] std::optional<ByteView> take(std::uint8_t tag) {
    if (rest_.size() < 2 || rest_[0] != tag) {
      return std::nullopt;
    }
    std::size_t header = 2;
    std::size_t size = rest_[1];
    if (size >= 0x80) {
      const std::size_t digits = size & 0x7fU;
      if (digits < 1 || digits > 2 || rest_.size() < header + digits) {
        return std::nullopt;
      }
      size = rest_[2];
      if (digits == 2) {
        size = (size << 8) | rest_[3];
      }
      header += digits;
      if (size < (digits == 1 ? 0x80U : 0x100U)) {
        return std::nullopt;  // X.690 section 10.1: the shortest form
      }
    }
    if (rest_.size() - header < size) {
      return std::nullopt;
    }
    const ByteView content = rest_.subspan(header, size);
    rest_ = rest_.subspan(header + size);
    return content;
  }

  // Takes the next value as an unsigned number of at most `max`, in its shortest form. Returns
  // nullopt otherwise.
  [[nodiscard]] std::optional<std::uint32_t> take_unsigned(std::uint8_t tag, std::uint32_t max) {
    const auto digits = take(tag);
    if (!digits || digits->empty() || digits->size() > 4 || (*digits)[0] >= 0x80 ||
        (digits->size() > 1 && (*digits)[0] == 0 && (*digits)[1] < 0x80)) {
      return std::nullopt;
    }
    std::uint32_t value = 0;
    for (const std::uint8_t digit : *digits) {
      value = (value << 8) | digit;
    }
    return value <= max ? std::optional(value) : std::nullopt;
  }

 private:
  ByteView rest_;
};

}  // namespace assay::attestation::tdx
