// SPDX-License-Identifier: Apache-2.0
// Verification of SEV-SNP evidence: a pure function of evidence (a report and the certificate table
// behind it), collateral (collateral.h), trust anchors (trust_anchor.h), time, expected report data
// and appraisal policy. Uses no clock, network or state; safe on any thread.
//
// First come the steps of AMD 56860 section "Attestation" and AMD 57230: certificates, revocation,
// what the certificate says against what the report says, signature. Then comes the policy. The
// first check that fails ends the verification and names the error.
#pragma once

#include <optional>
#include <span>

#include "attestation/appraisal/report_data.h"
#include "attestation/snp/appraisal_policy.h"
#include "attestation/snp/collateral.h"
#include "attestation/snp/result.h"
#include "attestation/snp/trust_anchor.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::snp {

using appraisal::ReportDataExpectation;

// The inputs of verify() besides evidence, collateral and anchors. Borrows the policy.
struct VerifyContext {
  Timestamp now;
  ReportDataExpectation report_data;
  const AppraisalPolicy& policy;
};

// Verifies `evidence` under the anchor of `collateral`. Each call checks whether collateral and
// certificates are valid at `now`.
[[nodiscard]] AppraisalResult verify(ByteView evidence, const AuthenticatedCollateral& collateral,
                                     const VerifyContext& context);

// Authenticates `collateral` and verifies `evidence` against it. Uses the anchor that the
// evidence's table ends at, or else the first one of its generation.
[[nodiscard]] AppraisalResult verify(ByteView evidence, const Collateral& collateral,
                                     std::span<const TrustAnchor> anchors,
                                     const VerifyContext& context);

// The claims of evidence, for callers that need them before it is verified. No signature is
// checked.
struct Claimed {
  Report report;
  std::optional<Generation> generation;  // nullopt: only the policy knows it
  Bytes root;                            // DER; empty: the evidence brings none
};
[[nodiscard]] std::optional<Claimed> claimed(ByteView evidence);

}  // namespace assay::attestation::snp
