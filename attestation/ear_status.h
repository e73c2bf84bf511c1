// SPDX-License-Identifier: Apache-2.0
// Tiers (trustworthiness.h) as attestation results write them. Internal to this folder.
#pragma once

#include <optional>
#include <string_view>

#include "attestation/trustworthiness.h"
#include "schemas/core/json.h"

namespace assay::attestation {

[[nodiscard]] std::string_view tier_name(Tier tier);
// Reads a name ("affirming") or the number that stands for it (2). nullopt for anything else.
[[nodiscard]] std::optional<Tier> tier_from(const Json& value);
// The worst tier of a trustworthiness vector; nullopt unless it is an object of numbers from -128
// to 127.
[[nodiscard]] std::optional<Tier> worst_aspect(const Json& vector);

}  // namespace assay::attestation
