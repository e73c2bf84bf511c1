// SPDX-License-Identifier: Apache-2.0
// Which principals may call the admission listener with a client certificate, and which probably
// should.
#pragma once

#include <string>
#include <vector>

#include "schemas/trust.h"

namespace assay::server {

// Names of principals, in the order of `principals`.
struct AdmissionPrincipals {
  std::vector<std::string> with_role;  // have the role `admission`
  // Have a client certificate and the role `decider`, but not `admission`. They are API servers set
  // up when one role was enough for both. Only an operator gives them the missing role.
  std::vector<std::string> deciders_without_it;
};

// Sorts `principals` into these two groups; a principal that fits neither is left out.
[[nodiscard]] AdmissionPrincipals admission_principals(const std::vector<Principal>& principals);

}  // namespace assay::server
