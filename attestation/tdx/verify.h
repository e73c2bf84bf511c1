// SPDX-License-Identifier: Apache-2.0
// Verification of a TDX quote: a pure function of evidence (quote and event log), collateral
// (collateral.h), trust anchors (trust_anchor.h), time, expected report data and appraisal policy.
// Uses no clock, network or state; safe on any thread.
//
// The order of the checks is that of Intel's quote verification library (QVL, "Intel SGX DCAP quote
// verification", sections 4.1.2.4 and 4.1.2.5). After them follow checks that QVL does not make but
// that a service needs. The first check that fails ends the verification and names the error.
#pragma once

#include <span>

#include "attestation/appraisal/report_data.h"
#include "attestation/tdx/appraisal_policy.h"
#include "attestation/tdx/collateral.h"
#include "attestation/tdx/result.h"
#include "attestation/tdx/trust_anchor.h"
#include "schemas/core/bytes.h"
#include "schemas/core/clock.h"

namespace assay::attestation::tdx {

using appraisal::ReportDataExpectation;

// The inputs of verify() besides quote, collateral and anchors. Borrows the policy and the log.
struct VerifyContext {
  Timestamp now;
  ReportDataExpectation report_data;
  const AppraisalPolicy& policy;
  // Empty: the evidence has none. A log that is there must replay, whatever the policy asks for.
  ByteView event_log{};
};

// Verifies `quote` against `collateral`, which authenticate_collateral() returned, under the anchor
// of that collateral. Each call checks whether the collateral is valid at `now`.
[[nodiscard]] AppraisalResult verify(ByteView quote, const AuthenticatedCollateral& collateral,
                                     const VerifyContext& context);

// Authenticates `collateral` and verifies `quote` against it. Uses the anchor at which the quote's
// own chain ends, or else the first anchor. Without anchors no quote is accepted.
[[nodiscard]] AppraisalResult verify(ByteView quote, const Collateral& collateral,
                                     std::span<const TrustAnchor> anchors,
                                     const VerifyContext& context);

}  // namespace assay::attestation::tdx
