// SPDX-License-Identifier: Apache-2.0
// What a change of trust says of identities by certificate: their CAs and trusted roots must be
// readable when the change is applied, and not only when the first signature comes.
#pragma once

#include "storage/store.h"

namespace assay::server {

inline constexpr std::size_t kMaxTrustedRoots = 16;

// Errors: not-found when the trusted root that a keyless identity names is not in the trust store;
// certificate-refused for a root of an X.509 identity that is no CA; those of parsing certificates.
[[nodiscard]] Status check_certificate_identity(storage::Snapshot& snapshot,
                                                const CertificateIdentity& identity);

// Errors: limit-exceeded for more than kMaxTrustedRoots; those of sigstore::parse_trusted_root().
[[nodiscard]] Status check_trusted_root(storage::Snapshot& snapshot, const PutTrustedRoot& root);

}  // namespace assay::server
