// SPDX-License-Identifier: Apache-2.0
#include "attestation/collateral_set.h"

#include <algorithm>

#include "attestation/tdx_collateral.h"
#include "attestation/tdx_evidence.h"

namespace assay::attestation {
namespace {

constexpr std::uint64_t kMaxNumber = (1U << 19) - 1;
constexpr unsigned kSecondsBits = 34;

std::unexpected<Error> without_collateral() {
  return fail(ErrorCode::kEvidenceTypeUnknown, "collateral is for evidence of type tdx", "/type");
}

}  // namespace

std::uint64_t collateral_order(std::uint64_t number, Timestamp issued) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(issued.time_since_epoch()).count();
  const auto bounded = std::clamp<std::int64_t>(seconds, 0, (std::int64_t{1} << kSecondsBits) - 1);
  return std::min(number, kMaxNumber) << kSecondsBits | static_cast<std::uint64_t>(bounded);
}

Json members_of(const CollateralSet& set, const CollateralPart& part) {
  Json members = Json::object();
  for (const std::string_view name : part.members) {
    members[std::string(name)] = set.bundle().at(std::string(name));
  }
  return members;
}

Result<CollateralSetPtr> authenticate_collateral(std::string_view evidence_type, const Json& bundle,
                                                 std::span<const Bytes> dangerous_anchors) {
  if (evidence_type != kTdxEvidence) {
    return without_collateral();
  }
  return authenticate_tdx(bundle, dangerous_anchors);
}

std::vector<std::string> collateral_names(const Evidence& evidence, const Appraisal& appraisal) {
  return evidence.type == kTdxEvidence ? names_for_tdx(evidence, appraisal)
                                       : std::vector<std::string>();
}

Result<AppraisedEvidence> appraise_under(const CollateralSet& set, const Evidence& evidence,
                                         const Appraisal& appraisal, Purpose purpose,
                                         const ReportDataBytes& expected, Timestamp now) {
  if (set.type() != evidence.type || appraisal.evidence_type != evidence.type) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "collateral, evidence and appraisal policy are of different types", "/type");
  }
  if (!evidence.media_type.empty() && evidence.media_type != kTdxMediaType) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "evidence of this type has the media type " + std::string(kTdxMediaType),
                "/media_type");
  }
  return appraise_tdx_under(set, evidence, appraisal, purpose, expected, now);
}

}  // namespace assay::attestation
