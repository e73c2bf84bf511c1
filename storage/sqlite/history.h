// SPDX-License-Identifier: Apache-2.0
// What newest commits left that is kept in memory and believed. A snapshot reads the rows of one
// commit, so it needs what belongs to this commit.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "storage/governance.h"
#include "storage/record_map.h"

namespace assay::storage::sqlite {

// What a commit left, and its number (FileAge::number).
struct Believed {
  std::uint64_t number = 0;
  std::shared_ptr<const Governance> governance;  // trust and the policies in force
  RecordMap map;

  [[nodiscard]] MapState map_state() const { return {number, map.root()}; }
};

// Threading: any thread.
class History {
 public:
  explicit History(Believed first) : kept_{std::move(first)} {}
  // Adds what the next commit leaves, in place of what was said of a commit of this number that did
  // not happen. The caller must call this before the commit.
  void publish(Believed next);
  // Returns nullopt when the commit is too old.
  [[nodiscard]] std::optional<Believed> at(std::uint64_t number) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Believed> kept_;  // guarded by mutex_; ascending, few
};

}  // namespace assay::storage::sqlite
