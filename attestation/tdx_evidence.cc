// SPDX-License-Identifier: Apache-2.0
// TDX evidence for the registry: which policy and anchors count, and what a service keeps of the
// verifier's result.
#include "attestation/tdx_evidence.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attestation/ar4si.h"
#include "attestation/tdx/verify.h"
#include "attestation/tdx_collateral.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

using tdx::AppraisalPolicy;
using tdx::AppraisalResult;
using tdx::CheckOutcome;
using tdx::Reference;
using tdx::TcbStatus;
using tdx::TrustAnchor;

using namespace ar4si;

struct Terms {
  AppraisalPolicy policy;
  std::vector<TrustAnchor> anchors;  // Intel's first
};

// What was imported was checked then: what cannot be read now is no reason to accept more.
Result<Reference> reference_named(const std::string& name) {
  const auto reference = tdx::reference_from(name);
  return reference
             ? Result<Reference>(*reference)
             : fail(ErrorCode::kReferenceUnmapped, "TDX evidence has no such measurement", name);
}

Status add_imported(const Appraisal& appraisal, AppraisalPolicy& policy) {
  for (const ImportedSet& imported : appraisal.imported) {
    tdx::ReferenceSet set{imported.name, {}, imported.not_before, imported.not_after};
    for (const auto& [name, values] : imported.values) {
      ASSAY_ASSIGN(const Reference reference, reference_named(name));
      for (const std::string& value : values) {
        ASSAY_ASSIGN(const Bytes bytes, hex_decode(value));
        auto& measurement = set.values[std::to_underlying(reference)].emplace_back();
        if (bytes.size() != measurement.size()) {
          return fail(ErrorCode::kReferenceUnmapped, "a value has another length", name);
        }
        std::ranges::copy(bytes, measurement.begin());
      }
    }
    policy.imported.push_back(std::move(set));
  }
  for (const std::string& name : appraisal.constrained) {
    ASSAY_ASSIGN(const Reference reference, reference_named(name));
    policy.constrained[std::to_underlying(reference)] = true;
  }
  return {};
}

Result<Terms> read_terms(const Appraisal& appraisal) {
  Terms terms;
  ASSAY_ASSIGN(terms.policy, tdx_policy_of(appraisal));
  terms.anchors.push_back(tdx::intel_root());
  for (const Bytes& der : appraisal.dangerous_anchors) {
    auto anchor = TrustAnchor::from_der(der);
    if (!anchor) {
      return fail(anchor.error().code, anchor.error().detail,
                  "/dangerous_anchors/" + std::to_string(terms.anchors.size() - 1));
    }
    terms.anchors.push_back(std::move(*anchor));
  }
  return terms;
}

std::optional<CheckOutcome> outcome_of(const AppraisalResult& result, std::string_view check) {
  const auto found =
      std::ranges::find(result.checks, check, [](const tdx::Check& entry) { return entry.id; });
  return found == result.checks.end() ? std::nullopt : std::optional(found->outcome);
}

// A genuine TD that anybody may have rented says nothing about what runs in it.
void require_references(const AppraisalPolicy& policy, bool waived, AppraisalResult& result) {
  if (!result.accepted) {
    return;
  }
  const tdx::Outcome outcome = tdx::require_reference_values(policy);
  tdx::Check check{"reference-values", "policy reference_values", CheckOutcome::kPass, {}, {}};
  if (!outcome) {
    check.outcome = waived ? CheckOutcome::kNotConstrained : CheckOutcome::kFail;
    check.expected = outcome.error().expected;
    check.actual = outcome.error().actual;
    if (!waived) {
      result.accepted = false;
      result.failure = outcome.error();
    }
  }
  result.checks.push_back(std::move(check));
}

// --- trustworthiness

bool is_debuggable(const tdx::TdReport& report) { return (report.tdattributes[0] & 0x01) != 0; }
bool is_shielded_from_ve(const tdx::TdReport& report) {
  return (report.tdattributes[3] & 0x10) != 0;
}
bool has_service_td(const tdx::TdReport& report) {
  const auto is_set = [](std::uint8_t byte) { return byte != 0; };
  return std::ranges::any_of(report.mrservicetd, is_set) ||
         std::ranges::any_of(report.init_servicetd_hash, is_set) ||
         std::ranges::any_of(report.current_servicetd_hash, is_set);
}

std::int16_t hardware_of(const AppraisalResult& result) {
  if (!result.report) {
    return kCryptoFailed;
  }
  if (!result.tcb) {
    return kUnrecognized;
  }
  switch (result.tcb->status) {
    case TcbStatus::kUpToDate:
      // Under another root than Intel's there may be no such hardware at all.
      return result.anchor_is_intel ? kTrusted : kUnsafe;
    case TcbStatus::kOutOfDate:
    case TcbStatus::kOutOfDateConfigurationNeeded:
      return outcome_of(result, "tcb-status") == CheckOutcome::kPass ? kUnsafe : kContraindicated;
    case TcbStatus::kRevoked:
      return kContraindicated;
    default:
      return kUnsafe;
  }
}

std::int16_t configuration_of(const AppraisalResult& result) {
  const auto attributes = outcome_of(result, "td-attributes");
  const auto service_td = outcome_of(result, "service-td");
  if (attributes == CheckOutcome::kFail || service_td == CheckOutcome::kFail) {
    return kContraindicated;
  }
  if (!attributes || !service_td) {
    return kNoClaim;
  }
  const tdx::TdReport& report = *result.report;
  return is_debuggable(report) || !is_shielded_from_ve(report) || has_service_td(report) ? kUnsafe
                                                                                         : kTrusted;
}

std::int16_t executables_of(const AppraisalResult& result) {
  std::int16_t value = kBootApproved;
  for (const tdx::Reference reference : {tdx::Reference::kMrtd, tdx::Reference::kRtmr0,
                                         tdx::Reference::kRtmr1, tdx::Reference::kRtmr2}) {
    const auto outcome = outcome_of(result, name(reference));
    if (outcome == CheckOutcome::kFail) {
      return kContraindicated;
    }
    if (!outcome) {
      return kNoClaim;
    }
    if (outcome == CheckOutcome::kNotConstrained) {
      value = kExecutablesUnrecognized;
    }
  }
  return value;
}

std::int16_t identity_of(const AppraisalResult& result) {
  const auto platform = outcome_of(result, "platform");
  if (platform == CheckOutcome::kFail) {
    return kUnrecognized;
  }
  return platform == CheckOutcome::kPass ? kTrusted : kNoClaim;
}

std::int16_t memory_of(const AppraisalResult& result) {
  if (!result.report) {
    return kNoClaim;
  }
  if (is_debuggable(*result.report)) {
    return result.accepted ? kUnsafe : kContraindicated;
  }
  return kTrusted;
}

// --- what a service keeps

AppraisedEvidence summarize(const AppraisalResult& result, const AppraisalPolicy& policy) {
  AppraisedEvidence evidence;
  evidence.type = kTdxEvidence;
  evidence.accepted = result.accepted;
  evidence.error = tdx::error_code(result).value_or("");
  evidence.tcb_status = result.tcb ? name(result.tcb->status) : "";
  evidence.platform = result.platform ? hex_encode(result.platform->ppid) : "";
  if (result.anchor) {
    evidence.anchor = Anchor::root(*result.anchor);
  }
  evidence.anchor_is_vendor = result.anchor_is_intel;
  evidence.has_reference_values = tdx::require_reference_values(policy).has_value();
  evidence.valid_until = result.valid_until;
  evidence.collateral = result.collateral;
  evidence.trustworthiness = {identity_of(result), configuration_of(result), executables_of(result),
                              hardware_of(result), memory_of(result)};
  if (result.accepted) {
    for (const tdx::MatchedReference& one : result.matched) {
      evidence.matched[std::string(name(one.reference))].push_back(one.source);
    }
  }
  if (result.accepted && result.event_log) {
    evidence.boot = result.event_log->measured;
  }
  evidence.result = to_json(result);
  return evidence;
}

AppraisedEvidence conclude(AppraisalResult result, const Appraisal& appraisal,
                           const AppraisalPolicy& policy, Purpose purpose) {
  if (purpose != Purpose::kInspect) {
    require_references(policy, appraisal.dangerous_allow_missing_reference_values, result);
  }
  return summarize(result, policy);
}

Result<AppraisedEvidence> appraise_tdx(const Evidence& evidence, const Appraisal& appraisal,
                                       Purpose purpose, const ReportDataBytes& expected,
                                       Timestamp now) {
  ASSAY_ASSIGN(const Terms terms, read_terms(appraisal));
  if (evidence.collateral.is_null()) {
    return fail(ErrorCode::kCollateralMissing,
                "send the collateral of the platform along with the quote", "/collateral");
  }
  auto collateral = tdx::collateral_from_json(evidence.collateral);
  if (!collateral) {
    Error error = std::move(collateral).error();
    error.where = "/collateral" + error.where;
    return std::unexpected(std::move(error));
  }
  return conclude(tdx::verify(evidence.quote, *collateral, terms.anchors,
                              {now, tdx::ReportDataExpectation::exactly(expected), terms.policy,
                               evidence.event_log}),
                  appraisal, terms.policy, purpose);
}

// Whether `appraisal` accepts what ends at this anchor.
bool accepts(const Appraisal& appraisal, const CollateralSet& set) {
  return set.anchor_is_vendor() ||
         std::ranges::any_of(appraisal.dangerous_anchors,
                             [&](const Bytes& der) { return sha256(der) == set.anchor(); });
}

class TdxVerifier final : public EvidenceVerifier {
 public:
  [[nodiscard]] std::string_view type() const override { return kTdxEvidence; }
  [[nodiscard]] std::string_view media_type() const override { return kTdxMediaType; }
  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& appraisal, Purpose purpose,
                                                   const ReportDataBytes& expected,
                                                   Timestamp now) const override {
    return appraise_tdx(evidence, appraisal, purpose, expected, now);
  }
  [[nodiscard]] Json default_policy() const override { return to_json(AppraisalPolicy{}); }
  [[nodiscard]] Status check(const Appraisal& appraisal) const override {
    ASSAY_TRY(read_terms(appraisal));
    return {};
  }
};

}  // namespace

Result<tdx::AppraisalPolicy> tdx_policy_of(const Appraisal& appraisal) {
  auto policy = tdx::parse_appraisal_policy(appraisal.policy);
  if (!policy) {
    Error error = std::move(policy).error();
    error.where = "/policy" + error.where;
    return std::unexpected(std::move(error));
  }
  ASSAY_TRY(add_imported(appraisal, *policy));
  return policy;
}

std::unique_ptr<const EvidenceVerifier> make_tdx_verifier() {
  return std::make_unique<TdxVerifier>();
}

Result<AppraisedEvidence> appraise_tdx_under(const CollateralSet& set, const Evidence& evidence,
                                             const Appraisal& appraisal, Purpose purpose,
                                             const ReportDataBytes& expected, Timestamp now) {
  const auto* const collateral = dynamic_cast<const TdxCollateralSet*>(&set);
  if (collateral == nullptr) {
    return fail(ErrorCode::kInternal, "a set of TDX collateral that is none");
  }
  ASSAY_ASSIGN(const AppraisalPolicy policy, tdx_policy_of(appraisal));
  AppraisalResult result;
  if (accepts(appraisal, set)) {
    result = tdx::verify(
        evidence.quote, collateral->authenticated(),
        {now, tdx::ReportDataExpectation::exactly(expected), policy, evidence.event_log});
  } else {
    const auto refused = tdx::reject(tdx::TdxError::kPckRootUntrusted, "a configured trust anchor",
                                     set.anchor().text());
    result.failure = refused.error();
    result.checks.push_back({"trust-anchor", "configuration", CheckOutcome::kFail,
                             refused.error().expected, refused.error().actual});
  }
  return conclude(std::move(result), appraisal, policy, purpose);
}

}  // namespace assay::attestation
