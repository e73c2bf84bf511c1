// SPDX-License-Identifier: Apache-2.0
// How much memory of devices processes hold, as the driver of the devices says. What a process says
// of itself is never asked for.
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
  // All that it holds there; absent when the driver does not say.
  std::optional<std::uint64_t> bytes{};
  bool operator==(const DeviceProcess&) const = default;
};

// A driver that is asked for the processes on its devices. Thread-safe.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  // Returns the processes on all devices, by pids of this process's pid namespace: processes of
  // another one may be left out or have other numbers. Errors: device-not-found (there is no such
  // driver here), device-failed, limit-exceeded.
  [[nodiscard]] virtual Result<std::vector<DeviceProcess>> processes() = 0;
};

// A process that registered memory.
struct RegisteredProcess {
  std::int64_t pid = 0;
  std::string device;  // UUID that its memory lies on; empty: none
};

// The bytes that these processes hold together, on all devices and not only where they registered
// memory. A process that stands there several times counts once. Absent, because not known: when no
// process has a device, when the driver fails, does not list a process on the device that the
// process registered memory of, or does not say how many bytes one of them holds.
[[nodiscard]] std::optional<std::uint64_t> device_bytes_of(
    std::span<const RegisteredProcess> processes, DeviceDriver& driver);

}  // namespace assay::worker
