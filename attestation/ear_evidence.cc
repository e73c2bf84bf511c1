// SPDX-License-Identifier: Apache-2.0
#include "attestation/ear_evidence.h"

#include "attestation/outside_verifier.h"
#include "attestation/trustworthiness.h"
#include "schemas/evidence.h"

namespace assay::attestation {
namespace {

Result<OutsideVerifier> read_outside_verifier(const Appraisal& appraisal) {
  auto verifier = parse_outside_verifier(appraisal.policy);
  if (!verifier) {
    Error error = std::move(verifier).error();
    error.where = "/policy" + error.where;
    return std::unexpected(std::move(error));
  }
  return verifier;
}

Trustworthiness trustworthiness_of(const Json& aspects) {
  Trustworthiness trust;
  for (const auto& [aspect, member] : kAspects) {
    if (const auto found = aspects.find(aspect); found != aspects.end()) {
      trust.*member = found->get<std::int16_t>();
    }
  }
  return trust;
}

// A verifier that says nothing of what was started has compared nothing with it.
bool knows_executables(const Trustworthiness& trust) {
  return tier_of(trust.executables) == Tier::kAffirming;
}

void refuse(std::string error, std::string detail, EarVerdict& verdict) {
  verdict.error = std::move(error);
  verdict.detail = std::move(detail);
}

// A name of its own: a verifier elsewhere must not speak of machines that other evidence proves.
std::string platform_of(const EarVerdict& verdict) {
  return verdict.platform.empty() ? std::string() : plugin_platform(kEarEvidence, verdict.platform);
}

AppraisedEvidence summarize(const EarVerdict& verdict, const OutsideVerifier& verifier) {
  AppraisedEvidence evidence;
  evidence.type = kEarEvidence;
  evidence.accepted = verdict.error.empty();
  evidence.error = verdict.error;
  evidence.tcb_status = verdict.status;
  evidence.platform = platform_of(verdict);
  evidence.anchor = Anchor::key_set(verifier.anchor);
  evidence.trustworthiness = trustworthiness_of(verdict.aspects);
  evidence.has_reference_values = knows_executables(evidence.trustworthiness);
  evidence.valid_until = verdict.valid_until;
  evidence.result = {{"verdict", evidence.accepted ? "accepted" : "rejected"},
                     {"error", verdict.error.empty() ? Json() : Json(verdict.error)},
                     {"detail", verdict.detail.empty() ? Json() : Json(verdict.detail)},
                     {"issuer", verifier.issuer},
                     {"profile", verifier.profile},
                     {"status", verdict.status.empty() ? Json() : Json(verdict.status)},
                     {"submods", verdict.submods}};
  return evidence;
}

class EarVerifier final : public EvidenceVerifier {
 public:
  [[nodiscard]] std::string_view type() const override { return kEarEvidence; }
  [[nodiscard]] std::string_view media_type() const override { return kEarEvidenceMediaType; }

  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& appraisal, Purpose purpose,
                                                   const ReportDataBytes& expected,
                                                   Timestamp now) const override {
    if (appraisal.policy.empty()) {
      return fail(ErrorCode::kEvidenceTypeUnknown, "no outside verifier is configured", "/type");
    }
    ASSAY_ASSIGN(const OutsideVerifier verifier, read_outside_verifier(appraisal));
    const auto presented = parse_ear_evidence(evidence.quote);
    EarVerdict verdict;
    if (!presented || !evidence.event_log.empty() || !evidence.collateral.is_null()) {
      refuse("EAR_FORMAT", presented ? "a result stands alone" : presented.error().detail, verdict);
      return summarize(verdict, verifier);
    }
    verdict = verify_outside_ear(*presented, verifier, expected, now);
    const bool asked =
        purpose != Purpose::kInspect && !appraisal.dangerous_allow_missing_reference_values;
    if (verdict.error.empty() && asked && !knows_executables(trustworthiness_of(verdict.aspects))) {
      refuse("REFERENCE_VALUES_MISSING", "the verifier does not affirm what was started", verdict);
    }
    return summarize(verdict, verifier);
  }

  [[nodiscard]] Status check(const Appraisal& appraisal) const override {
    ASSAY_TRY(read_outside_verifier(appraisal));
    if (!appraisal.dangerous_anchors.empty()) {
      return fail(ErrorCode::kSchemaViolation, "results of others have no root but their keys",
                  "/dangerous_anchors/0");
    }
    if (!appraisal.stage.empty()) {
      return fail(ErrorCode::kSchemaViolation,
                  "a result answers a challenge, and evidence of stages has none", "/stage");
    }
    return {};
  }
};

}  // namespace

std::unique_ptr<const EvidenceVerifier> make_ear_verifier() {
  return std::make_unique<EarVerifier>();
}

}  // namespace assay::attestation
