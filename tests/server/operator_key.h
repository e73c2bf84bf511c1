// SPDX-License-Identifier: Apache-2.0
// An operator for a bootstrap, who signs nothing afterwards.
#pragma once

#include <string>

#include "attestation/keys.h"
#include "schemas/trust.h"

namespace assay::test {

// A new Ed25519 key, valid for a century; its private half is thrown away.
inline TrustedKey operator_key(const std::string& identity) {
  const auto signer = attestation::generate_key(SignatureAlgorithm::kEd25519).value();
  return {signer->key_id(),
          signer->algorithm(),
          signer->public_key(),
          KeyPurpose::kOperator,
          identity,
          {},
          parse_rfc3339("2020-01-01T00:00:00Z").value(),
          parse_rfc3339("2120-01-01T00:00:00Z").value(),
          {}};
}

}  // namespace assay::test
