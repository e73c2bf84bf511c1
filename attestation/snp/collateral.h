// SPDX-License-Identifier: Apache-2.0
// The collateral of SEV-SNP evidence: the CRL of a generation's root. The certificates of chip and
// CA come with the evidence.
//
// AMD offers the list at two addresses, one for VCEKs and one for VLEKs. Both are signed by the
// same root and say nothing that narrows them, so each counts as the complete list of its root (RFC
// 5280 section 5).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "attestation/snp/crl.h"
#include "attestation/snp/error.h"
#include "attestation/snp/trust_anchor.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::attestation::snp {

class KnownChains;

// How many chips one set of collateral remembers, whose certificates need not be verified again.
inline constexpr std::size_t kMaxKnownLeaves = 512;
inline constexpr std::size_t kBytesOfAKnownLeaf = 24U << 10;
inline constexpr std::size_t kMaxCollateralBytes = 3 * kMaxCrlBytes;  // as JSON

// JSON: {"crl": hex of the DER}.
struct Collateral {
  Bytes crl;  // empty: none, which only dangerous_allow_missing_crl lets pass
};
// Reads one. Errors: schema-violation, unknown-member.
[[nodiscard]] Result<Collateral> collateral_from_json(const Json& json);
// Parses a file: JSON, or the CRL itself in DER. Errors: also limit-exceeded; those of the JSON.
[[nodiscard]] Result<Collateral> parse_collateral(ByteView file);
[[nodiscard]] Json to_json(const Collateral& collateral);
// Returns the SHA-256 of the canonical JSON.
[[nodiscard]] Digest digest_of(const Collateral& collateral);

// Collateral whose signature was verified under one anchor. Immutable but for the chains that it
// remembers; safe to share between threads. The CRL may have ended.
class AuthenticatedCollateral {
 public:
  // `crl`: nullopt when there is none.
  AuthenticatedCollateral(TrustAnchor anchor, std::optional<RevocationList> crl,
                          std::optional<Digest> digest);

  [[nodiscard]] const TrustAnchor& anchor() const { return anchor_; }
  [[nodiscard]] const std::optional<RevocationList>& crl() const { return crl_; }
  [[nodiscard]] const std::optional<Digest>& digest() const { return digest_; }
  [[nodiscard]] KnownChains& known() const { return *known_; }

 private:
  TrustAnchor anchor_;
  std::optional<RevocationList> crl_;
  std::optional<Digest> digest_;
  std::shared_ptr<KnownChains> known_;
};

// Verifies the CRL under `anchor`. Errors: those of open_crl().
[[nodiscard]] Checked<AuthenticatedCollateral> authenticate_collateral(const Collateral& collateral,
                                                                       const TrustAnchor& anchor);
// Does the same under the anchor that signed the CRL. Errors: those of the last anchor that has the
// issuer's name; CRL_ISSUER_MISMATCH when none has.
[[nodiscard]] Checked<AuthenticatedCollateral> authenticate_collateral(
    const Collateral& collateral, std::span<const TrustAnchor> anchors);

}  // namespace assay::attestation::snp
