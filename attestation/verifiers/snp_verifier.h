// SPDX-License-Identifier: Apache-2.0
// SEV-SNP evidence for the registry and for collateral as state: the built-in verifier, and the
// functions of collateral_set.h for this type.
//
// Evidence: a report with its certificate table as `quote`, no event log, and the CRL of AMD's root
// as collateral ({"crl"}, attestation/snp/collateral.h).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attestation/collateral_set.h"
#include "attestation/evidence_verifier.h"
#include "attestation/snp/appraisal_policy.h"

namespace assay::attestation {

inline constexpr std::string_view kSnpMediaType = "application/vnd.assay.sev-snp-report";

[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_snp_verifier();

// Returns the policy of an appraisal, with the values that were imported. Errors: those of
// snp::parse_appraisal_policy(); reference-unmapped.
[[nodiscard]] Result<snp::AppraisalPolicy> snp_policy_of(const Appraisal& appraisal);

// As authenticate_collateral(), collateral_names() and appraise_under().
[[nodiscard]] Result<CollateralSetPtr> authenticate_snp(const Json& bundle,
                                                        std::span<const Bytes> dangerous_anchors);
[[nodiscard]] std::vector<std::string> names_for_snp(const Evidence& evidence,
                                                     const Appraisal& appraisal);
[[nodiscard]] Result<AppraisedEvidence> appraise_snp_under(
    const CollateralSet& set, const Evidence& evidence, const Appraisal& appraisal, Purpose purpose,
    const ReportDataBytes& expected, Timestamp now);

}  // namespace assay::attestation
