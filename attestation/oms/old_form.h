// SPDX-License-Identifier: Apache-2.0
// Signatures of model_signing 0.2, which encoded what it signed in a way of its own. Internal to
// this folder.
#pragma once

#include "attestation/dsse.h"
#include "attestation/keys.h"

namespace assay::attestation::oms {

// Returns the bytes that release 0.2 signed: "DSSEV1", and the payload as Python writes the literal
// of a bytes object.
[[nodiscard]] Bytes old_encoding(const Envelope& envelope);

// Verifies the one signature of `envelope` over these bytes. The release hashed with SHA-256
// whatever the key was; the hash of the key's algorithm is accepted as well. Errors:
// signature-invalid.
[[nodiscard]] Status verify_old(const Envelope& envelope, const PublicKey& key);

}  // namespace assay::attestation::oms
