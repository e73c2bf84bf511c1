// SPDX-License-Identifier: Apache-2.0
// Who withdrew what, for the second evaluator.
#pragma once

#include <algorithm>

#include "policy/facts.h"

namespace assay::policy::reference {

// Of what one signer withdrew the others may still stand behind it.
inline bool taken_back(const StatementFact& statement, const SignerFact& signer) {
  if (!statement.withdrawn) {
    return false;
  }
  const auto& by = statement.withdrawn->by;
  return statement.withdrawn->whole || std::count(by.begin(), by.end(), signer.key.identity) > 0;
}
inline bool taken_back(const StatementFact& statement) {
  if (!statement.withdrawn) {
    return false;
  }
  bool all = true;
  for (const SignerFact& signer : statement.signers) {
    all = all && taken_back(statement, signer);
  }
  return all || statement.withdrawn->whole;
}

}  // namespace assay::policy::reference
