// SPDX-License-Identifier: Apache-2.0
// Reads small parts of a file from front to back, in pieces. Internal to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "gpu_hash/safetensors.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

class HeaderBytes {
 public:
  static constexpr std::uint64_t kPiece = 65536;  // bytes of one read

  // Reads nothing at or behind `end`. `read` must outlive this object.
  HeaderBytes(std::uint64_t end, const ReadAt& read) : end_(end), read_(read) {}

  // Fills `out` from `offset`, which is not before that of an earlier call; offset + size of `out`
  // is at most `end`. Errors: those of `read`.
  Status copy(std::uint64_t offset, std::span<std::uint8_t> out) {
    while (!out.empty()) {
      if (offset - begin_ >= piece_.size()) {
        piece_.resize(static_cast<std::size_t>(std::min(kPiece, end_ - offset)));
        begin_ = offset;
        ASSAY_TRY(read_(offset, piece_));
      }
      const auto at = static_cast<std::size_t>(offset - begin_);
      const std::size_t part = std::min(out.size(), piece_.size() - at);
      std::copy_n(piece_.begin() + static_cast<std::ptrdiff_t>(at), part, out.begin());
      out = out.subspan(part);
      offset += part;
    }
    return {};
  }

 private:
  std::uint64_t end_;
  const ReadAt& read_;
  Bytes piece_;
  std::uint64_t begin_ = 0;  // of piece_
};

}  // namespace assay::gpu_hash
