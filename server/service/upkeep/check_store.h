// SPDX-License-Identifier: Apache-2.0
// What lies in the store and needs an operator, found without changing anything.
#pragma once

#include <string>
#include <vector>

#include "storage/store.h"

namespace assay::server {

// One thing that needs an operator.
struct Finding {
  std::string check;   // which check found it, such as "unbound-manifest"
  std::string id;      // of the stored thing
  std::string detail;  // one sentence: what it is, and what to do
};
[[nodiscard]] Json to_json(const Finding& finding);

// Runs every check; the list of them is in the source. `deep`: also those that read all decisions.
[[nodiscard]] Result<std::vector<Finding>> check_store(storage::Snapshot& snapshot, bool deep);

}  // namespace assay::server
