// SPDX-License-Identifier: Apache-2.0
// From the material of a bundle to the key that must have signed. Internal to this folder: the one
// place that knows certificates and sigstore.
#pragma once

#include <optional>
#include <string>

#include "attestation/oms/verify.h"

namespace assay::attestation::oms {

struct VerifiedSigner {
  std::string signer;
  std::string issuer;
  std::optional<Timestamp> at;
  std::optional<PublicKey> key;
};

// Returns whom `trust` finds behind `bundle`. For sigstore this includes the signature over the
// envelope; for the other methods the caller still has to verify it with `key`. Errors: those of
// verify_bundle(), but those of the statement.
[[nodiscard]] Result<VerifiedSigner> signer_of(const Bundle& bundle, ByteView json,
                                               const Trust& trust);

// Returns whether OMS has keys of this algorithm (section 4.2). Errors: unsupported-key with
// advice.
[[nodiscard]] Status check_algorithm(SignatureAlgorithm algorithm);

}  // namespace assay::attestation::oms
