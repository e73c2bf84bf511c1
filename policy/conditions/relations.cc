// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/relations.h"

#include <algorithm>
#include <map>

#include "policy/conditions/statement_tally.h"
#include "policy/statement_index.h"
#include "policy/withdrawn_fact.h"

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

bool names(const std::vector<std::string>& list, std::string_view identity) {
  return list.empty() || std::ranges::find(list, identity) != list.end();
}

// Whoever took his signature back did sign: that makes nobody independent.
void add_withdrawn(const SignerRequirement& signers, const std::vector<std::string>& considered,
                   const JudgedStatement& statement, Excluded& excluded) {
  for (const JudgedSigner& signer : statement.signers) {
    if (took_back(*statement.fact, signer.identity) && names(signers.identities, signer.identity) &&
        names(considered, signer.identity)) {
      excluded.surely.insert(signer.identity);
    }
  }
}

void add_manifest(const SignerRequirement& signers, const JudgedFacts& facts, Excluded& excluded) {
  Tally tally(signers);
  for (const JudgedStatement& statement : facts.manifest_statements) {
    tally.add(statement);
    add_withdrawn(signers, {}, statement, excluded);
  }
  add(tally, excluded);
}

void add_statement(const StatementCondition& condition, const Scope& scope, Excluded& excluded) {
  add(tally_of(condition, scope), excluded);
  const auto* group = scope.facts.index->group(condition.predicate_type, condition.stage);
  if (group != nullptr) {
    for (const std::size_t i : group->members) {
      add_withdrawn(condition.signers, condition.considered, scope.facts.statements[i], excluded);
    }
  }
}

void add_condition(const Condition* condition, const Scope& scope, Excluded& excluded) {
  const bool known = condition != nullptr && !condition->open_set;
  if (const auto* manifest = known ? std::get_if<ManifestCondition>(&condition->kind) : nullptr) {
    add_manifest(manifest->signers, scope.facts, excluded);
  } else if (const auto* statement =
                 known ? std::get_if<StatementCondition>(&condition->kind) : nullptr) {
    add_statement(*statement, scope, excluded);
  } else {
    excluded.unknown = true;
  }
}

}  // namespace

Excluded excluded_by(const SignerRequirement& signers, const Scope& scope) {
  static const SignerRequirement everybody;
  Excluded excluded;
  for (const std::string& other : signers.none_of) {
    if (other == kPublishers) {
      add_manifest(everybody, scope.facts, excluded);
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
  return names(condition.considered, identity);
}

bool has_considered_signer(const StatementCondition& condition, const JudgedStatement& statement) {
  return std::any_of(
      statement.signers.begin(), statement.signers.end(), [&](const JudgedSigner& signer) {
        return signer.state != SignerState::kRejected && is_considered(condition, signer.identity);
      });
}

Names keep_latest(const StatementCondition& condition, bool rejected,
                  std::vector<const JudgedStatement*>& statements) {
  if (condition.quantifier != Quantifier::kLatest || statements.empty()) {
    return {};
  }
  struct Word {
    const JudgedStatement* statement = nullptr;
    Timestamp at = Timestamp::min();
  };
  Word latest{statements.back()};
  std::map<std::string_view, Word> words;  // the last one of each identity
  for (const JudgedStatement* statement : statements) {
    for (const JudgedSigner& signer : statement->signers) {
      if ((!rejected && signer.state == SignerState::kRejected) ||
          !is_considered(condition, signer.identity)) {
        continue;
      }
      for (Word* word : {&latest, &words[signer.identity]}) {
        if (signer.signed_at >= word->at) {
          *word = {statement, signer.signed_at};
        }
      }
    }
  }
  Names elsewhere;
  for (const auto& [identity, word] : words) {
    if (word.statement != latest.statement) {
      elsewhere.insert(identity);
    }
  }
  statements = {latest.statement};
  return elsewhere;
}

}  // namespace assay::policy
