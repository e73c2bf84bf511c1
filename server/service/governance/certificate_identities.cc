// SPDX-License-Identifier: Apache-2.0
#include "server/service/governance/certificate_identities.h"

#include <algorithm>

#include "attestation/sigstore/trusted_root.h"
#include "attestation/x509/certificate.h"

namespace assay::server {
namespace {

Status check_ca(const Bytes& der) {
  ASSAY_ASSIGN(const auto certificate, attestation::x509::Certificate::from_der(der));
  return certificate.is_ca()
             ? Status()
             : fail(ErrorCode::kCertificateRefused, "a root of an identity by certificate is no CA",
                    certificate.subject());
}

}  // namespace

Status check_certificate_identity(storage::Snapshot& snapshot,
                                  const CertificateIdentity& identity) {
  for (const Bytes& der : identity.roots) {
    ASSAY_TRY(check_ca(der));
  }
  if (!identity.roots.empty()) {
    return {};
  }
  ASSAY_ASSIGN(const auto roots, snapshot.trusted_roots());
  const bool known = std::ranges::any_of(roots, [&](const storage::TrustedRootRow& row) {
    return row.root.name == identity.trusted_root;
  });
  return known ? Status()
               : fail(ErrorCode::kNotFound,
                      "no trusted root has this name; put it in the same change or before",
                      identity.trusted_root);
}

Status check_trusted_root(storage::Snapshot& snapshot, const PutTrustedRoot& root) {
  ASSAY_ASSIGN(const auto roots, snapshot.trusted_roots());
  const bool known = std::ranges::any_of(
      roots, [&](const storage::TrustedRootRow& row) { return row.root.name == root.name; });
  if (!known && roots.size() >= kMaxTrustedRoots) {
    return fail(ErrorCode::kLimitExceeded, "the trust store has 16 trusted roots at most",
                root.name);
  }
  ASSAY_ASSIGN(const std::string text, canonical_json(root.document));
  const auto parsed = attestation::sigstore::parse_trusted_root(as_bytes(text));
  return parsed ? Status() : std::unexpected(parsed.error());
}

}  // namespace assay::server
