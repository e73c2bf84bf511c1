// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/workers.h"

#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

namespace assay::gpu_hash {

unsigned usable_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 0) {
    return static_cast<unsigned>(CPU_COUNT(&cores));
  }
  // More cores than a cpu_set_t holds.
  const unsigned count = std::thread::hardware_concurrency();
  return count == 0 ? 1 : count;
}

int current_core() { return ::sched_getcpu(); }

void leave_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (core < 0 || core >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof(cores), &cores) != 0) {
    return;
  }
  CPU_CLR(static_cast<std::size_t>(core), &cores);
  if (CPU_COUNT(&cores) > 0) {
    ::sched_setaffinity(0, sizeof(cores), &cores);
  }
}

void run_on_threads(unsigned threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < threads; ++i) {
    try {
      others.emplace_back(work);
    } catch (const std::system_error&) {
      break;
    }
  }
  work();
}

}  // namespace assay::gpu_hash
