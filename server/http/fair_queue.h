// SPDX-License-Identifier: Apache-2.0
// Work that waits for a thread. Each caller has a line of its own, and threads take from the lines
// in turn: whoever sends many requests waits for them, and nobody else does.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "server/http/fair_shares.h"

namespace assay::server {

// Thread-safe.
class FairQueue {
 public:
  using Work = std::move_only_function<void()>;

  // `places` is how much work may wait (fair_shares.h divides it).
  explicit FairQueue(std::size_t places) : places_(places) {}

  [[nodiscard]] bool has_room(const std::string& caller) const;
  // Appends to the line of `caller`, whether there is room or not.
  void push(const std::string& caller, Work work);
  // Takes the first work of the caller whose turn it is. The caller of pop() must call it once for
  // each push().
  [[nodiscard]] Work pop();

 private:
  mutable std::mutex mutex_;
  FairShares places_;
  std::unordered_map<std::string, std::deque<Work>> lines_;  // none is empty
  std::deque<std::string> turns_;                            // callers that have a line, next first
};

}  // namespace assay::server
