// SPDX-License-Identifier: Apache-2.0
// Timing of repeated work, for device benchmarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Bytes per second of the fastest of `repeats` runs of `work` (a Status), each over `bytes`.
template <typename Work>
[[nodiscard]] Result<double> best_rate(std::uint64_t bytes, int repeats, const Work& work) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSAY_TRY(work());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(bytes) / elapsed.count());
  }
  return best;
}

}  // namespace assay::gpu_hash
