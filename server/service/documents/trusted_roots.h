// SPDX-License-Identifier: Apache-2.0
// The trusted roots of the trust store, as verifiers of sigstore bundles take them.
#pragma once

#include "attestation/identities/certificate_signers.h"
#include "storage/store.h"

namespace assay::server {

// Returns the trusted roots, by name. Errors: those of sigstore::parse_trusted_root().
[[nodiscard]] Result<attestation::TrustedRoots> trusted_roots(storage::Snapshot& snapshot);

}  // namespace assay::server
