// SPDX-License-Identifier: Apache-2.0
// The built-in verifiers, and those that are added.
#include "attestation/verifier_registry.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attestation/ear_evidence.h"
#include "attestation/tdx_evidence.h"
#include "attestation/verifiers/nvidia_verifier.h"
#include "attestation/verifiers/snp_verifier.h"

namespace assay::attestation {
namespace {

std::unexpected<Error> unknown(std::string detail, std::string where) {
  return fail(ErrorCode::kEvidenceTypeUnknown, std::move(detail), std::move(where));
}

}  // namespace

VerifierRegistry::VerifierRegistry() {
  verifiers_.push_back(make_tdx_verifier());
  verifiers_.push_back(make_snp_verifier());
  verifiers_.push_back(make_nvidia_verifier());
  verifiers_.push_back(make_ear_verifier());
}
VerifierRegistry::VerifierRegistry(VerifierRegistry&&) noexcept = default;
VerifierRegistry& VerifierRegistry::operator=(VerifierRegistry&&) noexcept = default;
VerifierRegistry::~VerifierRegistry() = default;

Status VerifierRegistry::add(std::unique_ptr<const EvidenceVerifier> verifier) {
  const bool taken = std::ranges::any_of(verifiers_, [&](const auto& known) {
    return known->type() == verifier->type() || known->media_type() == verifier->media_type();
  });
  if (taken) {
    return fail(ErrorCode::kInvalidParameter,
                "there is a verifier for this type or media type of evidence already",
                std::string(verifier->type()));
  }
  verifiers_.push_back(std::move(verifier));
  return {};
}

Result<const EvidenceVerifier*> VerifierRegistry::of_type(std::string_view type) const {
  const auto found =
      std::ranges::find(verifiers_, type, [](const auto& verifier) { return verifier->type(); });
  if (found == verifiers_.end()) {
    return unknown("there is no verifier for evidence of this type", "/type");
  }
  return found->get();
}

Result<const EvidenceVerifier*> VerifierRegistry::of_media_type(std::string_view media_type) const {
  const auto found = std::ranges::find(verifiers_, media_type,
                                       [](const auto& verifier) { return verifier->media_type(); });
  if (found == verifiers_.end()) {
    return unknown("there is no verifier for this media type", "/media_type");
  }
  return found->get();
}

Result<AppraisedEvidence> VerifierRegistry::appraise(const Evidence& evidence,
                                                     const Appraisal& appraisal, Purpose purpose,
                                                     const ReportDataBytes& expected,
                                                     Timestamp now) const {
  ASSAY_ASSIGN(const EvidenceVerifier* const verifier, of_type(evidence.type));
  if (appraisal.evidence_type != evidence.type) {
    return unknown("the appraisal policy is for evidence of another type", "/type");
  }
  if (!evidence.media_type.empty() && evidence.media_type != verifier->media_type()) {
    return unknown(
        "evidence of this type has the media type " + std::string(verifier->media_type()),
        "/media_type");
  }
  return verifier->appraise(evidence, appraisal, purpose, expected, now);
}

Status VerifierRegistry::check(const Appraisal& appraisal) const {
  ASSAY_ASSIGN(const EvidenceVerifier* const verifier, of_type(appraisal.evidence_type));
  return verifier->check(appraisal);
}

const VerifierRegistry& built_in_verifiers() {
  static const VerifierRegistry registry;
  return registry;
}

Appraisal default_appraisal(std::string_view type) {
  Appraisal appraisal;
  appraisal.evidence_type = type;
  if (const auto verifier = built_in_verifiers().of_type(type)) {
    appraisal.policy = (*verifier)->default_policy();
  }
  return appraisal;
}

}  // namespace assay::attestation
