// SPDX-License-Identifier: Apache-2.0
// A cache of stored data that many decisions read: facts about artifacts (policy/facts.h), outcomes
// of predicate tests (tests of what statements say), and policies. Each value is cached with the
// version of the data from which it was made, and is used only while that version is current. Owned
// by Services; thread-safe; in memory only.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/compare.h"
#include "policy/evaluate.h"
#include "policy/match_index.h"
#include "schemas/core/lru.h"
#include "server/service/lineage_steps.h"
#include "storage/store.h"

namespace assay::server {

struct ArtifactFacts;
struct LineageFacts;

using Policies = std::vector<policy::ActivePolicy>;

struct DecisionCache {
  // Limit on the bytes of the cached facts of all artifacts together. The size of facts is taken as
  // twice the size of their stored form, because facts take more bytes in memory.
  static constexpr std::size_t kMaxFactBytes = 128U << 20;
  // Limit on cached outcomes of predicate tests (about 300 bytes each).
  static constexpr std::size_t kMaxTests = 131'072;

  // Facts about an artifact, and the versions of the stored data from which they were made.
  struct Known {
    std::uint64_t subject_version;
    TrustEpochs epochs;
    std::optional<LeafIndex> newest;  // newest statement that was read; nullopt: none
    std::shared_ptr<const ArtifactFacts> facts;
    // Snapshot::statements_version() when a manifest joins another digest to the artifact: any new
    // statement may be about that digest. Absent otherwise.
    std::optional<std::uint64_t> joined_version{};
  };

  Lru<std::string, Known> artifacts{kMaxFactBytes};  // by artifact id

  // What an artifact was made from, and the versions of the stored data up to which that holds.
  struct KnownLineage {
    std::uint64_t version;  // Snapshot::statements_version()
    TrustEpochs epochs;
    std::optional<LeafIndex> newest;  // newest statement of the store at that version
    std::uint64_t evidence;           // LineageReads::evidence_generation()
    std::shared_ptr<const LineageFacts> facts;
  };
  Lru<std::string, KnownLineage> lineages{kMaxFactBytes};  // by artifact id
  LineageSteps steps{};                                    // statements, for other lineages
  // Outcomes of one test, by statement. A statement never changes, so the outcome changes only with
  // time, and says until when it holds.
  using Outcomes = std::unordered_map<StatementId, policy::TestOutcome>;
  // Keyed by artifact id and the text of a test. Holds outcomes for statements about that artifact.
  Lru<std::string, std::shared_ptr<const Outcomes>> tests{kMaxTests};

  // Returns the policies in force at a policy epoch (Epochs in storage/governance.h). Returns null
  // when these policies are not cached.
  [[nodiscard]] std::shared_ptr<const Policies> policies(std::uint64_t epoch) const {
    const std::lock_guard lock(mutex_);
    return policy_epoch_ == epoch ? policies_ : nullptr;
  }
  void put_policies(std::uint64_t epoch, std::shared_ptr<const Policies> policies) {
    auto index = policies->size() < policy::kIndexPoliciesFrom
                     ? nullptr
                     : std::make_shared<const policy::MatchIndex>(policies);
    const std::lock_guard lock(mutex_);
    policy_epoch_ = epoch;
    policies_ = std::move(policies);
    index_ = std::move(index);
  }
  // Returns the index over `policies`. Returns null when there are too few for one, or when other
  // policies are cached.
  [[nodiscard]] std::shared_ptr<const policy::MatchIndex> index_of(
      const std::shared_ptr<const Policies>& policies) const {
    const std::lock_guard lock(mutex_);
    return policies_ == policies ? index_ : nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t policy_epoch_ = 0;
  std::shared_ptr<const Policies> policies_;
  std::shared_ptr<const policy::MatchIndex> index_;
};

}  // namespace assay::server
