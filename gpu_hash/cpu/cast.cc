// SPDX-License-Identifier: Apache-2.0
// Casts in whole numbers alone, so that neither the processor's rounding mode nor its treatment of
// small numbers matters.
#include "gpu_hash/cast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace assay::gpu_hash {
namespace {

constexpr std::uint32_t kInfinity = 0x7f800000;
constexpr std::uint32_t kMantissa = 0x007fffff;

// `value` without its last `bits` bits, rounded to the nearest, ties to even.
std::uint32_t shift_to_even(std::uint32_t value, unsigned bits) {
  const std::uint32_t half = std::uint32_t{1} << (bits - 1);
  const std::uint32_t rest = value & ((half << 1) - 1);
  const std::uint32_t kept = value >> bits;
  return kept + (rest > half || (rest == half && (kept & 1) != 0) ? 1 : 0);
}

}  // namespace

std::uint16_t bf16_of(std::uint32_t f32) {
  if ((f32 & ~std::uint32_t{0x80000000}) > kInfinity) {
    return 0x7fc0;  // one NaN for all
  }
  return static_cast<std::uint16_t>(shift_to_even(f32, 16));
}

std::uint16_t f16_of(std::uint32_t f32) {
  constexpr std::uint32_t kSmallestNormal = 0x38800000;  // 2^-14
  constexpr std::uint32_t kTooLarge = 0x47800000;        // 2^16
  constexpr std::uint32_t kRebias = 0x38000000;          // exponents count from 15, not from 127
  const auto sign = static_cast<std::uint16_t>((f32 >> 16) & 0x8000);
  const std::uint32_t size = f32 & ~std::uint32_t{0x80000000};
  std::uint32_t half = 0;
  if (size > kInfinity) {
    half = 0x7e00;
  } else if (size >= kTooLarge) {
    half = 0x7c00;
  } else if (size >= kSmallestNormal) {
    half = shift_to_even(size - kRebias, 13);  // a carry leads to infinity
  } else if (const std::uint32_t exponent = size >> 23; exponent >= 102) {
    half = shift_to_even((size & kMantissa) | 0x00800000, 126 - exponent);
  }
  return static_cast<std::uint16_t>(sign | half);
}

void cast_f32(ByteView f32, HalfType type, std::span<std::uint8_t> halves) {
  static_assert(std::endian::native == std::endian::little);
  // Numbers that are cast together: compilers make one instruction of a few of them.
  constexpr std::size_t kTogether = 32;
  std::array<std::uint32_t, kTogether> in{};
  std::array<std::uint16_t, kTogether> out{};
  const auto cast = [&](auto one) {
    const std::size_t count = halves.size() / 2;
    for (std::size_t at = 0; at < count; at += kTogether) {
      const std::size_t some = std::min(kTogether, count - at);
      if (some == kTogether) {
        std::memcpy(in.data(), f32.data() + 4 * at, sizeof(in));
      } else {
        std::memcpy(in.data(), f32.data() + 4 * at, 4 * some);
      }
      for (std::size_t i = 0; i < kTogether; ++i) {
        out[i] = one(in[i]);
      }
      std::memcpy(halves.data() + 2 * at, out.data(), 2 * some);
    }
  };
  if (type == HalfType::kBf16) {
    cast([](std::uint32_t bits) {
      // As bf16_of(): a carry of the last bits rounds up, and half way only where the number is
      // odd.
      const std::uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
      const bool is_nan = (bits & ~std::uint32_t{0x80000000}) > kInfinity;
      return static_cast<std::uint16_t>(is_nan ? 0x7fc0 : rounded);
    });
  } else {
    cast(f16_of);
  }
}

}  // namespace assay::gpu_hash
