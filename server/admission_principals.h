// SPDX-License-Identifier: Apache-2.0
// Finds the principals (callers that the trust store knows) that may call the admission listener
// with a client certificate, and those that probably should be given this right.
#pragma once

#include <string>
#include <vector>

#include "schemas/trust.h"

namespace assay::server {

// Names of principals in two groups, each in the order of the principals given to
// admission_principals().
struct AdmissionPrincipals {
  std::vector<std::string> with_role;  // have the role `admission`
  // Have a client certificate and the role `decider`, but not `admission`. Such a principal is
  // probably an API server that was set up when the role `decider` still allowed calls to the
  // admission listener. An operator must give the role `admission` to that API server.
  std::vector<std::string> deciders_without_it;
};

// Sorts the names of `principals` into the two groups. A principal that fits neither group is left
// out.
[[nodiscard]] AdmissionPrincipals admission_principals(const std::vector<Principal>& principals);

}  // namespace assay::server
