// SPDX-License-Identifier: Apache-2.0
// The functions that each type of evidence adds to the registry in evidence_verifier.cc. Internal
// to this folder.
#pragma once

#include <string_view>

#include "attestation/evidence_verifier.h"

namespace assay::attestation {

// One type of evidence. The functions are those of evidence_verifier.h, called for this type alone.
struct EvidenceType {
  std::string_view name;
  Result<AppraisedEvidence> (*appraise)(const Evidence& evidence, const Appraisal& appraisal,
                                        Purpose purpose, const ReportDataBytes& expected,
                                        Timestamp now);
  Appraisal (*default_appraisal)();
  Status (*check)(const Appraisal& appraisal);
  Json (*refreshed)(Json own, std::string_view mark, const Json& newest);
};

extern const EvidenceType kTdxEvidenceType;

}  // namespace assay::attestation
