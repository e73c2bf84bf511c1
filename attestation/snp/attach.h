// SPDX-License-Identifier: Apache-2.0
// Puts certificates from files behind a report, for hosts that give their guests none.
#pragma once

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::snp {

// Returns the report in `evidence` with a certificate table of `file`: the certificate of the VCEK
// or VLEK, and those of its CAs if they are there, in DER or PEM. A table that `evidence` has is
// replaced. Errors: invalid-encoding for no report, and for certificates that are none of these or
// of one kind twice; those of x509::parse_certificates().
[[nodiscard]] Result<Bytes> attach_certificates(ByteView evidence, ByteView file);

}  // namespace assay::attestation::snp
