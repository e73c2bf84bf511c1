// SPDX-License-Identifier: Apache-2.0
// What only lineages (policy/lineage.h) read of a store: Snapshot::lineage() in storage/store.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/store.h"

namespace assay::storage {

class LineageReads {
 public:
  LineageReads() = default;
  LineageReads(const LineageReads&) = delete;
  LineageReads& operator=(const LineageReads&) = delete;
  virtual ~LineageReads() = default;

  // Returns the log indices of the stored statements that changed while statements_version() was at
  // least `version`, in the order of the changes, one for each change, at most `limit`.
  [[nodiscard]] virtual Result<std::vector<LeafIndex>> changes_since(std::uint64_t version,
                                                                     std::size_t limit) = 0;
  // Returns the log indices of the statements that have the digest as a subject, or as an input,
  // ascending, distinct. Statements that are not acknowledged yet are among them. The list is
  // whole: data-loss when the index leaves one out or adds one.
  [[nodiscard]] virtual Result<std::vector<LeafIndex>> about(const std::string& digest) = 0;
  [[nodiscard]] virtual Result<std::vector<LeafIndex>> from(const std::string& digest) = 0;
  // Returns a counter that rises whenever stored evidence becomes stale.
  [[nodiscard]] virtual Result<std::uint64_t> evidence_generation() = 0;
};

}  // namespace assay::storage
