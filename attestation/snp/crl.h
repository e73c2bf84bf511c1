// SPDX-License-Identifier: Apache-2.0
// Certificate revocation lists of AMD's roots. A root (ARK) issues the list, so that it is about
// the CAs below it (ASK, ASVK): VCEKs and VLEKs all have the serial number 0 and are in no list.
// Internal to this folder. RFC 5280 section 5.
#pragma once

#include <vector>

#include "attestation/snp/error.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::snp {

inline constexpr std::size_t kMaxCrlBytes = 1U << 20;  // real ones are below 1 KiB
// Larger numbers, which may have 20 octets, count as this one.

struct RevocationList {
  std::uint64_t number = 0;  // cRLNumber; 0: none; at most kMaxCrlNumber
  Timestamp this_update;
  Timestamp next_update;
  std::vector<Bytes> serials;  // sorted
};

// Parses exactly one DER CRL of version 2 with a next update, and verifies that `issuer` signed it
// with RSASSA-PSS and SHA-384. Delta CRLs, partial and indirect ones, and critical extensions are
// refused. Errors: INPUT_TOO_LARGE, CRL_FORMAT, CRL_ISSUER_MISMATCH, CRL_SIGNATURE.
[[nodiscard]] Checked<RevocationList> open_crl(ByteView der, const x509::Certificate& issuer);

// Checks thisUpdate <= now <= nextUpdate. Errors: CRL_EXPIRED, CRL_NOT_YET_VALID.
[[nodiscard]] Outcome check_crl_time(const RevocationList& list, Timestamp now);
[[nodiscard]] bool is_revoked(const RevocationList& list, const x509::Certificate& certificate);

}  // namespace assay::attestation::snp
