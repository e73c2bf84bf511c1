// SPDX-License-Identifier: Apache-2.0
// Finds stored data that needs an operator, without changing anything.
#pragma once

#include <string>
#include <vector>

#include "storage/store.h"

namespace assay::server {

// One problem that needs an operator.
struct Finding {
  std::string check;   // name of the check that found the problem, such as "unbound-manifest"
  std::string id;      // id of the stored object
  std::string detail;  // one sentence: the problem, and what to do
};
[[nodiscard]] Json to_json(const Finding& finding);

// Runs every check; check_store.cc lists the checks. The checks that read all decisions run only if
// `deep` is true.
[[nodiscard]] Result<std::vector<Finding>> check_store(storage::Snapshot& snapshot, bool deep);

}  // namespace assay::server
