// SPDX-License-Identifier: Apache-2.0
// Changes of trust: the bootstrap, and signed changes by two operators.
#pragma once

#include "schemas/trust.h"
#include "server/service/services.h"

namespace assay::server {

struct TrustApplied {
  storage::Epochs epochs;
  Json receipt;
};

// A DSSE envelope over a trust change, signed by kTrustChangeThreshold operator identities.
[[nodiscard]] Result<TrustApplied> apply_trust_change(Services& services, ByteView envelope,
                                                      const Principal& actor);

// Fills an empty store once; conflict when it has any key or principal. Every public key must
// parse; at least kTrustChangeThreshold operator identities and one admin principal are needed.
[[nodiscard]] Status bootstrap(Services& services, ByteView document);

}  // namespace assay::server
