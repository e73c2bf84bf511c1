// SPDX-License-Identifier: Apache-2.0
// Public keys as a JSON Web Key Set. Spec: RFC 7517, RFC 7518 section 6.2, RFC 8037.
#pragma once

#include <span>

#include "schemas/core/json.h"
#include "schemas/core/signer.h"

namespace assay::server {

// {"keys":[...]} with the public keys of `signers`, in order; kid is a key's id.
[[nodiscard]] Result<Json> jwks(std::span<const Signer* const> signers);

}  // namespace assay::server
