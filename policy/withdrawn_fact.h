// SPDX-License-Identifier: Apache-2.0
// The fact that a statement was withdrawn.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/clock.h"

namespace assay::policy {

// Says that a statement was withdrawn (schemas/withdrawal.h): its signatures, or those of the
// identities in `by`, never count.
struct WithdrawnFact {
  std::string reason;  // one of kWithdrawalReasons
  Timestamp since;
  std::vector<std::string> by;  // identities that withdrew it; any order
  bool whole = true;            // for everybody who signed it; false: only for those in `by`
};

struct StatementFact;  // policy/facts.h
// Whether the identity stands behind the statement no more, because the statement was withdrawn.
[[nodiscard]] bool took_back(const StatementFact& fact, std::string_view identity);
// Whether nobody stands behind the statement any more, because it was withdrawn.
[[nodiscard]] bool is_withdrawn(const StatementFact& fact);

}  // namespace assay::policy
