// SPDX-License-Identifier: Apache-2.0
#include "server/service/documents/lineage_row.h"

#include <set>

namespace assay::server {
namespace {

std::unexpected<Error> broken() {
  return fail(ErrorCode::kDataLoss, "a stored statement does not say what lineages read of it");
}

}  // namespace

Result<policy::LineageStatement> lineage_statement(storage::Snapshot& snapshot,
                                                   const storage::StatementRow& row,
                                                   const KeysById& keys) {
  const auto key_of = [&](const KeyId& id) -> Result<TrustedKey> {
    const auto key = keys.find(id);
    return key == keys.end() ? Result<TrustedKey>(broken()) : Result<TrustedKey>(key->second);
  };
  ASSAY_ASSIGN(policy::StatementFact fact, statement_fact(row, key_of));
  ASSAY_ASSIGN(fact.withdrawn, withdrawn_fact(snapshot, row.id));
  if (row.kind == storage::StatementKind::kManifest) {
    policy::LineageStatement statement{std::move(fact), true, {}, {}};
    const std::set<std::string> subjects(row.subjects.begin(), row.subjects.end());
    for (const std::string& subject : subjects) {
      statement.subjects.push_back({subject, {row.name}});
    }
    return statement;
  }
  const auto contents = parse_json(row.contents);
  if (!contents || !contents->is_object()) {
    return broken();
  }
  return policy::lineage_in(std::move(fact), *contents);
}

}  // namespace assay::server
