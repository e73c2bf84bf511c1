// SPDX-License-Identifier: Apache-2.0
// The documents of governance (trust and the policies in force, storage/governance.h), and the
// chain of records in the log that names their digests (docs/adr/0011).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "storage/governance.h"
#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Stores the documents in place of those with the digests `before`, where they differ.
[[nodiscard]] Status store_governance(Connection& connection, const GovernanceDocuments& documents,
                                      const std::optional<ChainHead>& before);
// Returns what is stored, whatever the log says of it; an empty state when nothing is. Errors:
// data-loss when it cannot be read.
[[nodiscard]] Result<Governance> load_governance(Connection& connection);

// Follows the chain from its newest record in the log of `state` to its first, and returns the
// newest. Returns nullopt when the log has no record of the chain. Checks that every record is in
// the tree and names the previous record by its leaf hash, and that the chain contains the record
// `anchored`, if that is set. Errors: store-behind-anchor when the chain does not contain
// `anchored`; data-loss for a broken chain.
[[nodiscard]] Result<std::optional<ChainHead>> follow_chain(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// Compares the stored documents with the digests that `head` names, reads them, and returns the
// state. Errors: data-loss when they differ, or when there are documents but no `head`.
[[nodiscard]] Result<Governance> governance_at(Connection& connection,
                                               const std::optional<ChainHead>& head);

// Runs follow_chain() and governance_at(), and returns the verified state.
[[nodiscard]] Result<std::shared_ptr<const Governance>> verified_governance(
    Connection& connection, const LogState& state, const std::optional<ChainHead>& anchored);

// The governance states that snapshots may need. A snapshot reads the rows of one commit, so it
// must use the state of the same commit. Threading: any thread.
class GovernanceHistory {
 public:
  GovernanceHistory(TreeSize size, std::shared_ptr<const Governance> first);
  // Adds the state of the commit that makes the log `size` entries long. The caller must call this
  // before that commit.
  void publish(TreeSize size, std::shared_ptr<const Governance> state);
  // Removes `state`, which publish() added, when the commit did not happen.
  void withdraw(const std::shared_ptr<const Governance>& state);
  // Returns the state that fits the rows of the commit at log size `size`; nullptr when this commit
  // is too old.
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
