// SPDX-License-Identifier: Apache-2.0
// AMD's extensions in the certificate of a VCEK or VLEK: for which TCB, and for which chip or cloud
// provider, AMD vouches for the key. Internal to this folder and to fuzz targets.
// Source: AMD 57230 "VCEK Certificate and KDS Interface Specification", section "X.509 Certificate
// Extensions" (1.3.6.1.4.1.3704.1).
#pragma once

#include <array>
#include <optional>
#include <string>

#include "attestation/snp/error.h"
#include "attestation/snp/generation.h"
#include "attestation/snp/report.h"
#include "attestation/x509/certificate.h"
#include "schemas/core/bytes.h"

namespace assay::attestation::snp {

// Contents of the extensions, as they stand in the certificate.
struct RawExtensions {
  std::optional<Bytes> product;                // .2
  std::array<std::optional<Bytes>, 9> levels;  // .3.1 to .3.9: boot loader, TEE, SNP, four
                                               // reserved ones, microcode, FMC
  std::optional<Bytes> chip_id;                // .4, of a VCEK
  std::optional<Bytes> provider;               // .5, of a VLEK
};
[[nodiscard]] RawExtensions raw_extensions(const x509::Certificate& certificate);

struct LeafExtensions {
  Tcb tcb;
  // 64 bytes; from Turin on AMD writes the first eight alone. Empty for a VLEK.
  Bytes chip_id;
  std::string provider;  // of a VLEK: the cloud provider's id
  std::string product;   // such as "Milan-B0"; empty when absent
  bool operator==(const LeafExtensions&) const = default;
};

// Reads them. A chip id may be raw or a DER OCTET STRING: AMD wrote both. Errors:
// LEAF_EXTENSION_FORMAT, also for an extension that this generation and kind of key must have.
[[nodiscard]] Checked<LeafExtensions> parse_extensions(const RawExtensions& raw, SigningKey kind,
                                                       Generation generation);

}  // namespace assay::attestation::snp
