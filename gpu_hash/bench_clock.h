// SPDX-License-Identifier: Apache-2.0
// Timing of repeated work, for device benchmarks.
#pragma once

#include <algorithm>
#include <chrono>

#include "schemas/core/error.h"

namespace assay::gpu_hash {

// When a measurement has taken this long, no further run of it begins. On a slow device the work is
// therefore measured only once.
inline constexpr std::chrono::seconds kBenchTime{3};

// Returns the units per second of the fastest run of `work`. One call of `work` processes `units`
// units and returns a Status. The first call does one-time work and is not measured. Then `work`
// runs `repeats` times; it runs fewer times, but at least once, when the runs take longer than
// kBenchTime.
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
