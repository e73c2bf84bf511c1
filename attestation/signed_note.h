// SPDX-License-Identifier: Apache-2.0
// Verifies C2SP signed checkpoints (schemas/checkpoint.h) with a verifier key.
#pragma once

#include <string_view>

#include "attestation/keys.h"
#include "schemas/checkpoint.h"

namespace assay::attestation {

// The key that must sign a checkpoint.
struct NoteVerifier {
  std::string key_name;
  PublicKey key;  // Ed25519
};

// Parses the vkey form "name+hash+base64" and checks that the hash fits name and key.
[[nodiscard]] Result<NoteVerifier> parse_verifier_key(std::string_view text);

// Parses `note`. Requires a valid signature by `verifier` and an origin equal to its key name.
// Errors: signature-missing when `note` has no signature by `verifier`; signature-invalid when that
// signature does not verify.
[[nodiscard]] Result<Checkpoint> verify_checkpoint(std::string_view note,
                                                   const NoteVerifier& verifier);

}  // namespace assay::attestation
