// SPDX-License-Identifier: Apache-2.0
// Timing of repeated work, for device benchmarks.
#pragma once

#include <algorithm>
#include <chrono>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Repeats of one figure end after this time; slow devices are measured once.
inline constexpr std::chrono::seconds kBenchTime{3};

// Units per second of the fastest of `repeats` runs of `work` (a Status), each of `units`, after
// one that sets things up and does not count; fewer runs, but at least one, when they take longer
// than kBenchTime.
template <typename Work>
[[nodiscard]] Result<double> best_rate(double units, int repeats, const Work& work) {
  ASSAY_TRY(work());
  double best = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    ASSAY_TRY(work());
    const auto end = std::chrono::steady_clock::now();
    best = std::max(best, units / std::chrono::duration<double>(end - start).count());
    if (end - begin > kBenchTime) {
      break;
    }
  }
  return best;
}

}  // namespace assay::gpu_hash
