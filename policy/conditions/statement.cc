// SPDX-License-Identifier: Apache-2.0
// Conditions about statements: who said what about the artifact, how often, and how long ago.
#include "policy/compare.h"
#include "policy/conditions.h"
#include "policy/conditions/age.h"
#include "policy/conditions/checks.h"
#include "policy/conditions/relations.h"
#include "policy/conditions/stage_evidence.h"
#include "policy/conditions/statement_tally.h"

namespace assay::policy {
namespace {

// Failures that an explanation names; of more it says how many there are.
constexpr std::size_t kMaxFailures = 16;

// What one statement comes to, before anybody counts who signed it.
struct Judged {
  const JudgedStatement* statement;
  Outcome outcome;  // pass, fail or error
  Reason code;      // of the first test that decided, unless the outcome is pass
};

// What an explanation says of failures.
struct Failures {
  Json first = Json::array();
  std::size_t count = 0;
};

// Gathers the tests of one statement that do not hold.
class Examination {
 public:
  Examination(const StatementFact& fact, Failures& failures) : fact_(fact), failures_(failures) {}

  void note(Outcome outcome, Reason code, Json failure) {
    if (++failures_.count <= kMaxFailures) {
      failure["statement"] = fact_.id.text();
      failure["code"] = info(code).code;
      failures_.first.push_back(std::move(failure));
    }
    // The first failure decides; an error only as long as nothing failed.
    if (outcome_ == Outcome::kPass || (outcome_ == Outcome::kError && outcome == Outcome::kFail)) {
      outcome_ = outcome;
      code_ = code;
    }
  }
  [[nodiscard]] Outcome outcome() const { return outcome_; }
  [[nodiscard]] Reason code() const { return code_; }

 private:
  const StatementFact& fact_;
  Failures& failures_;
  Outcome outcome_ = Outcome::kPass;
  Reason code_ = Reason::kConditionUndecided;
};

void examine_age(const StatementCondition& condition, const StatementFact& fact, Timestamp now,
                 Examination& examination) {
  if (condition.max_age_seconds && is_older(fact.accepted_at, *condition.max_age_seconds, now)) {
    examination.note(Outcome::kFail, Reason::kStatementStale,
                     {{"max_age_seconds", *condition.max_age_seconds},
                      {"age_seconds", age_seconds(fact.accepted_at, now)}});
  }
}

void examine_evidence(const StatementCondition& condition, const JudgedStatement& statement,
                      Timestamp now, const Excluded& excluded, Examination& examination) {
  if (!condition.evidence) {
    return;
  }
  JudgedEvidence judged = judge_evidence(condition, statement, now, excluded);
  if (judged.outcome != Outcome::kPass) {
    examination.note(judged.outcome, judged.code, {{"evidence", std::move(judged.actual)}});
  }
}

Judged examine(const StatementCondition& condition, const JudgedFacts& facts,
               const JudgedStatement& statement, Timestamp now, const Excluded& excluded,
               Failures& failures) {
  const StatementFact& fact = *statement.fact;
  Examination examination(fact, failures);
  if (fact.accepted_at > now) {
    examination.note(Outcome::kError, Reason::kConditionUndecided,
                     {{"accepted_at", to_rfc3339(fact.accepted_at)}});
    return {&statement, examination.outcome(), examination.code()};
  }
  for (const PredicateTest& test : condition.where) {
    TestOutcome tested = test_of(facts, fact, test);
    if (tested.outcome == Outcome::kPass) {
      continue;
    }
    Json failure = expected_of(test);
    if (tested.code != Reason::kValueMissing) {
      failure["actual"] = std::move(tested.actual);
    }
    examination.note(tested.outcome, tested.code.value_or(Reason::kConditionUndecided),
                     std::move(failure));
  }
  examine_age(condition, fact, now, examination);
  examine_evidence(condition, statement, now, excluded, examination);
  return {&statement, examination.outcome(), examination.code()};
}

const Judged* first(const std::vector<Judged>& judged, Outcome outcome) {
  for (const Judged& one : judged) {
    if (one.outcome == outcome) {
      return &one;
    }
  }
  return nullptr;
}

void set(ConditionResult& result, Outcome outcome, Reason code) {
  result.outcome = outcome;
  result.code = outcome == Outcome::kPass ? std::nullopt : std::optional(code);
}

// Statements that fail decide alone for `every` (and `latest`, which judges one); otherwise it is a
// matter of how many identities stand behind those that pass.
void conclude(const StatementCondition& condition, const std::vector<Judged>& judged,
              const Tally& tally, ConditionResult& result) {
  const Judged* failed = first(judged, Outcome::kFail);
  const Judged* undecided = first(judged, Outcome::kError);
  if (condition.quantifier != Quantifier::kAny && failed != nullptr) {
    set(result, Outcome::kFail, failed->code);
    return;
  }
  Outcome outcome = tally.outcome();
  if (outcome == Outcome::kPass && condition.quantifier != Quantifier::kAny &&
      undecided != nullptr) {
    outcome = Outcome::kError;
  }
  if (outcome == Outcome::kError) {
    set(result, outcome, undecided ? undecided->code : Reason::kConditionUndecided);
    return;
  }
  const bool none_passed = first(judged, Outcome::kPass) == nullptr;
  set(result, outcome,
      failed != nullptr && none_passed ? failed->code : Reason::kSignersInsufficient);
}

Json expected_statement(const StatementCondition& condition, const Tally& tally) {
  Json expected = tally.expected();
  expected["predicate_type"] = condition.predicate_type;
  if (!condition.stage.empty()) {
    expected["stage"] = condition.stage;
  }
  expected["quantifier"] = name(condition.quantifier);
  if (!condition.considered.empty()) {
    expected["considered"] = condition.considered;
  }
  if (!condition.signers.none_of.empty()) {
    expected["none_of"] = condition.signers.none_of;
  }
  if (condition.evidence) {
    expected["evidence"] = to_json(*condition.evidence);
  }
  return expected;
}

// The statements of the kind that are considered, and of them those that somebody stands behind.
struct Candidates {
  std::vector<const JudgedStatement*> list;
  std::vector<const JudgedStatement*> withdrawn;
  Names elsewhere;  // for `latest`: who signed another one later
  std::size_t not_considered = 0;
};

Candidates candidates_of(const StatementCondition& condition, const JudgedFacts& facts,
                         Tally& tally) {
  Candidates candidates;
  const auto* group = facts.index->group(condition.predicate_type, condition.stage);
  if (group == nullptr) {
    return candidates;
  }
  candidates.list.reserve(group->members.size());
  for (const std::size_t i : group->members) {
    const JudgedStatement& statement = facts.statements[i];
    tally.note_rejected(statement);
    if (has_considered_signer(condition, statement)) {
      candidates.list.push_back(&statement);
    } else if (statement.has_signer()) {
      ++candidates.not_considered;
    } else if (statement.fact->withdrawn) {
      candidates.withdrawn.push_back(&statement);
    }
  }
  candidates.elsewhere = keep_latest(condition, false, candidates.list);
  return candidates;
}

std::vector<Judged> examine_all(const StatementCondition& condition, const Scope& scope,
                                const Candidates& candidates, const Excluded& excluded,
                                Failures& failures, Tally& tally) {
  std::vector<Judged> judged;
  judged.reserve(candidates.list.size());
  for (const JudgedStatement* candidate : candidates.list) {
    judged.push_back(examine(condition, scope.facts, *candidate, scope.now, excluded, failures));
    if (judged.back().outcome == Outcome::kPass) {
      tally.add(*candidate);
    } else if (judged.back().outcome == Outcome::kError) {
      tally.add_undecided(*candidate);
    }
  }
  return judged;
}

void add_actual(const StatementCondition& condition, const Candidates& candidates,
                Failures& failures, ConditionResult& result) {
  result.actual["statements"] = candidates.list.size();
  if (!condition.considered.empty()) {
    result.actual["not_considered"] = candidates.not_considered;
  }
  if (!candidates.withdrawn.empty()) {
    result.actual["withdrawn"] = withdrawn_among(candidates.withdrawn);
  }
  if (failures.count > 0) {
    result.actual["failures"] = std::move(failures.first);
  }
  if (failures.count > kMaxFailures) {
    result.actual["failures_count"] = failures.count;
  }
}

}  // namespace

Tally tally_of(const StatementCondition& condition, const Scope& scope) {
  Tally tally(condition.signers);
  tally.consider(condition.considered);
  Failures failures;
  // Who said something else since counts here: that takes away his word, not that he took part.
  const Candidates candidates = candidates_of(condition, scope.facts, tally);
  examine_all(condition, scope, candidates, {}, failures, tally);
  return tally;
}

ConditionResult judge(const StatementCondition& condition, const Scope& scope) {
  ConditionResult result{{}, Outcome::kFail, Reason::kStatementMissing, nullptr, nullptr, {}, {}};
  Tally tally(condition.signers);
  tally.consider(condition.considered);
  Excluded excluded = excluded_by(condition.signers, scope);
  const auto* group = scope.facts.index->group(condition.predicate_type, condition.stage);
  if (group != nullptr) {
    result.evidence = group->evidence;
  }
  const Candidates candidates = candidates_of(condition, scope.facts, tally);
  excluded.surely.insert(candidates.elsewhere.begin(), candidates.elsewhere.end());
  tally.exclude(excluded.surely, excluded.perhaps);
  Failures failures;
  const std::vector<Judged> judged =
      examine_all(condition, scope, candidates, excluded, failures, tally);
  if (!judged.empty()) {
    conclude(condition, judged, tally, result);
  } else if (tally.failure() == Reason::kStatementWithdrawn) {
    result.code = Reason::kStatementWithdrawn;
  }
  if (excluded.unknown && result.outcome == Outcome::kPass) {
    set(result, Outcome::kError, Reason::kSignersRelationUnknown);
  }
  result.expected = expected_statement(condition, tally);
  result.actual = tally.actual();
  add_actual(condition, candidates, failures, result);
  return result;
}

}  // namespace assay::policy
