// SPDX-License-Identifier: Apache-2.0
// A call that several threads work on together.
#pragma once

#include <functional>

namespace assay::gpu_hash {

// Cores this process may run on; at least 1.
[[nodiscard]] unsigned usable_cores();

// Runs `work` on `threads` threads, the calling one among them, and returns when all have ended.
// `work` must not throw. Runs on fewer threads when the system gives no more.
void run_on_threads(unsigned threads, const std::function<void()>& work);

}  // namespace assay::gpu_hash
