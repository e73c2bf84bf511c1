// SPDX-License-Identifier: Apache-2.0
// Conditions on manifests, statements and parameters, and what they are worth to a `not`.
#include <algorithm>
#include <map>

#include "tests/support/policy_reference_case.h"
#include "tests/support/policy_reference_predicates.h"

namespace assay::policy::reference {
namespace {

bool enough(const std::set<std::string>& identities, const SignerRequirement& requirement) {
  std::size_t listed = 0;
  for (const std::string& identity : identities) {
    const auto& list = requirement.identities;
    if (list.empty() || std::find(list.begin(), list.end(), identity) != list.end()) {
      ++listed;
    }
  }
  return listed >= requirement.at_least;
}

bool is_listed(const std::string& identity, const SignerRequirement& requirement) {
  const auto& list = requirement.identities;
  return list.empty() || std::find(list.begin(), list.end(), identity) != list.end();
}

// Everything that is asked of one statement.
std::vector<Tested> tests(const StatementCondition& condition, const StatementFact& statement,
                          Timestamp now) {
  if (statement.accepted_at > now) {
    return {{Truth::kUnknown, Reason::kConditionUndecided}};
  }
  std::vector<Tested> list;
  for (const PredicateTest& test : condition.where) {
    list.push_back(judge_test(test, statement.predicate, now));
  }
  if (condition.max_age_seconds) {
    const auto age = now - statement.accepted_at;
    list.push_back(
        {truth(age <= std::chrono::seconds(*condition.max_age_seconds)), Reason::kStatementStale});
  }
  return list;
}

bool is_named(const StatementCondition& condition, const SignerFact& signer) {
  const auto& list = condition.considered;
  return list.empty() || std::find(list.begin(), list.end(), signer.key.identity) != list.end();
}

bool holds(const std::set<std::string>& all, const std::set<std::string>& part) {
  return std::includes(all.begin(), all.end(), part.begin(), part.end());
}

// True when some parameters condition lists patterns, outside of every `not`.
bool lists_patterns(const Condition& condition) {
  const auto any_of = [](const std::vector<Condition>& parts) {
    return std::any_of(parts.begin(), parts.end(), lists_patterns);
  };
  if (const auto* parameters = std::get_if<ParametersCondition>(&condition.kind)) {
    return parameters->ignore.has_value();
  }
  if (const auto* all = std::get_if<AllCondition>(&condition.kind)) {
    return any_of(all->of);
  }
  if (const auto* any = std::get_if<AnyCondition>(&condition.kind)) {
    return any_of(any->of);
  }
  const auto* at_least = std::get_if<AtLeastCondition>(&condition.kind);
  return at_least != nullptr && any_of(at_least->of);
}

}  // namespace

const Tested* first(const std::vector<Tested>& list, Truth wanted) {
  for (const Tested& one : list) {
    if (one.holds == wanted) {
      return &one;
    }
  }
  return nullptr;
}

bool is_about_the_thing_itself(Reason code) {
  return code == Reason::kPredicateMismatch || code == Reason::kParametersMismatch ||
         code == Reason::kModelMismatch || code == Reason::kTcbNotAccepted ||
         code == Reason::kRequesterMismatch || code == Reason::kOutsideWindow ||
         code == Reason::kAncestorDenied || code == Reason::kLicenceNotAllowed;
}

Answer Case::judge(const ManifestCondition& condition) const {
  const Outcome outcome = in_every_world([&](World& world) {
    std::set<std::string> identities;
    for (const ManifestFact& manifest : facts.manifests) {
      for (const SignerFact& signer : manifest.statement.signers) {
        if (world.decide(counts_on(signer, manifest))) {
          identities.insert(signer.key.identity);
        }
      }
    }
    return enough(identities, condition.signers);
  });
  if (outcome != Outcome::kFail) {
    return answer(outcome, Reason::kConditionUndecided);
  }
  if (facts.manifests.empty()) {
    return answer(outcome, Reason::kManifestMissing);
  }
  std::set<Reason> reasons;
  for (const ManifestFact& manifest : facts.manifests) {
    for (const SignerFact& signer : manifest.statement.signers) {
      std::optional<Reason> why =
          Reason::kConditionDeferred;  // no reason at all: it counts, or might
      (void)counts_on(signer, manifest, &why);
      if (is_listed(signer.key.identity, condition.signers)) {
        reasons.insert(*why);
      }
    }
  }
  const bool one = reasons.size() == 1 && !reasons.contains(Reason::kConditionDeferred);
  return answer(outcome, one ? *reasons.begin() : Reason::kSignersInsufficient);
}

std::vector<Tested> Case::asked_of(const StatementCondition& condition,
                                   const StatementFact& statement, const Others& others) const {
  std::vector<Tested> list = tests(condition, statement, now);
  if (condition.evidence && statement.accepted_at <= now) {
    list.push_back(evidence_of(condition, statement, others));
  }
  return list;
}

// Why nobody stands behind a statement of the kind.
Reason Case::why_none(const StatementCondition& condition) const {
  std::set<Reason> reasons;
  for (const StatementFact& statement : facts.statements) {
    for (const SignerFact& signer : statement.signers) {
      if (statement.predicate_type == condition.predicate_type &&
          statement.stage == condition.stage && is_listed(signer.key.identity, condition.signers) &&
          is_named(condition, signer)) {
        reasons.insert(why_not(signer, statement));
      }
    }
  }
  return reasons == std::set{Reason::kStatementWithdrawn} ? Reason::kStatementWithdrawn
                                                          : Reason::kStatementMissing;
}

// When somebody whom the condition considers last put a name below the statement.
Timestamp Case::last_said(const StatementCondition& condition, const StatementFact& statement,
                          bool counted) const {
  Timestamp last = Timestamp::min();
  for (const SignerFact& signer : statement.signers) {
    if (is_named(condition, signer) && (!counted || counts(signer, statement) != Truth::kNo)) {
      last = std::max(last, signer.signed_at);
    }
  }
  return last;
}

// In log order; with `latest` the one that was signed last.
std::vector<StatementFact> Case::asked_about(const StatementCondition& condition) const {
  std::vector<StatementFact> statements;
  for (const StatementFact& statement : facts.statements) {
    bool somebody = false;
    for (const SignerFact& signer : statement.signers) {
      somebody =
          somebody || (is_named(condition, signer) && counts(signer, statement) != Truth::kNo);
    }
    if (somebody && statement.predicate_type == condition.predicate_type &&
        statement.stage == condition.stage) {
      statements.push_back(statement);
    }
  }
  std::sort(statements.begin(), statements.end(),
            [](const auto& a, const auto& b) { return a.log_index < b.log_index; });
  if (condition.quantifier == Quantifier::kLatest && !statements.empty()) {
    std::stable_sort(statements.begin(), statements.end(), [&](const auto& a, const auto& b) {
      return last_said(condition, a, true) < last_said(condition, b, true);
    });
    statements = {statements.back()};
  }
  return statements;
}

// With `latest`: those whose last word is about another statement of the kind than `kept`.
std::set<std::string> Case::who_moved_on(const StatementCondition& condition,
                                         const StatementFact& kept, bool counted) const {
  std::map<std::string, std::pair<Timestamp, std::uint64_t>> words;
  for (const StatementFact& statement : facts.statements) {
    for (const SignerFact& signer : statement.signers) {
      if (statement.predicate_type == condition.predicate_type &&
          statement.stage == condition.stage && is_named(condition, signer) &&
          (!counted || counts(signer, statement) != Truth::kNo)) {
        auto& word = words[signer.key.identity];
        word = std::max(word, {signer.signed_at, statement.log_index});
      }
    }
  }
  std::set<std::string> others;
  for (const auto& [identity, word] : words) {
    if (condition.quantifier == Quantifier::kLatest && word.second != kept.log_index) {
      others.insert(identity);
    }
  }
  return others;
}

Truth Case::as_required(const StatementCondition& condition, const StatementFact& statement) const {
  const auto list = asked_of(condition, statement);
  if (first(list, Truth::kNo) != nullptr) {
    return Truth::kNo;
  }
  return first(list, Truth::kUnknown) != nullptr ? Truth::kUnknown : Truth::kYes;
}

Answer Case::judge(const StatementCondition& condition) const {
  const std::vector<StatementFact> statements = asked_about(condition);
  if (statements.empty()) {
    return answer(Outcome::kFail, why_none(condition));
  }
  Others others = others_of(condition.signers);
  for (const std::string& identity : who_moved_on(condition, statements.back(), true)) {
    others.known[identity] = Truth::kYes;
  }
  const bool any = condition.quantifier == Quantifier::kAny;
  const Outcome outcome = in_every_world([&](World& world) {
    std::set<std::string> identities;
    bool all = true;
    for (const StatementFact& statement : statements) {
      bool holds = true;
      for (const Tested& test : asked_of(condition, statement, others)) {
        holds = world.decide(test.holds) && holds;
      }
      all = all && holds;
      for (const SignerFact& signer : statement.signers) {
        const bool other = world.decide(others.has(signer.key.identity));
        if (world.decide(counts(signer, statement)) && holds && !other &&
            is_named(condition, signer)) {
          identities.insert(signer.key.identity);
        }
      }
    }
    return (any || all) && enough(identities, condition.signers);
  });
  std::optional<Reason> failed;
  std::optional<Reason> unknown;
  bool one_passed = false;
  for (const StatementFact& statement : statements) {
    const auto list = asked_of(condition, statement, others);
    if (const Tested* no = first(list, Truth::kNo)) {
      failed = failed ? failed : no->code;
    } else if (const Tested* maybe = first(list, Truth::kUnknown)) {
      unknown = unknown ? unknown : maybe->code;
    } else {
      one_passed = true;
    }
  }
  if (outcome == Outcome::kError) {
    return answer(outcome, unknown.value_or(Reason::kConditionUndecided));
  }
  if (outcome == Outcome::kPass && others.unknown) {
    return answer(Outcome::kError, Reason::kSignersRelationUnknown);
  }
  const bool tests_decide = failed && (!any || !one_passed);
  return answer(outcome, tests_decide ? *failed : Reason::kSignersInsufficient);
}

// What the manifests of this very root say; one of them is what the root binds.
std::set<Case::Bound> Case::bound_parameters() const {
  std::set<Bound> found;
  for (const ManifestFact& manifest : facts.manifests) {
    const bool of_this_root =
        facts.artifact && facts.artifact->root().algorithm() == manifest.parameters.hash;
    if (of_this_root) {
      const TreeParameters& tree = manifest.parameters;
      found.emplace(name(tree.hash), tree.chunk_size,
                    std::set<std::string>(tree.ignore.begin(), tree.ignore.end()),
                    tree.follow_symlinks, name(manifest.objects));
    }
  }
  return found;
}

Reason Case::why_unbound() const {
  bool withdrawn = false;
  bool standing = false;
  for (const ManifestFact& manifest : facts.manifests) {
    if (facts.artifact && facts.artifact->root().algorithm() == manifest.parameters.hash) {
      (taken_back(manifest.statement) ? withdrawn : standing) = true;
    }
  }
  return withdrawn && !standing ? Reason::kStatementWithdrawn : Reason::kConditionUndecided;
}

Answer Case::judge(const ParametersCondition& condition) const {
  const std::set<Bound> found = bound_parameters();
  if (found.size() != 1 || why_unbound() == Reason::kStatementWithdrawn) {
    return answer(Outcome::kError, why_unbound());
  }
  const auto& [hash, size, ignore, links, objects] = *found.begin();
  const auto& h = condition.hash;
  const auto& s = condition.chunk_size;
  bool fits = (h.empty() || std::count(h.begin(), h.end(), hash) > 0) &&
              (s.empty() || std::count(s.begin(), s.end(), size) > 0);
  if (condition.ignore) {
    fits = fits && holds({condition.ignore->begin(), condition.ignore->end()}, ignore);
  }
  if (condition.objects) {
    fits = fits && (objects == "both" || objects == name(*condition.objects));
  }
  if (fits && !condition.formats.empty()) {
    std::set<ModelFormat> formats;
    bool known = false;
    for (const ManifestFact& manifest : facts.manifests) {
      if (facts.artifact->root().algorithm() == manifest.parameters.hash &&
          !taken_back(manifest.statement) && manifest.formats) {
        known = true;
        formats.insert(manifest.formats->begin(), manifest.formats->end());
      }
    }
    if (!known) {
      return answer(Outcome::kError, Reason::kConditionUndecided);
    }
    const std::set<ModelFormat> accepted(condition.formats.begin(), condition.formats.end());
    fits = std::includes(accepted.begin(), accepted.end(), formats.begin(), formats.end());
  }
  return answer(fits ? Outcome::kPass : Outcome::kFail, Reason::kParametersMismatch);
}

// What every policy asks that does not list patterns itself.
std::optional<Answer> Case::judge_implied(const std::vector<Condition>& require) const {
  if (!facts.artifact || std::any_of(require.begin(), require.end(), lists_patterns)) {
    return std::nullopt;
  }
  Answer result = answer(Outcome::kError, why_unbound());
  const std::set<Bound> found = bound_parameters();
  if (facts.manifests.empty()) {
    result = answer(Outcome::kFail, Reason::kManifestMissing);
  } else if (found.size() == 1 && why_unbound() != Reason::kStatementWithdrawn) {
    const bool fits =
        holds({"/.git", "/model.assay.json", "/model.assay.json.times", "/model.assay.outline"},
              std::get<2>(*found.begin()));
    result = answer(fits ? Outcome::kPass : Outcome::kFail, Reason::kParametersMismatch);
  }
  result.id = "ignore-accepted";
  return result;
}

// --- below a `not`

Reason Case::why_not(const SignerFact& signer, const StatementFact& statement) const {
  std::optional<Reason> why;
  if (taken_back(statement, signer)) {
    return Reason::kStatementWithdrawn;
  }
  for (const std::string& name : names()) {
    std::optional<Reason> here;
    (void)counts(signer, {KeyPurpose::kSigner, statement.stage, statement.predicate_type, name},
                 &here);
    const bool says_more = here && *here != Reason::kRoleNotGranted;
    why = says_more || !why ? here : why;
  }
  for (const std::string& name : names_in(statement)) {
    std::optional<Reason> here;
    (void)counts(signer, {KeyPurpose::kSigner, statement.stage, statement.predicate_type, name},
                 &here);
    why = why ? why : here;
  }
  return why.value_or(Reason::kConditionDeferred);
}

Heard Case::hear(const StatementCondition& condition, const StatementFact& statement,
                 const Others& others) const {
  std::map<std::string, Reason> reasons;
  bool somebody = false;
  for (const SignerFact& signer : statement.signers) {
    if (!is_named(condition, signer)) {
      continue;
    }
    somebody = somebody || counts(signer, statement) != Truth::kNo;
    const Reason why = why_not(signer, statement);
    reasons.emplace(info(why).code, why);
  }
  if (!somebody) {
    return {Heard::kUnknown, reasons.empty() ? Reason::kStatementMissing : reasons.begin()->second};
  }
  const auto list = asked_of(condition, statement, others);
  for (const Tested& one : list) {
    if (one.holds == Truth::kNo && one.code == Reason::kStatementStale) {
      return {Heard::kUnknown, one.code};
    }
  }
  // Whatever a statement says without the evidence that is asked for shows nothing.
  if (condition.evidence && statement.accepted_at <= now && list.back().holds != Truth::kYes) {
    return {Heard::kUnknown, list.back().code};
  }
  if (first(list, Truth::kNo) != nullptr) {
    return {Heard::kOtherwise, {}};
  }
  const Tested* unknown = first(list, Truth::kUnknown);
  return unknown == nullptr ? Heard{} : Heard{Heard::kUnknown, unknown->code};
}

// A statement condition that failed is wrong for good when enough listed identities say otherwise;
// with `any`, only if no listed identity says, or may have said, what is asked for.
Answer Case::turned(const StatementCondition& condition, const Answer& plain) const {
  if (plain.outcome != Outcome::kFail) {
    return plain;
  }
  std::map<std::uint64_t, const StatementFact*> all;
  for (const StatementFact& statement : facts.statements) {
    const bool named =
        condition.considered.empty() ||
        std::any_of(statement.signers.begin(), statement.signers.end(),
                    [&](const SignerFact& signer) { return is_named(condition, signer); });
    if (named && statement.predicate_type == condition.predicate_type &&
        statement.stage == condition.stage) {
      all[statement.log_index] = &statement;
    }
  }
  if (condition.quantifier == Quantifier::kLatest && !all.empty()) {
    const auto last = std::max_element(all.begin(), all.end(), [&](const auto& a, const auto& b) {
      return std::pair(last_said(condition, *a.second, false), a.first) <
             std::pair(last_said(condition, *b.second, false), b.first);
    });
    all = {*last};
  }
  Others excluded = others_of(condition.signers);
  if (!all.empty()) {
    for (const std::string& identity : who_moved_on(condition, *all.rbegin()->second, false)) {
      excluded.known[identity] = Truth::kYes;
    }
  }
  std::set<std::string> against;
  std::set<std::string> others;
  std::optional<Reason> why;
  if (excluded.unknown) {
    why = Reason::kSignersRelationUnknown;
  }
  for (const auto& [index, statement] : all) {
    const Heard heard = hear(condition, *statement, excluded);
    why = why ? why : heard.why;
    for (const SignerFact& signer : statement->signers) {
      const Truth other = excluded.has(signer.key.identity);
      if (!is_named(condition, signer) || other == Truth::kYes) {
        continue;
      }
      if (heard.says != Heard::kOtherwise) {
        others.insert(signer.key.identity);
      } else if (counts(signer, *statement) == Truth::kYes && other == Truth::kNo) {
        against.insert(signer.key.identity);
      }
    }
  }
  SignerRequirement one = condition.signers;
  one.at_least = 1;
  const bool contested = condition.quantifier == Quantifier::kAny && enough(others, one);
  if (enough(against, condition.signers) && !contested && !excluded.unknown) {
    return answer(Outcome::kFail, Reason::kPredicateMismatch);
  }
  return answer(Outcome::kError, is_about_the_thing_itself(*plain.code)
                                     ? why.value_or(Reason::kSignersInsufficient)
                                     : *plain.code);
}

}  // namespace assay::policy::reference
