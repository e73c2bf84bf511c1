// SPDX-License-Identifier: Apache-2.0
// The engine on an OpenCL device. This header does not include OpenCL headers. A build without
// OpenCL behaves like a machine without devices.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// Lists as Drivers::list() (gpu_hash/drivers.h).
[[nodiscard]] DeviceListing list_opencl_devices();

// Returns one sentence for people about why there may be no device.
[[nodiscard]] std::string opencl_absence();

// Makes the engine on device `index` of list_opencl_devices(). Kernels are loaded from the user's
// cache or built, and tested, when an algorithm is first used. Device memory: six slices of 32 MiB
// each unless `options` say otherwise. Host memory: six blocks of a quarter of a slice each, at
// most 8 MiB. Data of any size pass through this memory. Errors: device-not-found, device-failed.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_opencl_engine(unsigned index,
                                                                 const EngineOptions& options);

// Measures the figures of bench_device() (gpu_hash/device.h) for device `index`. Errors: those of
// the engine.
[[nodiscard]] Result<BenchResult> bench_opencl(unsigned index, HashAlgorithm hash,
                                               std::uint64_t bytes, const EngineOptions& options);

}  // namespace assay::gpu_hash
