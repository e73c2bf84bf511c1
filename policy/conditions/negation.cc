// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/negation.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "policy/compare.h"
#include "policy/conditions/age.h"
#include "policy/conditions/checks.h"
#include "policy/conditions/relations.h"
#include "policy/conditions/stage_evidence.h"

namespace assay::policy {
namespace {

// All codes that say that the thing was looked at and found to be otherwise. Every other code,
// those that will be added included, is an error below a `not`.
constexpr std::array kFoundWrong = {Reason::kPredicateMismatch, Reason::kParametersMismatch,
                                    Reason::kModelMismatch,     Reason::kTcbNotAccepted,
                                    Reason::kRequesterMismatch, Reason::kOutsideWindow,
                                    Reason::kAncestorDenied,    Reason::kLicenceNotAllowed};

bool found_wrong(Reason code) {
  return std::find(kFoundWrong.begin(), kFoundWrong.end(), code) != kFoundWrong.end();
}

bool found_wrong(std::string_view code) {
  return std::any_of(kFoundWrong.begin(), kFoundWrong.end(),
                     [code](Reason one) { return info(one).code == code; });
}

// Why a failure may not be turned round; nothing when it may.
using Doubt = std::optional<Reason>;

// --- Several demands on one fact (checks.h)

// A mismatch in a report that is stale, or a status of a node that is revoked, is not relied on.
bool only_found_wrong(const Json& actual) {
  const auto failed = actual.is_object() ? actual.find(kFailedMember) : actual.end();
  return failed != actual.end() && failed->is_array() && !actual.contains(kUndecidedMember) &&
         std::all_of(failed->begin(), failed->end(), [](const Json& code) {
           return code.is_string() && found_wrong(code.get_ref<const std::string&>());
         });
}

// --- Statements

// Whether the identity may be counted, but for relations.
bool listed(const StatementCondition& condition, std::string_view identity) {
  const auto& identities = condition.signers.identities;
  return is_considered(condition, identity) &&
         (identities.empty() ||
          std::find(identities.begin(), identities.end(), identity) != identities.end());
}

// Why nothing follows from what `statement` says: nobody stands behind it now, it is not of an age
// that the condition accepts, or it has no evidence as the condition demands.
Doubt unreliable(const StatementCondition& condition, const JudgedStatement& statement,
                 Timestamp now, const Excluded& excluded) {
  const StatementFact& fact = *statement.fact;
  if (!has_considered_signer(condition, statement)) {
    // Stored facts may have the signers in another order: that must not change the answer.
    std::map<std::string_view, Reason> codes;
    for (const JudgedSigner& signer : statement.signers) {
      if (is_considered(condition, signer.identity)) {
        codes.emplace(info(signer.code).code, signer.code);
      }
    }
    return codes.empty() ? Reason::kStatementMissing : codes.begin()->second;
  }
  if (fact.accepted_at > now) {
    return Reason::kConditionUndecided;
  }
  if (condition.max_age_seconds && is_older(fact.accepted_at, *condition.max_age_seconds, now)) {
    return Reason::kStatementStale;
  }
  if (condition.evidence) {
    const JudgedEvidence judged = judge_evidence(condition, statement, now, excluded);
    return judged.outcome == Outcome::kPass ? Doubt() : judged.code;
  }
  return std::nullopt;
}

struct Said {
  bool otherwise = false;  // a value was read, and is not as required
  Doubt unread;            // a value could not be read or compared
};

Said what_it_says(const StatementCondition& condition, const JudgedFacts& facts,
                  const StatementFact& fact) {
  Said said;
  for (const PredicateTest& test : condition.where) {
    const TestOutcome tested = test_of(facts, fact, test);
    said.otherwise = said.otherwise || tested.outcome == Outcome::kFail;
    if (tested.outcome == Outcome::kError && !said.unread) {
      said.unread = tested.code.value_or(Reason::kConditionUndecided);
    }
  }
  return said;
}

// The statements that decide: all of the kind, whether or not a signature still counts; for
// `latest` the last of them. A statement that was withdrawn may have said anything.
// `excluded` is given those who signed another one later.
std::vector<const JudgedStatement*> deciding(const StatementCondition& condition,
                                             const JudgedFacts& facts, Excluded& excluded) {
  std::vector<const JudgedStatement*> all;
  const auto* group = facts.index->group(condition.predicate_type, condition.stage);
  if (group == nullptr) {
    return all;
  }
  for (const std::size_t i : group->members) {
    const auto& signers = facts.statements[i].signers;
    if (condition.considered.empty() ||
        std::any_of(signers.begin(), signers.end(), [&](const JudgedSigner& signer) {
          return is_considered(condition, signer.identity);
        })) {
      all.push_back(&facts.statements[i]);
    }
  }
  excluded.surely.merge(keep_latest(condition, true, all));
  return all;
}

// Found wrong is a statement condition when as many identities as it asks for, of those that it
// lists, stand behind statements that say otherwise. For `any`, besides, no listed identity may
// have signed a statement that is as required, or of which that is not known.
Doubt doubt_about_statements(const StatementCondition& condition, const Scope& scope) {
  Excluded excluded = excluded_by(condition.signers, scope);
  const auto statements = deciding(condition, scope.facts, excluded);
  std::set<std::string_view> otherwise;
  bool maybe = false;
  Doubt why = excluded.unknown ? Doubt(Reason::kSignersRelationUnknown) : Doubt();
  for (const JudgedStatement* statement : statements) {
    Doubt here = unreliable(condition, *statement, scope.now, excluded);
    const Said said = here ? Said{} : what_it_says(condition, scope.facts, *statement->fact);
    if (!here && !said.otherwise) {
      here = said.unread;
    }
    why = why ? why : here;
    for (const JudgedSigner& signer : statement->signers) {
      if (!listed(condition, signer.identity) || excluded.surely.contains(signer.identity)) {
        continue;
      }
      if (!said.otherwise) {
        maybe = true;
      } else if (signer.state == SignerState::kCounts &&
                 !excluded.perhaps.contains(signer.identity)) {
        otherwise.insert(signer.identity);
      }
    }
  }
  const bool enough = otherwise.size() >= std::max<std::size_t>(condition.signers.at_least, 1);
  if (enough && !excluded.unknown && (condition.quantifier != Quantifier::kAny || !maybe)) {
    return std::nullopt;
  }
  return why.value_or(Reason::kSignersInsufficient);
}

}  // namespace

void judge_below_not(const Condition& condition, const Scope& scope, ConditionResult& result) {
  if (result.outcome != Outcome::kFail) {
    return;
  }
  const Reason code = result.code.value_or(Reason::kConditionUndecided);
  Doubt doubt = found_wrong(code) ? Doubt() : code;
  if (const auto* statement = std::get_if<StatementCondition>(&condition.kind)) {
    // `code` belongs to the first statement that fails; it may be stale, and another one decide.
    doubt = doubt_about_statements(*statement, scope);
    result.code = found_wrong(code) || !doubt ? doubt.value_or(Reason::kPredicateMismatch) : code;
  } else if (std::holds_alternative<NodeCondition>(condition.kind) ||
             std::holds_alternative<ReportCondition>(condition.kind) ||
             std::holds_alternative<LineageCondition>(condition.kind)) {
    if (!doubt && !only_found_wrong(result.actual)) {
      doubt = Reason::kConditionUndecided;
    }
    result.code = doubt.value_or(code);
  }
  if (doubt) {
    result.outcome = Outcome::kError;
  }
}

}  // namespace assay::policy
