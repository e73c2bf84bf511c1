// SPDX-License-Identifier: Apache-2.0
// Differences between two policies, by condition. Pure.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::cli {

struct PolicyChange {
  std::string path;  // "mode", "require[signed].manifest.signers.at_least"
  Json before;       // null: added
  Json after;        // null: removed
  bool operator==(const PolicyChange&) const = default;
};

// Compares two policies in their JSON form, member by member; conditions are matched by their ids,
// so their order does not matter. Lists of other things are compared as a whole.
[[nodiscard]] std::vector<PolicyChange> compare_policies(const Json& before, const Json& after);

// Returns "+ require[signed] {...}", "- ...", "~ mode "warn" -> "enforce"".
[[nodiscard]] std::string change_line(const PolicyChange& change);

}  // namespace assay::cli
