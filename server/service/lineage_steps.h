// SPDX-License-Identifier: Apache-2.0
// What lineages (policy/lineage.h) read of stored statements, kept between lineages: when one
// statement comes, a lineage of thousands of others is made again without reading them. Filled and
// brought up to date by server/service/lineage/steps.h. In memory only.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/lineage.h"
#include "storage/store.h"

namespace assay::server {

struct Part;

// A statement, and its part of cases once that was made. Whoever holds LineageSteps::mutex may set
// the part.
struct LineageStep {
  std::shared_ptr<const policy::LineageStatement> statement;
  std::shared_ptr<std::shared_ptr<const Part>> part;
};

struct LineageSteps {
  // Limit on the kept statements, each counted once for each digest that it is about (about 3 KB
  // each). All are dropped when there are more.
  static constexpr std::size_t kMaxKept = 40'000;

  std::mutex mutex;  // of all members below
  // The state of the store that they show. They are as read from a snapshot of that state.
  std::uint64_t version = 0;   // Snapshot::statements_version()
  std::uint64_t evidence = 0;  // LineageReads::evidence_generation()
  TrustEpochs epochs{};
  std::optional<LeafIndex> newest{};  // newest statement
  // All statements about a digest.
  std::unordered_map<std::string, std::vector<LineageStep>> about{};
  std::size_t kept = 0;
};

}  // namespace assay::server
