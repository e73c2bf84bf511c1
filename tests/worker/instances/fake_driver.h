// SPDX-License-Identifier: Apache-2.0
// A driver of devices that says what a test says.
#pragma once

#include <utility>
#include <vector>

#include "worker/instances/device_bytes.h"

namespace assay::worker::test {

class FakeDriver final : public DeviceDriver {
 public:
  explicit FakeDriver(std::vector<DeviceProcess> processes) : list(std::move(processes)) {}
  [[nodiscard]] Result<std::vector<DeviceProcess>> processes() override { return list; }

  Result<std::vector<DeviceProcess>> list;
};

}  // namespace assay::worker::test
