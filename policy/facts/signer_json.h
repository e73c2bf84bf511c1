// SPDX-License-Identifier: Apache-2.0
// The parts of the canonical document of facts (policy/facts.h) that say who signed a statement,
// and who withdrew it. Internal to policy.
#pragma once

#include <string>

#include "policy/facts.h"

namespace assay::policy {

[[nodiscard]] Json to_json(const Revocation& revoked);
[[nodiscard]] Json to_json(const SignerFact& signer);
[[nodiscard]] Json to_json(const WithdrawnFact& withdrawn);

// Parse what to_json() wrote. `where` is the place in the document. Errors: those of
// facts_from_json().
[[nodiscard]] Result<Revocation> revocation_from_json(const Json& json, const std::string& where);
[[nodiscard]] Result<SignerFact> signer_from_json(const Json& json, const std::string& where);
[[nodiscard]] Result<WithdrawnFact> withdrawn_from_json(const Json& json, const std::string& where);

}  // namespace assay::policy
