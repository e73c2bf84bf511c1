// SPDX-License-Identifier: Apache-2.0
// Reads little-endian values from bounded memory. Lengths are compared with the remaining size, and
// never added to an offset, so nothing can overflow. A read that does not fit consumes nothing.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

class Cursor {
 public:
  explicit Cursor(ByteView bytes) : rest_(bytes) {}

  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
  [[nodiscard]] ByteView rest() const { return rest_; }

  // Takes the next `size` bytes, borrowed from the input. Returns nullopt when fewer bytes remain.
  [[nodiscard]] std::optional<ByteView> take(std::size_t size) {
    if (size > rest_.size()) {
      return std::nullopt;
    }
    const ByteView taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  [[nodiscard]] std::optional<std::uint16_t> u16() {
    const auto bytes = take(2);
    if (!bytes) {
      return std::nullopt;
    }
    return static_cast<std::uint16_t>((*bytes)[0] | ((*bytes)[1] << 8));
  }

  [[nodiscard]] std::optional<std::uint32_t> u32() {
    const auto bytes = take(4);
    if (!bytes) {
      return std::nullopt;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;) {
      value = (value << 8) | (*bytes)[i];
    }
    return value;
  }

 private:
  ByteView rest_;
};

}  // namespace assay::attestation::tdx
