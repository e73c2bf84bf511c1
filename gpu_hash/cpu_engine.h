// SPDX-License-Identifier: Apache-2.0
// The reference engine: it hashes on the cores of this machine, and the results of every device are
// checked against those of this engine.
#pragma once

#include <memory>

#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// Makes the CPU engine. `threads` 0 means one thread for each core that this process may use. Uses
// the fastest code for this processor, which is measured once in each process. Memory for each
// thread: 16 chunks, at least 256 KiB.
[[nodiscard]] std::unique_ptr<Engine> make_cpu_engine(unsigned threads = 0);

}  // namespace assay::gpu_hash
