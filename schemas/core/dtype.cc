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

}  // namespace

std::optional<std::uint64_t> dtype_bits(std::string_view dtype) {
  const auto found = std::find_if(kDtypeBits.begin(), kDtypeBits.end(),
                                  [&](const auto& row) { return row.first == dtype; });
  return found == kDtypeBits.end() ? std::nullopt : std::optional(found->second);
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

}  // namespace assay
