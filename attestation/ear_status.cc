// SPDX-License-Identifier: Apache-2.0
#include "attestation/ear_status.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace assay::attestation {
namespace {

constexpr std::array<std::string_view, 4> kTierNames = {"affirming", "none", "warning",
                                                        "contraindicated"};
constexpr std::array<std::int64_t, 4> kTierNumbers = {2, 0, 32, 96};

}  // namespace

std::string_view tier_name(Tier tier) { return kTierNames[std::to_underlying(tier)]; }

std::optional<Tier> tier_from(const Json& value) {
  for (std::size_t i = 0; i < kTierNames.size(); ++i) {
    const bool named = value.is_string() && value.get_ref<const std::string&>() == kTierNames[i];
    const bool counted = value.is_number_integer() && value == kTierNumbers[i];
    if (named || counted) {
      return static_cast<Tier>(i);
    }
  }
  return std::nullopt;
}

std::optional<Tier> worst_claim(const Json& vector) {
  if (!vector.is_object()) {
    return std::nullopt;
  }
  std::optional<Tier> worst;
  for (const auto& [aspect, value] : vector.items()) {
    const auto* number = value.get_ptr<const Json::number_integer_t*>();
    if (number == nullptr || *number < -128 || *number > 127) {
      return std::nullopt;
    }
    const Tier tier = tier_of(static_cast<int>(*number));
    if (tier != Tier::kNone) {
      worst = worst ? std::max(*worst, tier) : tier;
    }
  }
  return worst.value_or(Tier::kNone);
}

}  // namespace assay::attestation
