// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/lineage_tables.h"

#include "storage/sqlite/evidence_tables.h"

namespace assay::storage::sqlite {

Result<std::vector<LeafIndex>> LineageTables::changes_since(std::uint64_t version,
                                                            std::size_t limit) {
  std::vector<LeafIndex> changed;
  Query query = connection_.query(Sql::kStatementChanges);
  query.bind(version).bind(limit);
  while (true) {
    ASSAY_ASSIGN(const bool found, query.next());
    if (!found) {
      return changed;
    }
    changed.push_back(query.count(0));
  }
}

Result<std::uint64_t> LineageTables::evidence_generation() { return generation(connection_); }

}  // namespace assay::storage::sqlite
