// SPDX-License-Identifier: Apache-2.0
// Certificate revocation lists. Only complete lists of one issuer with a next update are accepted.
// Internal to this folder. RFC 5280 section 5; Intel "PCK Certificate and CRL Profile
// Specification".
#pragma once

#include <vector>

#include "attestation/tdx/certificate.h"

namespace assay::attestation::tdx {

// This limit is far above the size of real lists: that of the platform CA had 129 entries in 2026.
inline constexpr std::size_t kMaxCrlBytes = 4U << 20;

// Larger numbers, which may have 20 octets, count as this one.

struct CrlErrors {
  TdxError format, issuer, signature, expired, not_yet_valid;
};
extern const CrlErrors kRootCrlErrors;
extern const CrlErrors kPckCrlErrors;

struct RevocationList {
  X509CrlHandle crl;
  std::uint64_t number;  // cRLNumber (RFC 5280 section 5.2.3); 0: none; at most kMaxCrlNumber
  Timestamp this_update;
  Timestamp next_update;
  std::vector<Bytes> serials;  // sorted
};

// Parses exactly one DER CRL of version 2, signed with ecdsa-with-SHA256, with a next update. Delta
// CRLs, indirect CRLs and unknown critical extensions are refused.
[[nodiscard]] Checked<RevocationList> parse_crl(ByteView der, const CrlErrors& errors);

// Checks that the list names `issuer` as its issuer and that `issuer` signed it.
[[nodiscard]] Outcome check_crl_issuer(const RevocationList& list, const Certificate& issuer,
                                       const CrlErrors& errors);
// Checks thisUpdate <= now <= nextUpdate.
[[nodiscard]] Outcome check_crl_time(const RevocationList& list, Timestamp now,
                                     const CrlErrors& errors);
[[nodiscard]] bool is_revoked(const RevocationList& list, const Certificate& certificate);

}  // namespace assay::attestation::tdx
