// SPDX-License-Identifier: Apache-2.0
// The registry of evidence types.
#include "attestation/evidence_verifier.h"

#include <algorithm>
#include <array>

#include "attestation/evidence_type.h"

namespace assay::attestation {
namespace {

Result<const EvidenceType*> find_type(std::string_view name) {
  static constexpr std::array kTypes = {&kTdxEvidenceType};
  const auto found = std::ranges::find(kTypes, name, [](const auto* type) { return type->name; });
  if (found == kTypes.end()) {
    return fail(ErrorCode::kEvidenceTypeUnknown, "the only type of evidence is tdx", "/type");
  }
  return *found;
}

}  // namespace

Result<AppraisedEvidence> appraise(const Evidence& evidence, const Appraisal& appraisal,
                                   Purpose purpose, const ReportDataBytes& expected,
                                   Timestamp now) {
  ASSAY_ASSIGN(const EvidenceType* type, find_type(evidence.type));
  if (appraisal.evidence_type != evidence.type) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "the appraisal policy is for evidence of another type", "/type");
  }
  return type->appraise(evidence, appraisal, purpose, expected, now);
}

Result<Json> refreshed(std::string_view evidence_type, Json own, std::string_view mark,
                       const Json& newest) {
  ASSAY_ASSIGN(const EvidenceType* type, find_type(evidence_type));
  return type->refreshed(std::move(own), mark, newest);
}

Result<Appraisal> default_appraisal(std::string_view evidence_type) {
  ASSAY_ASSIGN(const EvidenceType* type, find_type(evidence_type));
  return type->default_appraisal();
}

Status check(const Appraisal& appraisal) {
  ASSAY_ASSIGN(const EvidenceType* type, find_type(appraisal.evidence_type));
  return type->check(appraisal);
}

}  // namespace assay::attestation
