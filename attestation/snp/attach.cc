// SPDX-License-Identifier: Apache-2.0
#include "attestation/snp/attach.h"

#include <string>

#include "attestation/snp/certificate_rules.h"
#include "attestation/snp/certificate_table.h"

namespace assay::attestation::snp {
namespace {

// The place of a certificate with this common name; null when it is none of AMD's.
ByteView CertificateTable::* place_of(const std::string& name) {
  if (name == "SEV-VCEK") {
    return &CertificateTable::vcek;
  }
  if (name == "SEV-VLEK") {
    return &CertificateTable::vlek;
  }
  if (name.starts_with("ARK-")) {
    return &CertificateTable::ark;
  }
  return name.starts_with("SEV-") ? &CertificateTable::ask : nullptr;
}

}  // namespace

Result<Bytes> attach_certificates(ByteView evidence, ByteView file) {
  if (evidence.size() < kReportBytes) {
    return fail(ErrorCode::kInvalidEncoding, "a SEV-SNP report has 1184 bytes");
  }
  ASSAY_ASSIGN(const auto certificates, x509::parse_certificates(file));
  CertificateTable table;
  for (const x509::Certificate& certificate : certificates) {
    const auto place = place_of(subject_name(certificate));
    if (place == nullptr || !(table.*place).empty()) {
      return fail(
          ErrorCode::kInvalidEncoding,
          "give the certificate of one VCEK or VLEK, and of its CAs: " + certificate.subject());
    }
    table.*place = certificate.der();
  }
  const ByteView report = evidence.first(kReportBytes);
  Bytes made(report.begin(), report.end());
  const Bytes written = make_certificate_table(table);
  made.insert(made.end(), written.begin(), written.end());
  return made;
}

}  // namespace assay::attestation::snp
