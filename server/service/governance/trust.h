// SPDX-License-Identifier: Apache-2.0
// Changes of trust: the bootstrap (the first keys and principals), and later changes, each signed
// by two operators.
#pragma once

#include "schemas/trust.h"
#include "server/service/services.h"

namespace assay::server {

// The result of a trust change.
struct TrustApplied {
  storage::Epochs epochs;
  Json receipt;
};

// Applies a trust change: a DSSE envelope signed by at least kTrustChangeThreshold operator
// identities (schemas/trust.h).
[[nodiscard]] Result<TrustApplied> apply_trust_change(Services& services, ByteView envelope,
                                                      const Principal& actor);

// Fills an empty store with the bootstrap `document`. Every public key must parse. The document
// needs at least kTrustChangeThreshold operator identities and one admin principal. Errors:
// conflict when the store has any key or principal.
[[nodiscard]] Status bootstrap(Services& services, ByteView document);

}  // namespace assay::server
