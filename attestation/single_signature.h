// SPDX-License-Identifier: Apache-2.0
// Envelopes of workers: one key signs, and the document itself says which.
#pragma once

#include "attestation/dsse.h"

namespace assay::attestation {

// Checks that `envelope` has exactly one signature, made by `public_key` (SubjectPublicKeyInfo
// DER). Errors: signature-invalid; untrusted-signer when the signature names another key; those of
// PublicKey::from_der().
[[nodiscard]] Status verify_single_signature(const Envelope& envelope, ByteView public_key);

}  // namespace assay::attestation
