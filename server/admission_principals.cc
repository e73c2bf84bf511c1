// SPDX-License-Identifier: Apache-2.0
#include "server/admission_principals.h"

#include <algorithm>

namespace assay::server {

AdmissionPrincipals admission_principals(const std::vector<Principal>& principals) {
  AdmissionPrincipals found;
  for (const Principal& principal : principals) {
    const bool certificate =
        std::ranges::any_of(principal.credentials, [](const Credential& credential) {
          return credential.kind == CredentialKind::kClientCertificate;
        });
    if (principal.roles.contains(AccessRole::kAdmission)) {
      found.with_role.push_back(principal.name);
    } else if (certificate && principal.roles.contains(AccessRole::kDecider)) {
      found.deciders_without_it.push_back(principal.name);
    }
  }
  return found;
}

}  // namespace assay::server
