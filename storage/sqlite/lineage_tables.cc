// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/lineage_tables.h"

#include "storage/sqlite/evidence_tables.h"
#include "storage/sqlite/sealed_lists.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
Result<std::vector<LeafIndex>> LineageTables::changes_since(std::uint64_t version,
                                                            std::size_t limit) {
  return load_changes(connection_, version, limit);
}

Result<std::vector<LeafIndex>> LineageTables::about(const std::string& digest) {
  return statements_about(connection_, digest);
}

Result<std::vector<LeafIndex>> LineageTables::from(const std::string& digest) {
  return statements_from(connection_, digest);
}

Result<std::uint64_t> LineageTables::evidence_generation() { return generation(connection_); }

}  // namespace assay::storage::sqlite
