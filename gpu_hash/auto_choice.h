// SPDX-License-Identifier: Apache-2.0
// What --device auto takes: the engine that brings host memory to a root fastest, by measurement.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/opencl/kernel_cache.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct AutoChoice {
  std::optional<unsigned> index;  // among the OpenCL devices; nothing is the CPU engine
  std::string id;                 // as --device takes it
  std::string reason;             // one sentence for people
};

// On this machine. A device is measured once (measure_rate()), and the rates are kept in the user's
// cache under device, driver and processor. Nothing is measured without a GPU or accelerator: an
// OpenCL device on a CPU is never faster than the CPU engine. A device that fails, its self-test
// for one, is not taken.
[[nodiscard]] AutoChoice choose_auto(const EngineOptions& options = {});

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
