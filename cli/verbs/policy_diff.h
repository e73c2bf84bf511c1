// SPDX-License-Identifier: Apache-2.0
// Differences between two policies, by condition. Pure.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.h"

namespace assay::cli {

struct PolicyChange {
  std::string path;  // "mode", "require[signed]"
  Json before;       // null: added
  Json after;        // null: removed
  bool operator==(const PolicyChange&) const = default;
};

// Compares two policies in their JSON form. Conditions of `require` are matched by their ids.
[[nodiscard]] std::vector<PolicyChange> compare_policies(const Json& before, const Json& after);

// Returns "+ require[signed] {...}", "- ...", "~ mode "warn" -> "enforce"".
[[nodiscard]] std::string change_line(const PolicyChange& change);

}  // namespace assay::cli
