// SPDX-License-Identifier: Apache-2.0
// Casts of weights, against exact fractions (tests/vectors/casts.json).
#include "gpu_hash/cast.h"

#include <gtest/gtest.h>

#include "tests/gpu_hash/support.h"

namespace assay::gpu_hash {
namespace {

Bytes little_endian(std::uint64_t value, std::size_t size) {
  Bytes bytes;
  for (std::size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  return bytes;
}

std::uint32_t bits_of(const Json& row, const char* member) {
  return static_cast<std::uint32_t>(std::stoul(row[member].get<std::string>(), nullptr, 16));
}

TEST(Cast, Vectors_Hold) {
  const Json casts = test::load_vectors("casts")["casts"];
  ASSERT_GT(casts.size(), 200U);
  Bytes f32;
  Bytes bf16;
  Bytes f16;
  for (const Json& row : casts) {
    EXPECT_EQ(bf16_of(bits_of(row, "f32")), bits_of(row, "bf16")) << row;
    EXPECT_EQ(f16_of(bits_of(row, "f32")), bits_of(row, "f16")) << row;
    for (const auto& [member, size, list] :
         {std::tuple("f32", 4, &f32), {"bf16", 2, &bf16}, {"f16", 2, &f16}}) {
      const Bytes bytes = little_endian(bits_of(row, member), static_cast<std::size_t>(size));
      list->insert(list->end(), bytes.begin(), bytes.end());
    }
  }
  Bytes halves(bf16.size());
  cast_f32(f32, HalfType::kBf16, halves);
  EXPECT_EQ(halves, bf16);
  cast_f32(f32, HalfType::kF16, halves);
  EXPECT_EQ(halves, f16);
}

// A half is the cast of the F32 number with its value.
TEST(Cast, EveryFiniteHalf_StaysWhatItIs) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    EXPECT_EQ(bf16_of(half << 16), (half & 0x7fff) > 0x7f80 ? 0x7fc0 : half);
    const std::uint32_t exponent = (half >> 10) & 0x1f;
    if (exponent != 0 && exponent != 0x1f) {
      const std::uint32_t f32 =
          (half & 0x8000) << 16 | (exponent + 112) << 23 | (half & 0x3ff) << 13;
      ASSERT_EQ(f16_of(f32), half);
    }
  }
}

}  // namespace
}  // namespace assay::gpu_hash
