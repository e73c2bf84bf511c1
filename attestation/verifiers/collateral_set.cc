// SPDX-License-Identifier: Apache-2.0
// Which functions serve which type of evidence.
#include "attestation/collateral_set.h"

#include <algorithm>
#include <array>

#include "attestation/tdx_collateral.h"
#include "attestation/tdx_evidence.h"
#include "attestation/verifiers/nvidia_verifier.h"
#include "attestation/verifiers/snp_verifier.h"

namespace assay::attestation {
namespace {

constexpr std::uint64_t kMaxNumber = (1U << 19) - 1;
constexpr unsigned kSecondsBits = 34;

// The functions of one type of evidence with collateral.
struct Row {
  std::string_view type;
  std::string_view media_type;
  Result<CollateralSetPtr> (*authenticate)(const Json&, std::span<const Bytes>);
  std::vector<std::string> (*names)(const Evidence&, const Appraisal&);
  Result<AppraisedEvidence> (*appraise)(const CollateralSet&, const Evidence&, const Appraisal&,
                                        Purpose, const ReportDataBytes&, Timestamp);
  bool needs_all;
};
constexpr std::array<Row, 3> kRows = {{
    {kNvidiaEvidence, kNvidiaMediaType, authenticate_nvidia, names_for_nvidia,
     appraise_nvidia_under, false},
    {kSnpEvidence, kSnpMediaType, authenticate_snp, names_for_snp, appraise_snp_under, true},
    {kTdxEvidence, kTdxMediaType, authenticate_tdx, names_for_tdx, appraise_tdx_under, true},
}};

const Row* row_of(std::string_view type) {
  const auto found = std::ranges::find(kRows, type, &Row::type);
  return found == kRows.end() ? nullptr : &*found;
}

}  // namespace

std::uint64_t collateral_order(std::uint64_t number, Timestamp issued) {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(issued.time_since_epoch()).count();
  const auto bounded = std::clamp<std::int64_t>(seconds, 0, (std::int64_t{1} << kSecondsBits) - 1);
  return std::min(number, kMaxNumber) << kSecondsBits | static_cast<std::uint64_t>(bounded);
}

std::vector<std::string_view> types_with_collateral() {
  std::vector<std::string_view> types;
  for (const Row& row : kRows) {
    types.push_back(row.type);
  }
  return types;
}

Json members_of(const CollateralSet& set, const CollateralPart& part) {
  Json members = Json::object();
  for (const std::string& name : part.members) {
    members[name] = set.bundle().at(name);
  }
  return members;
}

bool needs_all_parts(std::string_view type) {
  const Row* const row = row_of(type);
  return row == nullptr || row->needs_all;
}

Result<CollateralSetPtr> authenticate_collateral(std::string_view evidence_type, const Json& bundle,
                                                 std::span<const Bytes> dangerous_anchors) {
  const Row* const row = row_of(evidence_type);
  if (row == nullptr) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "collateral is for evidence of type tdx, sev-snp or nvidia-gpu", "/type");
  }
  return row->authenticate(bundle, dangerous_anchors);
}

std::vector<std::string> collateral_names(const Evidence& evidence, const Appraisal& appraisal) {
  const Row* const row = row_of(evidence.type);
  return row == nullptr ? std::vector<std::string>() : row->names(evidence, appraisal);
}

Result<AppraisedEvidence> appraise_under(const CollateralSet& set, const Evidence& evidence,
                                         const Appraisal& appraisal, Purpose purpose,
                                         const ReportDataBytes& expected, Timestamp now) {
  const Row* const row = row_of(evidence.type);
  if (row == nullptr || set.type() != evidence.type || appraisal.evidence_type != evidence.type) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "collateral, evidence and appraisal policy are of different types", "/type");
  }
  if (!evidence.media_type.empty() && evidence.media_type != row->media_type) {
    return fail(ErrorCode::kEvidenceTypeUnknown,
                "evidence of this type has the media type " + std::string(row->media_type),
                "/media_type");
  }
  return row->appraise(set, evidence, appraisal, purpose, expected, now);
}

}  // namespace assay::attestation
