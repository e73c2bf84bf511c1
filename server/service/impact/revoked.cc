// SPDX-License-Identifier: Apache-2.0
#include "server/service/impact/revoked.h"

#include <algorithm>

#include "policy/lineage.h"
#include "server/service/impact/statement_of.h"

namespace assay::server {
namespace {

bool is_revoked(const policy::StatementFact& statement) {
  return statement.withdrawn ||
         std::ranges::any_of(statement.signers, [](const policy::SignerFact& signer) {
           return signer.key.revoked.has_value();
         });
}

void drop(policy::StatementFact& statement) {
  statement.withdrawn.reset();
  for (policy::SignerFact& signer : statement.signers) {
    signer.key.revoked.reset();
  }
}

// The list stays shared when nothing in it is revoked.
template <typename Item>
void drop_in(policy::SharedList<Item>& list) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is_revoked(statement_of(std::as_const(list)[i]))) {
      drop(statement_of(list.change()[i]));
    }
  }
}

void drop_in_lineage(policy::Facts& facts) {
  if (!facts.lineage) {
    return;
  }
  policy::Lineage::Statements statements = facts.lineage->statements();
  bool changed = false;
  for (auto& statement : statements) {
    if (is_revoked(statement->fact)) {
      auto unrevoked = std::make_shared<policy::LineageStatement>(*statement);
      drop(unrevoked->fact);
      statement = std::move(unrevoked);
      changed = true;
    }
  }
  if (changed) {
    facts.lineage = policy::Lineage::make(facts.lineage->start(), std::move(statements),
                                          facts.lineage->reached(), facts.lineage->rest());
  }
}

}  // namespace

void drop_revocations(CaseFile& file) {
  for (CaseModel& model : file.models) {
    policy::Facts& facts = model.facts;
    drop_in(facts.manifests);
    drop_in(facts.placements);
    drop_in(facts.statements);
    drop_in_lineage(facts);
    if (facts.node) {
      facts.node->revoked.reset();
    }
  }
}

bool is_by_revocation(const Answer& present, const Answer& without) {
  return without.allowed || std::ranges::any_of(present.causes, [&](const Cause& cause) {
           return std::ranges::find(without.causes, cause) == without.causes.end();
         });
}

}  // namespace assay::server
