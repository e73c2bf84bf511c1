// SPDX-License-Identifier: Apache-2.0
// Pieces of work that threads share: the largest ones come first, progress is counted over all of
// them, and the first error ends them. Internal to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Safe to use from several threads.
class LargestFirst {
 public:
  // `sizes` are the bytes of each piece. `progress` (may be empty) and `stop` must outlive this.
  LargestFirst(const std::vector<std::uint64_t>& sizes, const BytesDone& progress,
               const std::stop_token& stop)
      : progress_(progress), stop_(stop), order_(sizes.size()) {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      order_[i] = i;
    }
    std::ranges::stable_sort(order_, std::ranges::greater{},
                             [&](std::size_t i) { return sizes[i]; });
  }

  // Returns the index of a piece that nobody has; nothing when none is left or something failed.
  std::optional<std::size_t> take() {
    const std::scoped_lock lock(mutex_);
    if (error_ || next_ == order_.size()) {
      return std::nullopt;
    }
    return order_[next_++];
  }

  // Counts bytes that were hashed. Errors: cancelled after a request to stop, or an error
  // elsewhere.
  Status count(std::uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    done_ += bytes;
    if (progress_) {
      progress_(done_);
    }
    if (error_ || stop_.stop_requested()) {
      return fail(ErrorCode::kCancelled, "hashing was stopped on request");
    }
    return {};
  }

  void fail_with(Error error) {
    const std::scoped_lock lock(mutex_);
    if (!error_) {
      error_ = std::move(error);
    }
  }

  // Returns the first error. The threads must have ended.
  [[nodiscard]] Status outcome() const { return error_ ? std::unexpected(*error_) : Status(); }

 private:
  const BytesDone& progress_;
  const std::stop_token& stop_;
  std::vector<std::size_t> order_;
  std::mutex mutex_;
  std::size_t next_ = 0;    // guarded by mutex_, as what follows
  std::uint64_t done_ = 0;  // bytes
  std::optional<Error> error_;
};

}  // namespace assay::gpu_hash
