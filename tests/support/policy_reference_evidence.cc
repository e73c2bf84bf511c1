// SPDX-License-Identifier: Apache-2.0
// The second evaluator: stage evidence.
#include <map>

#include "tests/support/policy_reference_boot.h"
#include "tests/support/policy_reference_case.h"

namespace assay::policy::reference {
namespace {

bool among(const std::vector<std::string>& list, const std::string& value) {
  return std::set<std::string>(list.begin(), list.end()).contains(value);
}

// Everything that is asked of one piece, in the order of the documentation.
std::vector<Tested> asked(const EvidenceDemands& demands, const StageEvidenceFact& piece,
                          Timestamp now) {
  std::vector<Tested> list;
  const auto ask = [&](bool holds, Reason code) { list.push_back({truth(holds), code}); };
  if (!demands.type.empty()) {
    ask(piece.type == demands.type, Reason::kStageEvidenceMissing);
  }
  const bool then = demands.appraised == AppraisedWhen::kThen;
  const bool later = demands.appraised == AppraisedWhen::kNow;
  if (!later) {
    ask(piece.error_then.empty(), Reason::kStageEvidenceRejected);
    ask(demands.tcb_status_then.empty() || among(demands.tcb_status_then, piece.status_then),
        Reason::kStageTcbNotAccepted);
  }
  if (!then) {
    const bool ended = piece.valid_until && *piece.valid_until <= now;
    ask(piece.current && !ended, Reason::kStageEvidenceStale);
    ask(piece.error_now.empty(), Reason::kStageEvidenceRejected);
    ask(demands.tcb_status_now.empty() || among(demands.tcb_status_now, piece.status_now),
        Reason::kStageTcbNotAccepted);
  }
  const bool named = piece.anchor && among(demands.anchors, piece.anchor->text());
  ask((piece.anchor && piece.anchor_is_vendor) || named, Reason::kStageAnchorNotAccepted);
  std::size_t constrained = 0;
  for (const auto& [name, values] : demands.reference_values) {
    constrained += name != "rtmr3" && !values.empty() ? 1U : 0U;
  }
  ask(piece.has_reference_values || demands.allow_missing_reference_values || constrained == 4,
      Reason::kStageReferencesMissing);
  for (const auto& [name, values] : demands.reference_values) {
    const auto measured = piece.measurements.find(name);
    const std::string value = measured == piece.measurements.end() ? "?" : measured->second;
    ask(values.empty() || among(values, value), Reason::kStageMeasurementsMismatch);
  }
  if (demands.boot) {
    const Started started = started_as(*demands.boot, piece.boot);
    ask(started.said, Reason::kStageEventLogMissing);
    ask(started.as_asked, Reason::kStageBootMismatch);
  }
  if (demands.max_age_seconds) {
    ask(now - piece.accepted_at <= std::chrono::seconds(*demands.max_age_seconds),
        Reason::kStageEvidenceStale);
  }
  if (demands.made_within_seconds) {
    ask(piece.made_after && piece.accepted_at - *piece.made_after <=
                                std::chrono::seconds(*demands.made_within_seconds),
        Reason::kStageEvidenceNotFresh);
  }
  if (piece.accepted_at > now || (piece.made_after && *piece.made_after > now)) {
    list.push_back({Truth::kUnknown, Reason::kConditionUndecided});
  }
  return list;
}

}  // namespace

Tested Case::evidence_of(const StatementCondition& condition, const StatementFact& statement,
                         const Others& others) const {
  return evidence_of(*condition.evidence, statement, [&](const SignerFact& signer) {
    const auto& who = condition.signers.identities;
    const std::string& identity = signer.key.identity;
    const Truth other = others.has(identity);
    if ((!who.empty() && !among(who, identity)) || other == Truth::kYes ||
        (!condition.considered.empty() && !among(condition.considered, identity))) {
      return Truth::kNo;
    }
    const Truth one = counts(signer, statement);
    return one == Truth::kYes && other == Truth::kUnknown ? Truth::kUnknown : one;
  });
}

Tested Case::evidence_of(const EvidenceDemands& demands, const StatementFact& statement,
                         const std::function<Truth(const SignerFact&)>& stands) const {
  std::map<std::string, const StageEvidenceFact*> pieces;
  for (const StageEvidenceFact& piece : statement.evidence) {
    pieces[piece.key.text() + piece.type] = &piece;
  }
  std::map<Truth, Tested> found;
  for (const auto& [name, piece] : pieces) {
    Truth behind = Truth::kNo;
    for (const SignerFact& signer : statement.signers) {
      const Truth one = signer.key.id == piece->key ? stands(signer) : Truth::kNo;
      behind = behind == Truth::kYes || one == Truth::kNo ? behind : one;
    }
    if (behind == Truth::kNo) {
      continue;
    }
    const std::vector<Tested> list = asked(demands, *piece, now);
    const Tested* no = first(list, Truth::kNo);
    Tested one = no == nullptr ? Tested{Truth::kYes, Reason::kConditionUndecided} : *no;
    if (no == nullptr && (behind == Truth::kUnknown || first(list, Truth::kUnknown) != nullptr)) {
      one.holds = Truth::kUnknown;
    }
    found.emplace(one.holds, one);
  }
  for (const Truth best : {Truth::kYes, Truth::kUnknown, Truth::kNo}) {
    if (const auto one = found.find(best); one != found.end()) {
      return one->second;
    }
  }
  return {Truth::kNo, Reason::kStageEvidenceMissing};
}

}  // namespace assay::policy::reference
