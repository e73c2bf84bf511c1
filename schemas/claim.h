// SPDX-License-Identifier: Apache-2.0
// Persistent volume claims named by locations: pvc://<namespace>/<claim>[/<sub path>]
// (schemas/location.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

struct Claim {
  std::string location;  // "pvc://<namespace>/<claim>"
  std::string name_space;
  std::string name;
  std::string below;  // the sub path; empty when `location` has none
};

// Returns the claim that `location` names. `location` must be spelled as normalise_location()
// returns it (schemas/location.h). Returns nullopt when `location` names no claim.
[[nodiscard]] std::optional<Claim> claim_in(std::string_view location);

}  // namespace assay
