// SPDX-License-Identifier: Apache-2.0
// The built-in verifier of Intel TDX quotes.
#pragma once

#include <memory>

#include "attestation/evidence_verifier.h"
#include "attestation/tdx/appraisal_policy.h"

namespace assay::attestation {

inline constexpr std::string_view kTdxMediaType = "application/vnd.assay.tdx-quote";

[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_tdx_verifier();

// Returns the policy of an appraisal, with the values that were imported. Errors: those of
// tdx::parse_appraisal_policy(); reference-unmapped.
[[nodiscard]] Result<tdx::AppraisalPolicy> tdx_policy_of(const Appraisal& appraisal);

}  // namespace assay::attestation
