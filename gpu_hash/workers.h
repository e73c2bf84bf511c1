// SPDX-License-Identifier: Apache-2.0
// Runs one function on several threads.
#pragma once

#include <functional>

namespace assay::gpu_hash {

// Returns the number of cores that this process may use, at least 1.
[[nodiscard]] unsigned usable_cores();

// Runs `work` on `threads` threads, including the calling thread, and returns when all have ended.
// `work` must not throw. Uses fewer threads when the system cannot start as many.
void run_on_threads(unsigned threads, const std::function<void()>& work);

// Returns the core that the calling thread runs on; -1 when that is not known.
[[nodiscard]] int current_core();

// Keeps the calling thread off `core`, when there is another for it.
void leave_core(int core);

}  // namespace assay::gpu_hash
