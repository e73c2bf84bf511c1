// SPDX-License-Identifier: Apache-2.0
// Azure's form: the report of the paravisor, in front of the runtime data that its REPORT_DATA
// names. Guests read this form from their virtual TPM. The paravisor is proven, and nothing of the
// guest above it.
// Source: the vectors, and Azure's documentation of attestation for confidential guests.
#pragma once

#include <optional>

#include "attestation/appraisal/report_data.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"

namespace assay::attestation::snp {

struct AzureReport {
  ByteView report;  // into what was parsed
  // SHA-256 of the runtime data, then zeros: REPORT_DATA of `report`, or its data are of another.
  appraisal::ReportData report_data{};
  // The guest's own 64 bytes, which the paravisor puts into the runtime data.
  appraisal::ReportData user_data{};
};

[[nodiscard]] bool is_azure_report(ByteView bytes);

// Verifies nothing. Errors: invalid-encoding for another form, and for runtime data without
// `user-data`.
[[nodiscard]] Result<AzureReport> parse_azure_report(ByteView bytes);

}  // namespace assay::attestation::snp
