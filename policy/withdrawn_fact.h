// SPDX-License-Identifier: Apache-2.0
// The fact that a statement was withdrawn.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/clock.h"

namespace assay::policy {

// Says that a statement was withdrawn (schemas/withdrawal.h). Such a statement never counts.
struct WithdrawnFact {
  std::string reason;  // one of kWithdrawalReasons
  Timestamp since;
  std::vector<std::string> by;  // identities that withdrew it; any order
};

}  // namespace assay::policy
