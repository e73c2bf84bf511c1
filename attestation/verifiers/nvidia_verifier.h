// SPDX-License-Identifier: Apache-2.0
// Evidence of NVIDIA devices for the registry and for collateral as state: the built-in verifier,
// and the functions of collateral_set.h for this type. Internal to this folder.
//
// Evidence: the JSON of one device as nvidia::parse_device() reads it, as `quote`, without log and
// collateral: RIMs and OCSP answers are imported (nvidia_collateral.h). A device says something of
// a node only beside evidence of that node (Purpose::kDevice).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attestation/collateral_set.h"
#include "attestation/evidence_verifier.h"

namespace assay::attestation {

[[nodiscard]] std::unique_ptr<const EvidenceVerifier> make_nvidia_verifier();

// As authenticate_collateral(), collateral_names() and appraise_under().
[[nodiscard]] Result<CollateralSetPtr> authenticate_nvidia(
    const Json& bundle, std::span<const Bytes> dangerous_anchors);
[[nodiscard]] std::vector<std::string> names_for_nvidia(const Evidence& evidence,
                                                        const Appraisal& appraisal);
[[nodiscard]] Result<AppraisedEvidence> appraise_nvidia_under(
    const CollateralSet& set, const Evidence& evidence, const Appraisal& appraisal, Purpose purpose,
    const ReportDataBytes& expected, Timestamp now);

}  // namespace assay::attestation
