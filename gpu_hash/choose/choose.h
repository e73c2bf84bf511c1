// SPDX-License-Identifier: Apache-2.0
// The choice between engines as pure functions: what depends on the machine is a parameter.
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

// Index of the OpenCL device to use out of `devices` (in the order of list_devices()), or nothing
// for the CPU engine. device-not-found; usage when the choice is of several devices; internal for
// auto, which is choose_auto().
[[nodiscard]] Result<std::optional<unsigned>> choose_device(const DeviceChoice& choice,
                                                            const std::vector<DeviceInfo>& devices);

// True when `choice` may be of several OpenCL devices.
[[nodiscard]] bool chooses_several(const DeviceChoice& choice);

// Their indices, at least one. device-not-found; limit-exceeded when there are more than can share
// the work.
[[nodiscard]] Result<std::vector<unsigned>> choose_devices(const DeviceChoice& choice,
                                                           const std::vector<DeviceInfo>& devices);

// choose_device() on this machine, auto included.
[[nodiscard]] Result<std::optional<unsigned>> resolve_device(const DeviceChoice& choice,
                                                             const EngineOptions& options);

using SteadyNow = std::function<std::chrono::steady_clock::time_point()>;

// Bytes per second from host memory to roots: the best of a few passes that grow as long as there
// is time. At most 0.3 s for an engine of 50 MB/s or more, beside what it does once: making memory,
// and building kernels that are not in the cache. Needs 4 MiB of memory. Errors of the engine.
[[nodiscard]] Result<double> measure_rate(Engine& engine,
                                          const SteadyNow& now = std::chrono::steady_clock::now);

// Bytes per second of OpenCL device `index`, or of the CPU engine.
using MeasureRate = std::function<Result<double>(std::optional<unsigned> index)>;

// The choice among `devices` (the OpenCL devices in order) and the CPU engine, which `cpu` names
// with its driver. `measure` is asked for what `cache` does not know.
[[nodiscard]] AutoChoice choose_auto(const std::vector<DeviceInfo>& devices, const std::string& cpu,
                                     const MeasureRate& measure, const KernelCache& cache);

}  // namespace assay::gpu_hash
