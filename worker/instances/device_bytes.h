// SPDX-License-Identifier: Apache-2.0
// How much memory of devices some processes hold, according to the driver of the devices. What the
// processes themselves say about this is never used.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/core/error.h"

namespace assay::worker {

// One process that computes on one device.
struct DeviceProcess {
  std::string device;  // UUID ("GPU-...")
  std::int64_t pid = 0;
  // All bytes that the process holds on `device`; absent when the driver does not say.
  std::optional<std::uint64_t> bytes{};
  bool operator==(const DeviceProcess&) const = default;
};

// A driver that is asked for the processes on its devices. Thread-safe.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  // Returns the processes on all devices. Pids are those of this process's pid namespace; processes
  // of another pid namespace may be missing or have wrong pids. Errors: device-not-found when this
  // machine has no such driver; device-failed; limit-exceeded.
  [[nodiscard]] virtual Result<std::vector<DeviceProcess>> processes() = 0;
};

// A process that registered memory.
struct RegisteredProcess {
  std::int64_t pid = 0;
  std::string device;  // UUID of the device with its registered memory; empty: none
};

// Returns the bytes that these processes hold together on all devices, not only on the devices
// where they registered memory. A process that occurs several times in `processes` is counted once.
// Returns nullopt in these cases: no process has a device; the driver fails; the driver does not
// list a process on the device where the process registered memory; the driver does not say how
// many bytes one of the processes holds; or the sum is 2^53 or more.
[[nodiscard]] std::optional<std::uint64_t> device_bytes_of(
    std::span<const RegisteredProcess> processes, DeviceDriver& driver);

}  // namespace assay::worker
