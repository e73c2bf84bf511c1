// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/lineage_tables.h"

#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

// `sql` reads the first row from ?2 on whose value is ?1.
Result<std::vector<LeafIndex>> all_with(Connection& connection, Sql sql,
                                        const std::string& digest) {
  std::vector<LeafIndex> indices;
  for (LeafIndex from = 0;; from = indices.back() + 1) {
    Query query = connection.query(sql);
    ASSAY_ASSIGN(const bool found, query.bind(digest).bind(from).next());
    if (!found) {
      return indices;
    }
    indices.push_back(query.count(0));
  }
}

}  // namespace

Result<std::vector<LeafIndex>> LineageTables::changes_since(std::uint64_t version,
                                                            std::size_t limit) {
  return load_changes(connection_, version, limit);
}

Result<std::vector<LeafIndex>> LineageTables::about(const std::string& digest) {
  return all_with(connection_, Sql::kStatementBySubject, digest);
}

Result<std::vector<LeafIndex>> LineageTables::from(const std::string& digest) {
  return all_with(connection_, Sql::kStatementByInput, digest);
}

Result<std::uint64_t> LineageTables::evidence_generation() { return generation(connection_); }

}  // namespace assay::storage::sqlite
