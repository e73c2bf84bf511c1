// SPDX-License-Identifier: Apache-2.0
// Chooses and makes engines. No other file chooses an engine.
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

class Drivers;

// A parsed value of --device.
struct DeviceChoice {
  enum class Kind : std::uint8_t { kAuto, kCpu, kOpenCl };
  Kind kind = Kind::kAuto;
  // `index` is a position among the OpenCL devices of list_devices(), and `name` is a part of a
  // device's name. When neither is given, the first OpenCL device is chosen (GPUs come first).
  std::optional<unsigned> index{};
  std::string name{};
  // Several OpenCL devices that share the work. `indices` holds at least two different positions,
  // or is empty. `all` means all devices that are not CPUs; when there are only CPUs, the first
  // CPU.
  std::vector<unsigned> indices{};
  bool all = false;
};

// The largest number of devices that can share the work.
inline constexpr std::size_t kMaxSharingDevices = 16;

// Parses "auto", "cpu", "opencl", "opencl:N", "opencl:NAME", "opencl:all" or "opencl:N,N..." (at
// most kMaxSharingDevices numbers). NAME must occur in the name of exactly one device. Errors:
// usage for any other text.
[[nodiscard]] Result<DeviceChoice> parse_device(std::string_view text);

struct EngineOptions {
  // Number of threads of the CPU engine, or of threads that read data for another engine. 0: one
  // for each core that this process may use, but at most 12 threads that read.
  unsigned threads = 0;
  // OpenCL: bytes of data that are hashed together, rounded down to a power of two and to what the
  // device allows, but at least 1 MiB. 0: the engine chooses.
  std::uint64_t slice_bytes = 0;
  // OpenCL: device memory for the digests and tags of a batch, which is device memory that is
  // hashed together; batches take up to three queues in turn. 0: 768 MiB, so that the whole
  // memory of a GPU is one batch. With 24 MiB an H200 hashes 1 % slower, and 4 % slower with tags.
  std::uint64_t batch_bytes = 0;
};

// Makes the engine for `choice`. An OpenCL engine passes its self-test before it hashes anything.
// Several devices are combined into one engine (spread/engine.h), and `threads` are divided among
// them. Auto means the fastest engine by measurement (auto_choice.h). Auto never means an OpenCL
// device on a CPU, because the CPU engine is faster; such a device is used only when `choice` names
// it.
// Errors: device-not-found, device-self-test-failed; device-failed, also when a platform failed
// that may have had the device.
[[nodiscard]] Result<std::unique_ptr<Engine>> make_engine(Drivers& drivers,
                                                          const DeviceChoice& choice,
                                                          const EngineOptions& options = {});

}  // namespace assay::gpu_hash
