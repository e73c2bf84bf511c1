// SPDX-License-Identifier: Apache-2.0
// Collateral: Intel's statements about platforms. It is authenticated once against a trust anchor
// (trust_anchor.h) and then used for any number of quotes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attestation/tdx/error.h"
#include "attestation/tdx/qe_identity.h"
#include "attestation/tdx/result.h"
#include "attestation/tdx/tcb_info.h"
#include "attestation/tdx/trust_anchor.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::attestation::tdx {

inline constexpr std::size_t kMaxCollateralBytes = 16U << 20;
inline constexpr std::size_t kMaxSignedJsonBytes = 1U << 20;
// PCK leaves that one set of authenticated collateral remembers, and what each takes at most: 8.1
// KiB as measured by bench/attestation_quote.cc, which fails beyond this.
inline constexpr std::size_t kMaxKnownLeaves = 512;
inline constexpr std::size_t kBytesOfAKnownLeaf = 9U << 10;

// The parts of one bundle, not verified. The members have the names of the JSON that
// parse_collateral() reads. Signed documents are the exact bytes that Intel signed.
struct Collateral {
  std::string pck_crl_issuer_chain;  // PEM: PCK CA, root
  std::string root_ca_crl;           // hex of DER
  std::string pck_crl;               // hex of DER
  std::string tcb_info_issuer_chain;
  std::string tcb_info;
  std::string tcb_info_signature;  // hex of r || s
  std::string qe_identity_issuer_chain;
  std::string qe_identity;
  std::string qe_identity_signature;
};

// Parses one JSON object with the nine members of Collateral, which must be strings. Other members
// are ignored. Errors: malformed-json, schema-violation, limit-exceeded.
[[nodiscard]] Result<Collateral> parse_collateral(ByteView json);
// Does the same for JSON that is already parsed. Errors: schema-violation.
[[nodiscard]] Result<Collateral> collateral_from_json(const Json& object);
[[nodiscard]] Json to_json(const Collateral& collateral);
// Returns the SHA-256 of the canonical JSON (RFC 8785) of to_json().
[[nodiscard]] Digest digest_of(const Collateral& collateral);

// Collateral whose signatures lead to one anchor. Immutable, and safe to share between threads. The
// collateral may have expired: verify() (verify.h) compares each validity period with its own
// `now`.
class AuthenticatedCollateral {
 public:
  struct Parts;
  explicit AuthenticatedCollateral(std::unique_ptr<const Parts> parts);
  AuthenticatedCollateral(AuthenticatedCollateral&&) noexcept;
  AuthenticatedCollateral& operator=(AuthenticatedCollateral&&) noexcept;
  ~AuthenticatedCollateral();

  [[nodiscard]] const TcbInfo& tcb_info() const;
  [[nodiscard]] const QeIdentity& qe_identity() const;
  [[nodiscard]] const TrustAnchor& anchor() const;
  [[nodiscard]] const Digest& digest() const;
  // Return the period in which all of the collateral is valid.
  [[nodiscard]] Timestamp valid_from() const;
  [[nodiscard]] Timestamp valid_until() const;
  // Returns the checks that authenticate_collateral() made, to be listed in results.
  [[nodiscard]] const std::vector<Check>& checks() const;
  // Returns the parsed parts, for this folder only.
  [[nodiscard]] const Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<const Parts> parts_;
};

// Verifies everything in `collateral` that does not depend on a quote or on time. First verifies
// the root CRL. Then verifies TCB info and QE identity: the signing chain, its revocation, the
// signature over the exact bytes, and the content. Parses the PCK CRL. Its
// issuer chain, if there is one (the text is not empty), must be a genuine chain to the anchor.
// When its CA did not issue the PCK CRL, or there is no chain, verify() (verify.h) checks the PCK
// CRL under the PCK CA in the quote. Appends each check to `checks` and ends at the first check
// that fails.
[[nodiscard]] Checked<AuthenticatedCollateral> authenticate_collateral(const Collateral& collateral,
                                                                       const TrustAnchor& anchor,
                                                                       std::vector<Check>& checks);

}  // namespace assay::attestation::tdx
