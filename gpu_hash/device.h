// SPDX-License-Identifier: Apache-2.0
// Devices for people: what there is, whether it computes right, and how fast it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu_hash/dispatch.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct DeviceInfo {
  std::string id;        // for --device: "cpu", "opencl:0"
  std::string name;      // of the hardware
  std::string platform;  // "CPU engine" for the CPU engine
  std::string driver;    // version
  std::string type;      // "cpu", "gpu", "accelerator", "other"
  std::uint64_t memory_bytes = 0;
  std::uint64_t max_allocation_bytes = 0;  // 0 for the CPU engine
  unsigned compute_units = 0;
};

// The CPU engine first, then the OpenCL devices: GPUs, accelerators, others, CPUs; among equals by
// name. The order of platforms never matters. device-failed when a platform cannot be asked.
[[nodiscard]] Result<std::vector<DeviceInfo>> list_devices();

struct SelfTest {
  DeviceInfo device;
  Status result;  // device-self-test-failed, device-failed
};

// Computes the known answers on every device, the CPU engine included.
[[nodiscard]] Result<std::vector<SelfTest>> self_test_devices();

struct BenchResult {
  EngineInfo engine;
  std::uint64_t bytes = 0;  // measured per figure
  // Bytes per second. `resident`: data already where the engine computes; `streamed`: from host
  // memory to the root.
  double resident = 0;
  double streamed = 0;
  // The limits beside them, measured in the same run: a copy inside the memory that `resident`
  // reads (bytes copied, not read plus written), and the copy that `streamed` needs.
  double resident_copy = 0;
  double streamed_copy = 0;
  std::string variant{};  // of the kernels, as chosen for the device; empty for the CPU engine
};

// Measures one device with `bytes` of data (rounded to whole slices, at least one) and the given
// algorithm at the default chunk size. Takes at most `bytes` of extra host memory.
[[nodiscard]] Result<BenchResult> bench_device(const DeviceChoice& choice, HashAlgorithm hash,
                                               std::uint64_t bytes,
                                               const EngineOptions& options = {});

}  // namespace assay::gpu_hash
