// SPDX-License-Identifier: Apache-2.0
// What decisions read again and again, kept between them: nothing that grows with statements or
// entries is read or parsed anew as long as nothing was added. Owned by Services; thread-safe; in
// memory only, and never believed for longer than the versions that were read with it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/compare.h"
#include "policy/evaluate.h"
#include "server/service/lru.h"
#include "storage/store.h"

namespace assay::server {

struct ArtifactFacts;

using Policies = std::vector<policy::ActivePolicy>;

struct DecisionCache {
  // Bytes of facts that are kept, over all artifacts: of their stored form, twice for the form in
  // memory.
  static constexpr std::size_t kMaxFactBytes = 128U << 20;
  // Outcomes of tests of predicates that are kept (about 300 bytes each).
  static constexpr std::size_t kMaxTests = 131'072;

  // What was known of an artifact when these were its versions.
  struct Known {
    std::uint64_t subject_version;
    TrustEpochs epochs;
    std::optional<LeafIndex> newest;  // row that was read; none: there was none
    std::shared_ptr<const ArtifactFacts> facts;
  };

  Lru<std::string, Known> artifacts{kMaxFactBytes};  // by artifact id
  // What one test gives about statements. A statement never changes, so neither does that.
  using Outcomes = std::unordered_map<StatementId, policy::TestOutcome>;
  // By artifact id and the text of a test: of statements about that artifact.
  Lru<std::string, std::shared_ptr<const Outcomes>> tests{kMaxTests};

  // Policies in force at a policy epoch.
  [[nodiscard]] std::shared_ptr<const Policies> policies(std::uint64_t epoch) const {
    const std::lock_guard lock(mutex_);
    return policy_epoch_ == epoch ? policies_ : nullptr;
  }
  void put_policies(std::uint64_t epoch, std::shared_ptr<const Policies> policies) {
    const std::lock_guard lock(mutex_);
    policy_epoch_ = epoch;
    policies_ = std::move(policies);
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t policy_epoch_ = 0;
  std::shared_ptr<const Policies> policies_;
};

}  // namespace assay::server
