// SPDX-License-Identifier: Apache-2.0
// The only place that chooses an engine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// What --device says.
struct DeviceChoice {
  enum class Kind : std::uint8_t { kAuto, kCpu, kOpenCl };
  Kind kind = Kind::kAuto;
  // Position in list_devices() among the OpenCL devices, or part of a device's name; with neither,
  // the first OpenCL device (GPUs come first).
  std::optional<unsigned> index{};
  std::string name{};
  // Several OpenCL devices that share the work: at least two positions, none of them twice; or all
  // devices that are no CPUs, and the first CPU where there is nothing else.
  std::vector<unsigned> indices{};
  bool all = false;
};

// Devices that can share the work.
inline constexpr std::size_t kMaxSharingDevices = 16;

// Parses "auto", "cpu", "opencl", "opencl:N", "opencl:NAME" (NAME occurs in the name of exactly one
// device), "opencl:all" or "opencl:N,N..." (at most kMaxSharingDevices). usage otherwise.
[[nodiscard]] Result<DeviceChoice> parse_device(std::string_view text);

struct EngineOptions {
  unsigned threads = 0;  // of the CPU engine and of readers; 0 is one per core this process may use
  // OpenCL: bytes of one transfer to the device, rounded down to a power of two and to what the
  // device allows; 0 chooses.
  std::uint64_t slice_bytes = 0;
};

// Makes the engine; an OpenCL engine has passed its self-test before it hashes anything. Several
// devices make one engine (spread/engine.h), and `threads` are divided among them. `auto` is
// what auto_choice.h says: the fastest by measurement, and never a CPU that offers OpenCL, which is
// slower than the CPU engine and is used only when it is asked for.
// Errors: device-not-found, device-self-test-failed, device-failed.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(const DeviceChoice& choice,
                                                          const EngineOptions& options = {});

}  // namespace assay::gpu_hash
