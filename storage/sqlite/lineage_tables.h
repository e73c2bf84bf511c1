// SPDX-License-Identifier: Apache-2.0
// What lineages read (storage/lineage_reads.h), from the tables.
#pragma once

#include "storage/lineage_reads.h"
#include "storage/sqlite/connection.h"

namespace assay::storage::sqlite {

class LineageTables final : public LineageReads {
 public:
  // The connection must outlive the object.
  explicit LineageTables(Connection& connection) : connection_(connection) {}

  Result<std::vector<LeafIndex>> changes_since(std::uint64_t version, std::size_t limit) override;
  Result<std::vector<LeafIndex>> about(const std::string& digest) override;
  Result<std::vector<LeafIndex>> from(const std::string& digest) override;
  Result<std::uint64_t> evidence_generation() override;

 private:
  Connection& connection_;
};

}  // namespace assay::storage::sqlite
