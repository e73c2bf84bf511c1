// SPDX-License-Identifier: Apache-2.0
// The engine on this machine's cores: the truth that every device is held against.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/device.h"
#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// `threads` 0 is one per core this process may use. `variant` forces a way to compute, which must
// be one of leaf_variants(); without it the fastest one is found out once in each process. Memory
// per thread: 16 chunks, at least 256 KiB.
[[nodiscard]] std::unique_ptr<Engine> make_cpu_engine(unsigned threads = 0,
                                                      std::optional<LeafVariant> variant = {});

// Name of the processor, "cpu" when the system does not tell.
[[nodiscard]] std::string cpu_name();
// What computes: "ipsec-mb 1.3.0 avx512", "OpenSSL 3.0.19"; both hash algorithms when they differ.
[[nodiscard]] std::string cpu_driver();

// The figures of bench_device(). Errors of the engine.
[[nodiscard]] Result<BenchResult> bench_cpu(HashAlgorithm hash, std::uint64_t bytes,
                                            const EngineOptions& options);

}  // namespace assay::gpu_hash
