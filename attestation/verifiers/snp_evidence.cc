// SPDX-License-Identifier: Apache-2.0
// SEV-SNP evidence for the registry: which policy and anchors count, and what a service keeps of
// the verifier's result.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attestation/ar4si.h"
#include "attestation/snp/verify.h"
#include "attestation/verifiers/snp_collateral.h"
#include "attestation/verifiers/snp_verifier.h"
#include "schemas/core/sha.h"

namespace assay::attestation {
namespace {

using namespace ar4si;
using SnpPolicy = snp::AppraisalPolicy;
using SnpResult = snp::AppraisalResult;
using SnpOutcome = snp::CheckOutcome;

// The import checked the values: one that cannot be read now is no reason to accept more.
Result<snp::Reference> snp_reference_named(const std::string& name) {
  const auto reference = snp::reference_from(name);
  return reference ? Result<snp::Reference>(*reference)
                   : fail(ErrorCode::kReferenceUnmapped, "SEV-SNP evidence has no such measurement",
                          name);
}

Status add_imported_to(const Appraisal& appraisal, SnpPolicy& policy) {
  for (const ImportedSet& imported : appraisal.imported) {
    snp::ReferenceSet set{imported.name, {}, imported.not_before, imported.not_after};
    for (const auto& [name, values] : imported.values) {
      ASSAY_ASSIGN(const snp::Reference reference, snp_reference_named(name));
      for (const std::string& value : values) {
        ASSAY_ASSIGN(Bytes bytes, hex_decode(value));
        if (bytes.size() != snp::size_of(reference)) {
          return fail(ErrorCode::kReferenceUnmapped, "a value has another length", name);
        }
        set.values[std::to_underlying(reference)].push_back(std::move(bytes));
      }
    }
    policy.imported.push_back(std::move(set));
  }
  for (const std::string& name : appraisal.constrained) {
    ASSAY_ASSIGN(const snp::Reference reference, snp_reference_named(name));
    policy.constrained[std::to_underlying(reference)] = true;
  }
  return {};
}

std::optional<SnpOutcome> outcome_in(const SnpResult& result, std::string_view check) {
  const auto found = std::ranges::find(result.checks, check, &snp::Check::id);
  return found == result.checks.end() ? std::nullopt : std::optional(found->outcome);
}

// Requires something of the policy itself, unless that is waived.
void require(std::string_view id, std::string_view spec, snp::Outcome outcome, bool waived,
             SnpResult& result) {
  snp::Check check{id, spec, SnpOutcome::kPass, {}, {}};
  if (!outcome) {
    check.outcome = waived ? SnpOutcome::kNotConstrained : SnpOutcome::kFail;
    check.expected = outcome.error().expected;
    check.actual = outcome.error().actual;
    if (!waived && result.accepted) {
      result.accepted = false;
      result.failure = std::move(outcome).error();
    }
  }
  result.checks.push_back(std::move(check));
}

// --- trustworthiness

bool has_bit(const SnpResult& result, std::uint64_t bit) {
  return (result.report->policy & bit) != 0;
}

std::int16_t hardware_in(const SnpResult& result) {
  if (!result.report) {
    return kCryptoFailed;
  }
  const auto rated = outcome_in(result, "min-tcb");
  if (!rated) {
    return kUnrecognized;
  }
  if (rated == SnpOutcome::kFail) {
    return kContraindicated;
  }
  // Under another root than AMD's there may be no such hardware at all. Without minimums, nobody
  // knows whether the firmware is new enough.
  return rated == SnpOutcome::kPass && result.anchor_is_amd ? kTrusted : kUnsafe;
}

std::int16_t configuration_in(const SnpResult& result) {
  const auto guest = outcome_in(result, "guest-policy");
  const auto machine = outcome_in(result, "platform-info");
  if (guest == SnpOutcome::kFail || machine == SnpOutcome::kFail) {
    return kContraindicated;
  }
  if (!guest || !machine) {
    return kNoClaim;
  }
  return has_bit(result, snp::guest_policy::kDebug | snp::guest_policy::kMigrateMa |
                             snp::guest_policy::kCxlAllow)
             ? kUnsafe
             : kTrusted;
}

std::int16_t executables_in(const SnpResult& result) {
  const auto outcome = outcome_in(result, name(snp::Reference::kMeasurement));
  if (!outcome) {
    return kNoClaim;
  }
  switch (*outcome) {
    case SnpOutcome::kFail:
      return kContraindicated;
    case SnpOutcome::kNotConstrained:
      return kExecutablesUnrecognized;
    case SnpOutcome::kPass:
      break;
  }
  return kBootApproved;
}

std::int16_t identity_in(const SnpResult& result) {
  const auto platform = outcome_in(result, "platform");
  if (platform == SnpOutcome::kFail) {
    return kUnrecognized;
  }
  return platform == SnpOutcome::kPass ? kTrusted : kNoClaim;
}

std::int16_t memory_in(const SnpResult& result) {
  if (!result.report) {
    return kNoClaim;
  }
  if (has_bit(result, snp::guest_policy::kDebug)) {
    return result.accepted ? kUnsafe : kContraindicated;
  }
  return kTrusted;
}

// --- what a service keeps

AppraisedEvidence summarize_snp(const SnpResult& result, const SnpPolicy& policy) {
  AppraisedEvidence evidence;
  evidence.type = kSnpEvidence;
  evidence.accepted = result.accepted;
  evidence.error = snp::error_code(result).value_or("");
  evidence.tcb_status = result.tcb_status ? name(*result.tcb_status) : "";
  if (result.report) {
    evidence.platform = plugin_platform(kSnpEvidence, snp::platform_of(*result.report));
  }
  if (result.anchor) {
    evidence.anchor = Anchor::root(*result.anchor);
  }
  evidence.anchor_is_vendor = result.anchor_is_amd;
  evidence.has_reference_values = snp::require_reference_values(policy).has_value();
  evidence.valid_until = result.valid_until;
  evidence.collateral = result.collateral;
  evidence.trustworthiness = {identity_in(result), configuration_in(result), executables_in(result),
                              hardware_in(result), memory_in(result)};
  if (result.accepted) {
    for (const snp::MatchedReference& one : result.matched) {
      evidence.matched[std::string(name(one.reference))].push_back(one.source);
    }
  }
  evidence.result = to_json(result);
  return evidence;
}

// A genuine guest that anybody may have rented says nothing about what runs in it, and genuine
// firmware of any age says nothing about its holes.
AppraisedEvidence conclude_snp(SnpResult result, const Appraisal& appraisal,
                               const SnpPolicy& policy, Purpose purpose) {
  if (purpose != Purpose::kInspect && result.accepted) {
    require("reference-values", "policy reference_values", snp::require_reference_values(policy),
            appraisal.dangerous_allow_missing_reference_values, result);
    require("min-tcb-given", "policy min_tcb", snp::require_min_tcb(policy, *result.generation),
            policy.dangerous_allow_missing_min_tcb, result);
  }
  return summarize_snp(result, policy);
}

Result<snp::Collateral> read_snp_collateral(const Evidence& evidence, const SnpPolicy& policy) {
  if (evidence.collateral.is_null()) {
    if (policy.dangerous_allow_missing_crl) {
      return snp::Collateral{};
    }
    return fail(ErrorCode::kCollateralMissing,
                "send the CRL of AMD's root along with the report, or import it", "/collateral");
  }
  auto collateral = snp::collateral_from_json(evidence.collateral);
  if (!collateral) {
    Error error = std::move(collateral).error();
    error.where = "/collateral" + error.where;
    return std::unexpected(std::move(error));
  }
  return collateral;
}

Status require_no_log(const Evidence& evidence) {
  return evidence.event_log.empty()
             ? Status()
             : fail(ErrorCode::kSchemaViolation, "SEV-SNP evidence has no event log", "/event_log");
}

bool is_accepted_anchor(const Appraisal& appraisal, const CollateralSet& set) {
  return set.anchor_is_vendor() ||
         std::ranges::any_of(appraisal.dangerous_anchors,
                             [&](const Bytes& der) { return sha256(der) == set.anchor(); });
}

class SnpVerifier final : public EvidenceVerifier {
 public:
  [[nodiscard]] std::string_view type() const override { return kSnpEvidence; }
  [[nodiscard]] std::string_view media_type() const override { return kSnpMediaType; }
  [[nodiscard]] Result<AppraisedEvidence> appraise(const Evidence& evidence,
                                                   const Appraisal& appraisal, Purpose purpose,
                                                   const ReportDataBytes& expected,
                                                   Timestamp now) const override {
    ASSAY_ASSIGN(const SnpPolicy policy, snp_policy_of(appraisal));
    ASSAY_ASSIGN(const auto anchors, snp_anchors(appraisal.dangerous_anchors));
    ASSAY_TRY(require_no_log(evidence));
    ASSAY_ASSIGN(const snp::Collateral collateral, read_snp_collateral(evidence, policy));
    return conclude_snp(snp::verify(evidence.quote, collateral, anchors,
                                    {now, snp::ReportDataExpectation::exactly(expected), policy}),
                        appraisal, policy, purpose);
  }
  [[nodiscard]] Json default_policy() const override { return to_json(SnpPolicy{}); }
  [[nodiscard]] Status check(const Appraisal& appraisal) const override {
    ASSAY_TRY(snp_policy_of(appraisal));
    ASSAY_TRY(snp_anchors(appraisal.dangerous_anchors));
    return {};
  }
};

}  // namespace

Result<snp::AppraisalPolicy> snp_policy_of(const Appraisal& appraisal) {
  auto policy = snp::parse_appraisal_policy(appraisal.policy);
  if (!policy) {
    Error error = std::move(policy).error();
    error.where = "/policy" + error.where;
    return std::unexpected(std::move(error));
  }
  ASSAY_TRY(add_imported_to(appraisal, *policy));
  return policy;
}

std::unique_ptr<const EvidenceVerifier> make_snp_verifier() {
  return std::make_unique<SnpVerifier>();
}

Result<AppraisedEvidence> appraise_snp_under(const CollateralSet& set, const Evidence& evidence,
                                             const Appraisal& appraisal, Purpose purpose,
                                             const ReportDataBytes& expected, Timestamp now) {
  const auto* const collateral = dynamic_cast<const SnpCollateralSet*>(&set);
  if (collateral == nullptr) {
    return fail(ErrorCode::kInternal, "a set of SEV-SNP collateral that is none");
  }
  ASSAY_ASSIGN(const SnpPolicy policy, snp_policy_of(appraisal));
  ASSAY_TRY(require_no_log(evidence));
  SnpResult result;
  if (is_accepted_anchor(appraisal, set)) {
    result = snp::verify(evidence.quote, collateral->authenticated(),
                         {now, snp::ReportDataExpectation::exactly(expected), policy});
  } else {
    result.failure = snp::Failure{
        snp::SnpError::kRootUntrusted, "a configured trust anchor", set.anchor().text(), {}};
    result.checks.push_back({"root", "configuration", SnpOutcome::kFail, result.failure->expected,
                             result.failure->actual});
  }
  return conclude_snp(std::move(result), appraisal, policy, purpose);
}

}  // namespace assay::attestation
