// SPDX-License-Identifier: Apache-2.0
// Loads the rows of trust and policy, and checks them against the log (docs/adr/0011).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "storage/governance.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Returns what the rows say. Do not trust the result before check_governance().
[[nodiscard]] Result<Governance> load_governance(Connection& connection);

// Follows the chain from its newest record in the log of `state` to the first, and returns its
// head. Returns nullopt when the log has no record of the chain. Every record must be in the tree
// and must name the previous record by its leaf hash. If `anchored` is set, the chain must contain
// this record. Errors: store-behind-anchor without the anchored record; data-loss for a broken
// chain.
[[nodiscard]] Result<std::optional<ChainHead>> follow_chain(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// Errors: data-loss when `rows` are not the state that `head` names, or when there are rows but no
// head.
[[nodiscard]] Status check_governance(const Governance& rows, const std::optional<ChainHead>& head);

// Runs load_governance(), follow_chain() and check_governance(), and returns the verified state.
[[nodiscard]] Result<std::shared_ptr<const Governance>> verified_governance(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// The governance states that snapshots may need. A snapshot reads the rows of one commit, so it
// must use the state of the same commit. Threading: any thread.
class GovernanceHistory {
 public:
  GovernanceHistory(TreeSize size, std::shared_ptr<const Governance> first);
  // Adds the state of the commit that makes the log `size` entries long. Call before that commit.
  void publish(TreeSize size, std::shared_ptr<const Governance> state);
  // Removes `state`, which publish() added, when the commit did not happen.
  void withdraw(const std::shared_ptr<const Governance>& state);
  // Returns the state for rows of a commit at `size`; nullptr when the commit is too old.
  [[nodiscard]] std::shared_ptr<const Governance> at(TreeSize size) const;

 private:
  struct Entry {
    TreeSize from;
    std::shared_ptr<const Governance> state;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_; ascending, few
};

}  // namespace assay::storage::sqlite
