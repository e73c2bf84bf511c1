// SPDX-License-Identifier: Apache-2.0
// Casts of weights: F32 to the types that servers compute with. The bytes are those that PyTorch
// makes (schemas/layout.md, section 4). Vectors: tests/vectors/casts.json.
#pragma once

#include <cstdint>
#include <span>

#include "schemas/core/bytes.h"

namespace assay::gpu_hash {

enum class HalfType : std::uint8_t { kBf16, kF16 };

// Return the bits of the nearest number, ties to even, of a number that is given as its bits. A
// number that is too large becomes infinity.
[[nodiscard]] std::uint16_t bf16_of(std::uint32_t f32);
[[nodiscard]] std::uint16_t f16_of(std::uint32_t f32);

// Casts little-endian numbers: of each 4 bytes of `f32`, 2 bytes of `halves`, which has half as
// many bytes.
void cast_f32(ByteView f32, HalfType type, std::span<std::uint8_t> halves);

}  // namespace assay::gpu_hash
