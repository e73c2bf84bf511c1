// SPDX-License-Identifier: Apache-2.0
// The rows of trust and policy, and whether they are what the log says: docs/adr/0011.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "storage/governance.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// What the rows say, believed by nobody before check_governance().
[[nodiscard]] Result<Governance> load_governance(Connection& connection);

// Follows the chain from its newest record in the log of `state` to the first. Every record must be
// in the tree, name the one before by its leaf hash, and `anchored`, when there is one, must be
// among them. Nothing when the log has no such record. store-behind-anchor without the anchored
// record, data-loss for a broken chain.
[[nodiscard]] Result<std::optional<ChainHead>> follow_chain(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// data-loss when `rows` are not the state that `head` names, or when there is a state and no head.
[[nodiscard]] Status check_governance(const Governance& rows, const std::optional<ChainHead>& head);

// All three: the verified state.
[[nodiscard]] Result<std::shared_ptr<const Governance>> verified_governance(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// The states that snapshots may need: a snapshot sees the rows of one commit, so it takes the state
// of that commit. Threading: any thread.
class GovernanceHistory {
 public:
  GovernanceHistory(TreeSize size, std::shared_ptr<const Governance> first);
  // In force from the commit on that makes the log `size` long. Before that commit.
  void publish(TreeSize size, std::shared_ptr<const Governance> state);
  // That commit did not happen.
  void withdraw(const std::shared_ptr<const Governance>& state);
  // For rows of a commit at `size`; null when that is too long ago.
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
