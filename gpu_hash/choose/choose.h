// SPDX-License-Identifier: Apache-2.0
// The choice between engines as pure functions. Everything that depends on the machine is a
// parameter.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu_hash/auto_choice.h"
#include "gpu_hash/device.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Returns the index of the chosen OpenCL device in `devices` (in the order of list_devices()).
// Returns nullopt for the CPU engine. Errors: device-not-found; usage when `choice` names several
// devices; internal when `choice` is auto, because choose_auto() decides that case.
[[nodiscard]] Result<std::optional<unsigned>> choose_device(const DeviceChoice& choice,
                                                            const std::vector<DeviceInfo>& devices);

// Returns true when `choice` can mean several OpenCL devices.
[[nodiscard]] bool chooses_several(const DeviceChoice& choice);

// Returns the indices of the chosen devices, at least one. Errors: device-not-found; limit-exceeded
// for more than kMaxSharingDevices (gpu_hash/dispatch.h).
[[nodiscard]] Result<std::vector<unsigned>> choose_devices(const DeviceChoice& choice,
                                                           const std::vector<DeviceInfo>& devices);

// Chooses a device of `drivers` as choose_device() does, and also decides auto. Errors also:
// device-failed when a platform failed that may have had the device.
[[nodiscard]] Result<std::optional<unsigned>> resolve_device(Drivers& drivers,
                                                             const DeviceChoice& choice,
                                                             const EngineOptions& options);

using SteadyNow = std::function<std::chrono::steady_clock::time_point()>;

// Returns the rate at which `engine` hashes data in host memory, in bytes per second. The result is
// the rate of the fastest of a few passes. While time is left, each pass hashes up to four times as
// much data as the pass before, at most 256 MiB. Measuring takes at most 0.3 s for an engine of 50
// MB/s or more. This time does not include one-time work: allocating memory and building kernels
// that are not in the cache. Needs 4 MiB of memory. Errors: those of the engine.
[[nodiscard]] Result<double> measure_rate(Engine& engine,
                                          const SteadyNow& now = std::chrono::steady_clock::now);

// Measures the bytes per second of OpenCL device `index`, or of the CPU engine for nullopt.
using MeasureRate = std::function<Result<double>(std::optional<unsigned> index)>;

// Chooses among `devices` (the OpenCL devices in order) and the CPU engine. `cpu` is the name and
// driver of the CPU engine. `measure` is called for each rate that `cache` does not hold.
[[nodiscard]] AutoChoice choose_auto(const std::vector<DeviceInfo>& devices, const std::string& cpu,
                                     const MeasureRate& measure, const KernelCache& cache);

}  // namespace assay::gpu_hash
