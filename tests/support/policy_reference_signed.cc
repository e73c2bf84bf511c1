// SPDX-License-Identifier: Apache-2.0
// Conditions on manifests, statements and parameters, and what they are worth to a `not`.
#include <algorithm>
#include <map>

#include "tests/support/policy_reference_case.h"

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

// The value at an RFC 6901 pointer, by nlohmann's own implementation.
std::optional<Json> find(const Json& document, const std::string& pointer) {
  const Json::json_pointer place(pointer);
  return document.contains(place) ? std::optional(document.at(place)) : std::nullopt;
}

Truth compare(const Json& a, Comparison op, const Json& b) {
  if (op == Comparison::kIn) {
    Truth best = Truth::kUnknown;
    for (const Json& element : b) {
      const Truth one = compare(a, Comparison::kEqual, element);
      if (one == Truth::kYes) {
        return one;
      }
      best = one == Truth::kNo ? one : best;
    }
    return best;
  }
  if (a.is_number() && b.is_number()) {
    const auto x = a.get<long double>();
    const auto y = b.get<long double>();
    const bool holds[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
    return truth(holds[static_cast<std::size_t>(op)]);
  }
  const bool same = (a.is_string() && b.is_string()) || (a.is_boolean() && b.is_boolean()) ||
                    (a.is_null() && b.is_null());
  if (!same || (op != Comparison::kEqual && op != Comparison::kNotEqual)) {
    return Truth::kUnknown;
  }
  return truth((a.dump() == b.dump()) == (op == Comparison::kEqual));
}

// Everything that is asked of one statement.
std::vector<Tested> tests(const StatementCondition& condition, const StatementFact& statement,
                          Timestamp now) {
  if (statement.accepted_at > now) {
    return {{Truth::kUnknown, Reason::kConditionUndecided}};
  }
  std::vector<Tested> list;
  for (const PredicateTest& test : condition.where) {
    const auto value = find(statement.predicate, test.pointer);
    if (!value) {
      list.push_back({Truth::kUnknown, Reason::kValueMissing});
      continue;
    }
    const Truth holds = compare(*value, test.op, test.value);
    list.push_back({holds, holds == Truth::kUnknown ? Reason::kConditionUndecided
                                                    : Reason::kPredicateMismatch});
  }
  if (condition.max_age_seconds) {
    const auto age = now - statement.accepted_at;
    list.push_back(
        {truth(age <= std::chrono::seconds(*condition.max_age_seconds)), Reason::kStatementStale});
  }
  return list;
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
         code == Reason::kModelMismatch || code == Reason::kTcbNotAccepted;
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

// Why nobody stands behind a statement of the kind.
Reason Case::why_none(const StatementCondition& condition) const {
  std::set<Reason> reasons;
  for (const StatementFact& statement : facts.statements) {
    for (const SignerFact& signer : statement.signers) {
      if (statement.predicate_type == condition.predicate_type &&
          statement.stage == condition.stage && is_listed(signer.key.identity, condition.signers)) {
        reasons.insert(why_not(signer, statement));
      }
    }
  }
  return reasons == std::set{Reason::kStatementWithdrawn} ? Reason::kStatementWithdrawn
                                                          : Reason::kStatementMissing;
}

Answer Case::judge(const StatementCondition& condition) const {
  std::vector<StatementFact> statements;
  for (const StatementFact& statement : facts.statements) {
    bool somebody = false;
    for (const SignerFact& signer : statement.signers) {
      somebody = somebody || counts(signer, statement) != Truth::kNo;
    }
    if (somebody && statement.predicate_type == condition.predicate_type &&
        statement.stage == condition.stage) {
      statements.push_back(statement);
    }
  }
  if (statements.empty()) {
    return answer(Outcome::kFail, why_none(condition));
  }
  std::sort(statements.begin(), statements.end(),
            [](const auto& a, const auto& b) { return a.log_index < b.log_index; });
  if (condition.quantifier == Quantifier::kLatest) {
    statements = {statements.back()};
  }
  const bool any = condition.quantifier == Quantifier::kAny;
  const Outcome outcome = in_every_world([&](World& world) {
    std::set<std::string> identities;
    bool all = true;
    for (const StatementFact& statement : statements) {
      bool holds = true;
      for (const Tested& test : tests(condition, statement, now)) {
        holds = world.decide(test.holds) && holds;
      }
      all = all && holds;
      for (const SignerFact& signer : statement.signers) {
        if (world.decide(counts(signer, statement)) && holds) {
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
    const auto list = tests(condition, statement, now);
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
      (manifest.statement.withdrawn ? withdrawn : standing) = true;
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
  if (statement.withdrawn) {
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

Heard Case::hear(const StatementCondition& condition, const StatementFact& statement) const {
  std::map<std::string, Reason> reasons;
  bool somebody = false;
  for (const SignerFact& signer : statement.signers) {
    somebody = somebody || counts(signer, statement) != Truth::kNo;
    const Reason why = why_not(signer, statement);
    reasons.emplace(info(why).code, why);
  }
  if (!somebody) {
    return {Heard::kUnknown, reasons.empty() ? Reason::kStatementMissing : reasons.begin()->second};
  }
  const auto list = tests(condition, statement, now);
  for (const Tested& one : list) {
    if (one.holds == Truth::kNo && one.code == Reason::kStatementStale) {
      return {Heard::kUnknown, one.code};
    }
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
    if (statement.predicate_type == condition.predicate_type &&
        statement.stage == condition.stage) {
      all[statement.log_index] = &statement;
    }
  }
  while (condition.quantifier == Quantifier::kLatest && all.size() > 1) {
    all.erase(all.begin());
  }
  std::set<std::string> against;
  std::set<std::string> others;
  std::optional<Reason> why;
  for (const auto& [index, statement] : all) {
    const Heard heard = hear(condition, *statement);
    why = why ? why : heard.why;
    for (const SignerFact& signer : statement->signers) {
      if (heard.says != Heard::kOtherwise) {
        others.insert(signer.key.identity);
      } else if (counts(signer, *statement) == Truth::kYes) {
        against.insert(signer.key.identity);
      }
    }
  }
  SignerRequirement one = condition.signers;
  one.at_least = 1;
  const bool contested = condition.quantifier == Quantifier::kAny && enough(others, one);
  if (enough(against, condition.signers) && !contested) {
    return answer(Outcome::kFail, Reason::kPredicateMismatch);
  }
  return answer(Outcome::kError, is_about_the_thing_itself(*plain.code)
                                     ? why.value_or(Reason::kSignersInsufficient)
                                     : *plain.code);
}

}  // namespace assay::policy::reference
