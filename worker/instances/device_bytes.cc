// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/device_bytes.h"

#include <algorithm>
#include <set>

namespace assay::worker {

std::optional<std::uint64_t> device_bytes_of(std::span<const RegisteredProcess> processes,
                                             DeviceDriver& driver) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;  // what a report can say is below
  const auto has_none = [](const RegisteredProcess& one) { return one.device.empty(); };
  if (std::ranges::all_of(processes, has_none)) {
    return std::nullopt;
  }
  const Result<std::vector<DeviceProcess>> listed = driver.processes();
  if (!listed) {
    return std::nullopt;
  }
  std::set<std::int64_t> pids;
  for (const RegisteredProcess& process : processes) {
    const auto is_it = [&](const DeviceProcess& one) {
      return one.pid == process.pid && one.device == process.device;
    };
    if (!process.device.empty() && std::ranges::none_of(*listed, is_it)) {
      return std::nullopt;
    }
    pids.insert(process.pid);
  }
  std::uint64_t bytes = 0;
  for (const DeviceProcess& one : *listed) {
    if (!pids.contains(one.pid)) {
      continue;
    }
    if (!one.bytes || *one.bytes >= kMost - bytes) {
      return std::nullopt;
    }
    bytes += *one.bytes;
  }
  return bytes;
}

}  // namespace assay::worker
