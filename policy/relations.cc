// SPDX-License-Identifier: Apache-2.0
#include "policy/relations.h"

#include <algorithm>

#include "policy/statement_tests.h"

namespace assay::policy {
namespace {

// The manifest or statement condition with this id, wherever it stands.
const Condition* find(const std::vector<Condition>& conditions, std::string_view id, int depth) {
  for (const Condition& condition : conditions) {
    const std::vector<Condition>* parts = parts_of(condition);
    if (parts == nullptr && condition.id == id) {
      return &condition;
    }
    const Condition* inner =
        parts != nullptr && depth < kMaxConditionDepth ? find(*parts, id, depth + 1) : nullptr;
    if (inner != nullptr) {
      return inner;
    }
  }
  return nullptr;
}

void add(const Tally& tally, Excluded& excluded) {
  excluded.surely.insert(tally.counted().begin(), tally.counted().end());
  excluded.perhaps.insert(tally.undecided().begin(), tally.undecided().end());
  excluded.unknown = excluded.unknown || tally.counted().empty();
}

void add_manifest(const SignerRequirement& signers, const JudgedFacts& facts, Excluded& excluded) {
  Tally tally(signers);
  for (const JudgedStatement& statement : facts.manifest_statements) {
    tally.add(statement);
  }
  add(tally, excluded);
}

void add_condition(const Condition* condition, const Scope& scope, Excluded& excluded) {
  if (condition == nullptr || condition->open_set) {
    excluded.unknown = true;
  } else if (const auto* manifest = std::get_if<ManifestCondition>(&condition->kind)) {
    add_manifest(manifest->signers, scope.facts, excluded);
  } else if (const auto* statement = std::get_if<StatementCondition>(&condition->kind)) {
    add(tally_of(*statement, scope), excluded);
  } else {
    excluded.unknown = true;
  }
}

}  // namespace

Excluded excluded_by(const SignerRequirement& signers, const Scope& scope) {
  static const SignerRequirement kEverybody;
  Excluded excluded;
  for (const std::string& other : signers.none_of) {
    if (other == kPublishers) {
      add_manifest(kEverybody, scope.facts, excluded);
    } else {
      add_condition(scope.require == nullptr ? nullptr : find(*scope.require, other, 1), scope,
                    excluded);
    }
  }
  for (const std::string_view identity : excluded.surely) {
    excluded.perhaps.erase(identity);
  }
  return excluded;
}

bool is_considered(const StatementCondition& condition, std::string_view identity) {
  return condition.considered.empty() ||
         std::find(condition.considered.begin(), condition.considered.end(), identity) !=
             condition.considered.end();
}

bool has_considered_signer(const StatementCondition& condition, const JudgedStatement& statement) {
  return std::any_of(
      statement.signers.begin(), statement.signers.end(), [&](const JudgedSigner& signer) {
        return signer.state != SignerState::kRejected && is_considered(condition, signer.identity);
      });
}

void keep_latest(const StatementCondition& condition, bool rejected,
                 std::vector<const JudgedStatement*>& statements) {
  if (condition.quantifier != Quantifier::kLatest || statements.empty()) {
    return;
  }
  const JudgedStatement* latest = nullptr;
  Timestamp last = Timestamp::min();
  for (const JudgedStatement* statement : statements) {
    for (const JudgedSigner& signer : statement->signers) {
      const bool asked = (rejected || signer.state != SignerState::kRejected) &&
                         is_considered(condition, signer.identity);
      if (asked && signer.signed_at >= last) {
        last = signer.signed_at;
        latest = statement;
      }
    }
  }
  statements = {latest == nullptr ? statements.back() : latest};
}

}  // namespace assay::policy
