// SPDX-License-Identifier: Apache-2.0
// Public keys as a JSON Web Key Set. Spec: RFC 7517, RFC 7518 section 6.2, RFC 8037.
#pragma once

#include <span>

#include "schemas/core/json.h"
#include "schemas/core/signer.h"
#include "server/key_history.h"

namespace assay::server {

// Returns {"keys":[...]}: the public keys of `signers`, in order, followed by the keys that were
// replaced in `rotations`. Keys of the log are left out. "kid" is the id of a key. "not_after" is
// the time when the key was replaced; later signatures by that key are not valid. Keys in use have
// no "not_after".
[[nodiscard]] Result<Json> jwks(std::span<const Signer* const> signers,
                                const std::vector<RotatedKey>& rotations);

}  // namespace assay::server
