// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/preparing.h"

#include <system_error>

namespace assay::gpu_hash {

Preparing::Preparing(const BytesDone& progress, Times times) {
  if (!progress) {
    return;
  }
  const auto end = std::chrono::steady_clock::now() + times.longest;
  try {
    thread_ = std::jthread([this, &progress, times, end](const std::stop_token& stop) {
      std::unique_lock lock(mutex_);
      while (!stop.stop_requested() && std::chrono::steady_clock::now() < end) {
        progress(0);
        (void)ended_.wait_for(lock, stop, times.every, [] { return false; });
      }
    });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch): who waits may then lose
    // patience, which is safe
  }
}

}  // namespace assay::gpu_hash
