// SPDX-License-Identifier: Apache-2.0
// Writes little-endian values one after another. The counterpart of ../tdx/cursor.h.
#pragma once

#include <cstdint>
#include <utility>

#include "schemas/core/bytes.h"

namespace assay::attestation::tdx {

class Writer {
 public:
  void bytes(ByteView bytes) { out_.insert(out_.end(), bytes.begin(), bytes.end()); }
  void zeros(std::size_t count) { out_.insert(out_.end(), count, std::uint8_t{0}); }
  // Writes the lowest `size` bytes of `value`, 1 to 8.
  void number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      out_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
  }
  [[nodiscard]] Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

}  // namespace assay::attestation::tdx
