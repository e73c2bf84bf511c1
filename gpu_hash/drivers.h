// SPDX-License-Identifier: Apache-2.0
// Access to the drivers of OpenCL devices. A driver is foreign code: it can end or hang the process
// that calls it. Programs therefore have it called in processes of its own
// (gpu_hash/driver_process.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_hash/dispatch.h"
#include "gpu_hash/engine.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct BenchResult;

struct DeviceInfo {
  std::string id;        // as --device takes it: "cpu", "opencl:0"
  std::string name;      // name of the hardware
  std::string platform;  // "CPU engine" for the CPU engine
  std::string driver;    // version of the driver
  std::string type;      // "cpu", "gpu", "accelerator", "other"
  std::uint64_t memory_bytes = 0;
  std::uint64_t max_allocation_bytes = 0;  // 0 for the CPU engine
  unsigned compute_units = 0;
};

// An OpenCL platform (the driver of one vendor) without a usable device.
struct FailedPlatform {
  std::string name;  // of the platform, or of its file in the folder of vendors
  Error error;       // device-not-found: the platform has no device here; device-failed
};

struct DeviceListing {
  std::vector<DeviceInfo> devices;
  std::vector<FailedPlatform> failed;
};

// Returns whether list() has `a` before `b`.
[[nodiscard]] bool is_listed_before(const DeviceInfo& a, const DeviceInfo& b);

// Not thread-safe. The engines that it makes are, and may outlive it.
class Drivers {
 public:
  virtual ~Drivers() = default;

  // Lists the OpenCL devices: GPUs, accelerators, others, CPUs. Devices of one type are ordered by
  // name; the order of platforms has no effect.
  [[nodiscard]] virtual DeviceListing list() = 0;
  // Makes the engine on device `index` of list(). Errors: device-not-found, device-failed.
  [[nodiscard]] virtual Result<std::unique_ptr<Engine>> make_engine(
      unsigned index, const EngineOptions& options) = 0;
  // Measures the figures of bench_device() (gpu_hash/device.h) for device `index`. Errors: those of
  // make_engine() and Engine::hash().
  [[nodiscard]] virtual Result<BenchResult> bench(unsigned index, HashAlgorithm hash,
                                                  std::uint64_t bytes,
                                                  const EngineOptions& options) = 0;
};

// Drivers that are called in this process, and can end it: for processes that serve no other
// purpose, for tests and for benchmarks.
[[nodiscard]] Drivers& drivers_in_this_process();

}  // namespace assay::gpu_hash
