// SPDX-License-Identifier: Apache-2.0
// The engine on this machine's cores: the truth that every device is held against.
#pragma once

#include <memory>

#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// `threads` 0 is one per core this process may use. Memory: 1 MiB per thread.
[[nodiscard]] std::unique_ptr<Engine> make_cpu_engine(unsigned threads = 0);

// Name of the processor, "cpu" when the system does not tell.
[[nodiscard]] std::string cpu_name();
// Version of the library that computes.
[[nodiscard]] std::string cpu_driver();

}  // namespace assay::gpu_hash
