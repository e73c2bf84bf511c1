// SPDX-License-Identifier: Apache-2.0
// The figures of several GPUs as one engine.
#pragma once

#include <memory>
#include <vector>

#include "bench/gpu_hash/device.h"
#include "bench/options.h"

namespace assay::gpu_hash {

// gpu_hash_device_bench only=spread: data resident on each device, and host memory through all.
void measure_spread(std::vector<std::unique_ptr<ClEngine>> engines, const bench::Options& options,
                    Report& report);

}  // namespace assay::gpu_hash
