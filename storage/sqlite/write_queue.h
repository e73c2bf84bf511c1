// SPDX-License-Identifier: Apache-2.0
// The writes that wait for the writer's thread, in two classes: those of the API and those of
// admission. While both classes wait, they take turns, so each has half of every group, and neither
// can keep the other waiting however many writes it sends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "storage/sqlite/acknowledger.h"

namespace assay::storage::sqlite {

// Not thread-safe.
class WriteQueue {
 public:
  void push(std::shared_ptr<WriteJob> job);
  // Returns the next writes to commit together, at most `max` and at least one unless the queue is
  // empty. The writes of one class keep their order.
  [[nodiscard]] WriteGroup take(std::size_t max);
  // Puts back the writes of `group` from position `first` on, each in front of what waits of its
  // class, and removes them from `group`. The group must be the last that take() returned.
  void put_back(WriteGroup& group, std::size_t first);

  [[nodiscard]] std::size_t size() const { return waiting_[0].size() + waiting_[1].size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Returns how many writes of the class wait.
  [[nodiscard]] std::size_t size(WriteClass of) const { return of_class(of).size(); }

 private:
  using Waiting = std::deque<std::shared_ptr<WriteJob>>;
  [[nodiscard]] Waiting& of_class(WriteClass of) { return waiting_[static_cast<std::size_t>(of)]; }
  [[nodiscard]] const Waiting& of_class(WriteClass of) const {
    return waiting_[static_cast<std::size_t>(of)];
  }

  std::array<Waiting, 2> waiting_;
  WriteClass turn_ = WriteClass::kAdmission;  // whose turn it is when both wait
};

}  // namespace assay::storage::sqlite
