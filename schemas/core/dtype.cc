// SPDX-License-Identifier: Apache-2.0
#include "schemas/core/dtype.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schemas/core/json.h"

namespace assay {
namespace {

constexpr std::array<std::pair<std::string_view, std::uint64_t>, 22> kDtypeBits = {{
    {"BOOL", 8},    {"U8", 8},          {"I8", 8},          {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},
    {"F16", 16},    {"BF16", 16},       {"I32", 32},        {"U32", 32},    {"F32", 32},
    {"I64", 64},    {"U64", 64},        {"F64", 64},        {"C64", 64},    {"F4", 4},
    {"F6_E2M3", 6}, {"F6_E3M2", 6},
}};

// Numbers and block sizes of ggml. Q8_1 (9) is left out: its readers disagree about its size (36
// or 40 bytes).
constexpr std::array<GgmlType, 34> kGgmlTypes = {{
    {0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},
    {3, "Q4_1", 32, 20},      {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},
    {8, "Q8_0", 32, 34},      {10, "Q2_K", 256, 84},    {11, "Q3_K", 256, 110},
    {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},   {14, "Q6_K", 256, 210},
    {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98}, {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},
    {21, "IQ3_S", 256, 110},  {22, "IQ2_S", 256, 82},   {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1},         {25, "I16", 1, 2},        {26, "I32", 1, 4},
    {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2},       {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},
    {39, "MXFP4", 32, 17},    {40, "NVFP4", 64, 36},    {41, "Q1_0", 128, 18},
    {42, "Q2_0", 64, 18},
}};

}  // namespace

std::optional<std::uint64_t> dtype_bits(std::string_view dtype) {
  const auto found = std::find_if(kDtypeBits.begin(), kDtypeBits.end(),
                                  [&](const auto& row) { return row.first == dtype; });
  return found == kDtypeBits.end() ? std::nullopt : std::optional(found->second);
}

const GgmlType* ggml_type(std::uint32_t number) {
  const auto* const found = std::ranges::find(kGgmlTypes, number, &GgmlType::number);
  return found == kGgmlTypes.end() ? nullptr : found;
}

std::optional<std::uint64_t> element_count(std::span<const std::uint64_t> shape) {
  constexpr auto kLimit = static_cast<std::uint64_t>(kMaxSafeInteger);
  std::uint64_t count = 1;
  for (const std::uint64_t dimension : shape) {
    if (dimension != 0 && count > kLimit / dimension) {
      return std::nullopt;
    }
    count *= dimension;
  }
  return count;
}

std::optional<std::uint64_t> tensor_size(std::string_view dtype,
                                         std::span<const std::uint64_t> shape) {
  const auto elements = element_count(shape);
  if (!elements) {
    return std::nullopt;
  }
  // Fewer than 2^53 elements of at most 64 bits: no overflow.
  if (const auto bits = dtype_bits(dtype)) {
    return *elements * *bits % 8 == 0 ? std::optional(*elements * *bits / 8) : std::nullopt;
  }
  const auto* const type = std::ranges::find(kGgmlTypes, dtype, &GgmlType::name);
  const std::uint64_t row = shape.empty() ? 1 : shape.back();
  if (type == kGgmlTypes.end() || row % type->elements != 0) {
    return std::nullopt;
  }
  return *elements / type->elements * type->bytes;
}

}  // namespace assay
