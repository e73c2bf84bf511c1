// SPDX-License-Identifier: Apache-2.0
// Times of work that one thread does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <vector>

namespace assay::bench {

// Processor time of the calling thread in microseconds: waiting, and what other programs do on this
// machine, does not count. What other machines on the same host do may.
inline double thread_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e6 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_nsec);
}

struct Times {
  double best;  // us
  double p50;
  double p99;
};

// Times of `work`, each time after `prepare`, which does not count. The first tenth, at least one,
// is for warming up and does not count either.
template <typename Prepare, typename Work>
Times measure(std::size_t rounds, const Prepare& prepare, const Work& work) {
  const std::size_t unused = 1 + rounds / 10;
  std::vector<double> times;
  for (std::size_t i = 0; i < rounds + unused; ++i) {
    prepare();
    const double begin = thread_us();
    work();
    const double end = thread_us();
    if (i >= unused) {
      times.push_back(end - begin);
    }
  }
  std::ranges::sort(times);
  return {times.front(), times[times.size() / 2], times[times.size() * 99 / 100]};
}

template <typename Work>
Times measure(std::size_t rounds, const Work& work) {
  return measure(rounds, [] {}, work);
}

}  // namespace assay::bench
