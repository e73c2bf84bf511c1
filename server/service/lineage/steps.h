// SPDX-License-Identifier: Apache-2.0
// Reads the statements of lineages from one snapshot, and keeps them for the next lineage.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/service/documents/lineage_row.h"
#include "server/service/lineage/stored.h"
#include "server/service/lineage_steps.h"
#include "storage/lineage_reads.h"

namespace assay::server {

// Calls `look` with every statement of `view` that came behind `after`, whatever it is about, in
// the order of the log. Ends when `look` returns false. Errors: storage; data-loss.
[[nodiscard]] Status for_newer(storage::Snapshot& view, std::optional<LeafIndex> after,
                               const std::function<bool(const storage::StatementRow&)>& look);

// Statements as one snapshot has them. Not thread-safe.
class StatementReader {
 public:
  // `snapshot` must outlive the object. `check` is called now and then; its error ends the reading.
  [[nodiscard]] static Result<StatementReader> open(storage::Snapshot& snapshot,
                                                    std::function<Status()> check);

  // Returns the statements, manifests included, that have the digest as a subject, or as an input.
  [[nodiscard]] Result<policy::Lineage::Statements> about(const std::string& digest);
  [[nodiscard]] Result<policy::Lineage::Statements> from(const std::string& digest);

 private:
  StatementReader(storage::Snapshot& snapshot, KeysById keys, std::function<Status()> check)
      : snapshot_(&snapshot), keys_(std::move(keys)), check_(std::move(check)) {}
  // `list` names the digest's statements in an index of the store. A statement can be about many
  // digests of one lineage: its row is read once.
  using List = Result<std::vector<LeafIndex>> (storage::LineageReads::*)(const std::string&);
  using Named = std::vector<std::string> storage::StatementRow::*;
  [[nodiscard]] Result<policy::Lineage::Statements> read(const std::string& digest, List list,
                                                         Named named);
  // Returns null for a statement that no lineage reads.
  [[nodiscard]] Result<std::shared_ptr<const policy::LineageStatement>> at(
      LeafIndex index, const std::string& digest, Named named);

  storage::Snapshot* snapshot_;
  KeysById keys_;
  std::function<Status()> check_;
  std::unordered_map<LeafIndex, std::shared_ptr<const policy::LineageStatement>> known_{};
};

// The kept statements, held for one lineage. While somebody else holds them, or when they show a
// later state than the snapshot, nothing is kept and everything is read.
class HeldSteps {
 public:
  // Brings what is kept up to the state of `snapshot`. Both must outlive the object.
  [[nodiscard]] static Result<HeldSteps> take(LineageSteps& steps, storage::Snapshot& snapshot);

  // Returns what reader.about() does.
  [[nodiscard]] Result<policy::Lineage::Statements> about(StatementReader& reader,
                                                          const std::string& digest);
  // Makes the parts of a lineage whose statements came from about().
  [[nodiscard]] Result<LineageFacts> share(std::shared_ptr<const policy::Lineage> lineage);

 private:
  explicit HeldSteps(LineageSteps& steps) : steps_(&steps) {}
  [[nodiscard]] Status bring_up(storage::Snapshot& snapshot);
  [[nodiscard]] Result<bool> follow(storage::Snapshot& snapshot, std::uint64_t version);
  void forget(const storage::StatementRow& row);

  LineageSteps* steps_;
  std::unique_lock<std::mutex> lock_{};  // not held: nothing is kept
  // Where the parts of those that about() returned are kept, while `lock_` is held.
  std::unordered_map<const policy::LineageStatement*, SharedPart*> used_{};
};

}  // namespace assay::server
