// SPDX-License-Identifier: Apache-2.0
// The engine that hashes on the cores of this machine. The results of every device are checked
// against those of this engine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/device.h"
#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// Makes the CPU engine. `threads` 0 means one thread for each core that this process may use.
// `variant` forces one of leaf_variants() (leaf_hasher.h). Without `variant` the fastest variant is
// used, which is measured once in each process. Memory for each thread: 16 chunks, at least 256
// KiB.
[[nodiscard]] std::unique_ptr<Engine> make_cpu_engine(unsigned threads = 0,
                                                      std::optional<LeafVariant> variant = {});

// Returns the name of the processor, or "cpu" when the system does not report one.
[[nodiscard]] std::string cpu_name();
// Returns the hashing library in use, such as "ipsec-mb 1.3.0 avx512" or "OpenSSL 3.0.19". Names
// both libraries when the two hash algorithms use different ones.
[[nodiscard]] std::string cpu_driver();

// Measures the figures of bench_device() (gpu_hash/device.h) for the CPU engine. Errors: those of
// the engine.
[[nodiscard]] Result<BenchResult> bench_cpu(HashAlgorithm hash, std::uint64_t bytes,
                                            const EngineOptions& options);

}  // namespace assay::gpu_hash
