// SPDX-License-Identifier: Apache-2.0
// The engine on an OpenCL device. This header needs no OpenCL: a build without it answers as on a
// machine that has no device.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// The OpenCL devices in the order of list_devices().
[[nodiscard]] std::vector<DeviceInfo> list_opencl_devices();

// Why there may be no device: one sentence for people.
[[nodiscard]] std::string opencl_absence();

// Engine on device `index` of list_opencl_devices(). Kernels are taken from the user's cache or
// built, and tested, when an algorithm is first used. Memory: three slices of host memory (64 MiB
// each unless options say otherwise), and as much on the device; data of any size go through them.
// device-not-found, device-failed.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_opencl_engine(unsigned index,
                                                                 const EngineOptions& options);

// The figures of bench_device() for device `index`. Errors of the engine.
[[nodiscard]] Result<BenchResult> bench_opencl(unsigned index, HashAlgorithm hash,
                                               std::uint64_t bytes, const EngineOptions& options);

}  // namespace assay::gpu_hash
