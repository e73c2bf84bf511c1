// SPDX-License-Identifier: Apache-2.0
// Public keys as a JSON Web Key Set. Spec: RFC 7517, RFC 7518 section 6.2, RFC 8037.
#pragma once

#include <span>

#include "schemas/core/json.h"
#include "schemas/core/signer.h"
#include "server/key_history.h"

namespace assay::server {

// {"keys":[...]} with the public keys of `signers`, in order, then those that rotations replaced
// (the log's key aside, which is no key of this set). kid is a key's id; not_after is when it was
// replaced, and absent from keys in use: no signature of a later time counts.
[[nodiscard]] Result<Json> jwks(std::span<const Signer* const> signers,
                                const std::vector<RotatedKey>& rotations);

}  // namespace assay::server
