// SPDX-License-Identifier: Apache-2.0
// Says that work goes on while programs for the device are compiled and tested: some compilers take
// minutes on a busy machine, and who waits must be able to tell that from a device that hangs.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

class Preparing {
 public:
  // How often it is said, and for how long at most: a compiler that never ends is not work.
  struct Times {
    std::chrono::milliseconds every{250};
    std::chrono::milliseconds longest{600'000};
  };

  // Calls `progress` with 0 bytes from a thread of its own, as long as this object lives.
  // `progress` must outlive it. Does nothing when `progress` is empty or the system has no more
  // threads.
  Preparing(const BytesDone& progress, Times times);
  explicit Preparing(const BytesDone& progress) : Preparing(progress, Times{}) {}
  // `progress` is not called any more when this returns.
  ~Preparing() = default;
  Preparing(const Preparing&) = delete;
  Preparing& operator=(const Preparing&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace assay::gpu_hash
