// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/stage_evidence.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "policy/conditions/age.h"
#include "policy/conditions/anchors.h"
#include "policy/conditions/boot.h"
#include "policy/conditions/relations.h"

namespace assay::policy {
namespace {

constexpr std::array<const char*, 4> kReferences = {"mrtd", "rtmr0", "rtmr1", "rtmr2"};

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// The demands that do not hold, in a fixed order.
class Examined {
 public:
  Examined(const EvidenceDemands& demands, const StageEvidenceFact& fact, Timestamp now)
      : demands_(demands), fact_(fact), now_(now) {
    appraisals();
    anchor();
    measurements();
    boot();
    times();
  }

  [[nodiscard]] Outcome outcome() const {
    if (!failed_.empty()) {
      return Outcome::kFail;
    }
    return undecided_ ? Outcome::kError : Outcome::kPass;
  }
  [[nodiscard]] Reason code() const {
    return failed_.empty() ? Reason::kConditionUndecided : failed_.front();
  }
  [[nodiscard]] Json actual() const {
    Json json = {{"key", fact_.key.text()},
                 {"type", fact_.type},
                 {"status_then", fact_.status_then},
                 {"status_now", fact_.status_now},
                 {"current", fact_.current},
                 {"anchor", fact_.anchor ? Json(fact_.anchor->text()) : Json(nullptr)},
                 {"accepted_at", to_rfc3339(fact_.accepted_at)}};
    if (fact_.valid_until) {
      json["valid_until"] = to_rfc3339(*fact_.valid_until);
    }
    if (fact_.appraisal) {
      json["appraisal"] = fact_.appraisal->text();
    }
    if (!boot_.is_null()) {
      json["boot"] = boot_;
    }
    if (!fact_.error_then.empty()) {
      json["error_then"] = fact_.error_then;
    }
    if (!fact_.error_now.empty()) {
      json["error_now"] = fact_.error_now;
    }
    if (!fact_.matched.empty()) {
      json["reference_values"] = fact_.matched;
    }
    for (const Reason code : failed_) {
      json["failed"].push_back(info(code).code);
    }
    return json;
  }

 private:
  void demand(bool holds, Reason code) {
    if (!holds && std::find(failed_.begin(), failed_.end(), code) == failed_.end()) {
      failed_.push_back(code);
    }
  }
  static bool accepts(const std::vector<std::string>& list, const std::string& status) {
    return list.empty() || contains(list, status);
  }

  void appraisals() {
    demand(demands_.type.empty() || demands_.type == fact_.type, Reason::kStageEvidenceMissing);
    if (demands_.appraised != AppraisedWhen::kNow) {
      demand(fact_.error_then.empty(), Reason::kStageEvidenceRejected);
      demand(accepts(demands_.tcb_status_then, fact_.status_then), Reason::kStageTcbNotAccepted);
    }
    if (demands_.appraised != AppraisedWhen::kThen) {
      demand(fact_.current && is_valid(fact_.valid_until, now_), Reason::kStageEvidenceStale);
      demand(fact_.error_now.empty(), Reason::kStageEvidenceRejected);
      demand(accepts(demands_.tcb_status_now, fact_.status_now), Reason::kStageTcbNotAccepted);
    }
  }

  void anchor() {
    demand(accepts_anchor(demands_.anchors, fact_.anchor, fact_.anchor_is_vendor),
           Reason::kStageAnchorNotAccepted);
  }

  // Nothing is known of a machine that anybody may have rented, unless its software is.
  void measurements() {
    const bool named = std::all_of(kReferences.begin(), kReferences.end(), [&](const char* one) {
      const auto values = demands_.reference_values.find(one);
      return values != demands_.reference_values.end() && !values->second.empty();
    });
    demand(fact_.has_reference_values || named || demands_.allow_missing_reference_values,
           Reason::kStageReferencesMissing);
    for (const auto& [measurement, values] : demands_.reference_values) {
      const auto measured = fact_.measurements.find(measurement);
      demand(values.empty() ||
                 (measured != fact_.measurements.end() && contains(values, measured->second)),
             Reason::kStageMeasurementsMismatch);
    }
  }

  void boot() {
    if (!demands_.boot) {
      return;
    }
    JudgedBoot judged = judge_boot(*demands_.boot, fact_.boot);
    demand(judged.outcome != BootOutcome::kUnknown, Reason::kStageEventLogMissing);
    demand(judged.outcome != BootOutcome::kMismatch, Reason::kStageBootMismatch);
    boot_ = std::move(judged.actual);
  }

  void times() {
    undecided_ = fact_.accepted_at > now_ || (fact_.made_after && *fact_.made_after > now_);
    if (demands_.max_age_seconds) {
      demand(!is_older(fact_.accepted_at, *demands_.max_age_seconds, now_),
             Reason::kStageEvidenceStale);
    }
    if (demands_.made_within_seconds) {
      demand(fact_.made_after &&
                 !is_older(*fact_.made_after, *demands_.made_within_seconds, fact_.accepted_at),
             Reason::kStageEvidenceNotFresh);
    }
  }

  const EvidenceDemands& demands_;
  const StageEvidenceFact& fact_;
  Timestamp now_;
  std::vector<Reason> failed_;
  Json boot_;
  bool undecided_ = false;
};

int rank(Outcome outcome) {
  if (outcome == Outcome::kPass) {
    return 0;
  }
  return outcome == Outcome::kError ? 1 : 2;
}

// The best that a signature of this key comes to.
SignerState state_of(const SignerCounts& counts, const JudgedStatement& statement,
                     const KeyId& key) {
  const std::vector<SignerFact>& facts = statement.fact->signers;
  SignerState best = SignerState::kRejected;
  for (std::size_t i = 0; i < facts.size() && i < statement.signers.size(); ++i) {
    if (facts[i].key.id != key) {
      continue;
    }
    const SignerState state = counts(facts[i].key.identity, statement.signers[i].state);
    if (state == SignerState::kCounts || best == SignerState::kRejected) {
      best = state;
    }
  }
  return best;
}

}  // namespace

JudgedEvidence judge_evidence(const StatementCondition& condition, const JudgedStatement& statement,
                              Timestamp now, const Excluded& excluded) {
  const std::vector<std::string>& listed = condition.signers.identities;
  const auto counts = [&](const std::string& identity, SignerState state) {
    const bool asked =
        is_considered(condition, identity) && (listed.empty() || contains(listed, identity));
    if (!asked || excluded.surely.contains(identity)) {
      return SignerState::kRejected;
    }
    return state == SignerState::kCounts && excluded.perhaps.contains(identity)
               ? SignerState::kUndecided
               : state;
  };
  return judge_evidence(*condition.evidence, counts, statement, now);
}

JudgedEvidence judge_evidence(const EvidenceDemands& demands, const SignerCounts& counts,
                              const JudgedStatement& statement, Timestamp now) {
  std::vector<const StageEvidenceFact*> facts;
  for (const StageEvidenceFact& fact : statement.fact->evidence) {
    facts.push_back(&fact);
  }
  // The order of the facts must not change the answer.
  std::sort(facts.begin(), facts.end(), [](const auto* a, const auto* b) {
    return std::tie(a->key, a->type, a->accepted_at) < std::tie(b->key, b->type, b->accepted_at);
  });
  std::optional<JudgedEvidence> best;
  for (const StageEvidenceFact* fact : facts) {
    const SignerState state = state_of(counts, statement, fact->key);
    if (state == SignerState::kRejected) {
      continue;
    }
    const Examined examined(demands, *fact, now);
    JudgedEvidence one{examined.outcome(), examined.code(), examined.actual()};
    if (state == SignerState::kUndecided && one.outcome == Outcome::kPass) {
      one.outcome = Outcome::kError;
    }
    if (!best || rank(one.outcome) < rank(best->outcome)) {
      best = std::move(one);
    }
  }
  return best ? *std::move(best)
              : JudgedEvidence{Outcome::kFail, Reason::kStageEvidenceMissing, nullptr};
}

std::vector<std::string> lint_evidence(const std::optional<EvidenceDemands>& demands) {
  std::vector<std::string> warnings;
  if (!demands) {
    return warnings;
  }
  warnings = lint_boot(demands->boot);
  if (demands->allow_missing_reference_values) {
    warnings.emplace_back(
        "accepts evidence without reference values: anybody can rent such a machine");
  }
  if (!demands->anchors.empty()) {
    warnings.emplace_back(
        "accepts evidence under anchors beside the vendor's, which need not be of any hardware");
  }
  if (demands->appraised == AppraisedWhen::kThen) {
    warnings.emplace_back(
        "only the first appraisal counts: what became known of the platform later is ignored");
  }
  if ((demands->appraised == AppraisedWhen::kNow && !demands->tcb_status_then.empty()) ||
      (demands->appraised == AppraisedWhen::kThen && !demands->tcb_status_now.empty())) {
    warnings.emplace_back("lists statuses of an appraisal that does not count");
  }
  return warnings;
}

}  // namespace assay::policy
