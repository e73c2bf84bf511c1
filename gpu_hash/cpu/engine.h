// SPDX-License-Identifier: Apache-2.0
// What only this folder and measurements need of the engine that hashes on the cores of this
// machine.
#pragma once

#include <memory>
#include <string>

#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/cpu_engine.h"
#include "gpu_hash/device.h"
#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// Does what make_cpu_engine(threads) does (gpu_hash/cpu_engine.h), with `variant`, which must be
// one of leaf_variants() (leaf_hasher.h).
[[nodiscard]] std::unique_ptr<Engine> make_cpu_engine(unsigned threads, LeafVariant variant);

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
