// SPDX-License-Identifier: Apache-2.0
// The certificates that a host gives a guest beside its report: a table of GUIDs, offsets and
// lengths that a zero entry ends, and the certificates in DER. The kernel gives it as `auxblob` of
// configfs-tsm.
// Source: AMD 56421 "SEV-ES Guest-Hypervisor Communication Block Standardization", "SNP Extended
// Guest Request".
#pragma once

#include "attestation/snp/error.h"
#include "attestation/snp/report.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::snp {

inline constexpr std::size_t kMaxTableEntries = 16;

// Borrowed from the table; empty when it has none. Entries of other kinds, such as CRLs, are
// skipped: a CRL comes with the collateral.
struct CertificateTable {
  ByteView vcek;
  ByteView vlek;
  ByteView ask;  // also an ASVK: the GUID is the same
  ByteView ark;

  [[nodiscard]] ByteView leaf(SigningKey key) const {
    return key == SigningKey::kVcek ? vcek : vlek;
  }
};

// Parses a table. No bytes at all are a table without certificates. Errors: CERT_TABLE_FORMAT, also
// for a kind of certificate that is there twice.
[[nodiscard]] Checked<CertificateTable> parse_certificate_table(ByteView bytes);

// Writes a table of those that are not empty.
[[nodiscard]] Bytes make_certificate_table(const CertificateTable& certificates);

}  // namespace assay::attestation::snp
