// SPDX-License-Identifier: Apache-2.0
// Signatures by certificate (schemas/certificate_identity.h): which identities of the trust store
// made the signature of a sigstore bundle.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "attestation/dsse.h"
#include "attestation/sigstore/trusted_root.h"

namespace assay::attestation {

// Trusted roots by the names that keyless identities use.
using TrustedRoots = std::map<std::string, sigstore::TrustedRoot>;

// Verifies the signature of an envelope that came in a sigstore bundle against the identities by
// certificate among `keys`, and returns those that made it, possibly none. An envelope that came in
// no bundle, or in one without a certificate, has none. A certificate that no identity covers is
// ignored, as a key that is not known, and so is one whose key the trust store has as a key.
// Entries that are revoked for all signatures cover nothing. `now` is the time at which X.509
// certificates are judged; keyless ones are judged at the times that the bundle proves.
//
// Purpose, roles and validity are not checked here: require_signers() checks them. Errors, when an
// identity covers the certificate: identity-ambiguous when entries with different identities do;
// signature-invalid; those of sigstore::verify_bundle() and
// x509::verify_path(), except that a certificate of another CA is ignored; not-found for an
// identity whose trusted root is not among `roots`.
[[nodiscard]] Result<std::vector<VerifiedSignature>> verify_certificates(
    const Envelope& envelope, std::span<const TrustedKey> keys, const TrustedRoots& roots,
    Timestamp now);

}  // namespace assay::attestation
