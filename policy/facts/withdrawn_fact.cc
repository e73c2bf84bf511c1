// SPDX-License-Identifier: Apache-2.0
// Which signatures a withdrawal takes from a statement.
#include "policy/withdrawn_fact.h"

#include <algorithm>

#include "policy/facts.h"

namespace assay::policy {

bool took_back(const StatementFact& fact, std::string_view identity) {
  return fact.withdrawn &&
         (fact.withdrawn->whole || std::find(fact.withdrawn->by.begin(), fact.withdrawn->by.end(),
                                             identity) != fact.withdrawn->by.end());
}

bool is_withdrawn(const StatementFact& fact) {
  return fact.withdrawn &&
         (fact.withdrawn->whole ||
          std::all_of(fact.signers.begin(), fact.signers.end(), [&](const SignerFact& signer) {
            return took_back(fact, signer.key.identity);
          }));
}

}  // namespace assay::policy
