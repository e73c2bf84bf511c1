// SPDX-License-Identifier: Apache-2.0
// Who may call the admission listener with a client certificate, and who seems to be meant to.
#pragma once

#include <string>
#include <vector>

#include "schemas/trust.h"

namespace assay::server {

// Names, in the order of `principals`.
struct AdmissionPrincipals {
  std::vector<std::string> with_role;  // admission
  // With a client certificate and `decider`, but without `admission`: API servers that were set up
  // when one role was enough for both. Operators give them the role; nothing else does.
  std::vector<std::string> deciders_without_it;
};

[[nodiscard]] AdmissionPrincipals admission_principals(const std::vector<Principal>& principals);

}  // namespace assay::server
