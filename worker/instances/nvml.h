// SPDX-License-Identifier: Apache-2.0
// Asks the NVIDIA driver through its management library (NVML). The library is installed with the
// driver. It is opened at run time, so this program also runs on machines without the driver.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker/instances/device_bytes.h"

namespace assay::worker {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Lists only compute processes; processes that only use graphics are left out. The node agent must
// run in the host's pid namespace to see the processes of pods.
class Nvml final : public DeviceDriver {
 public:
  // `library` is the name that dlopen() gets. The first call of processes() opens the library. When
  // that fails, the next call tries again.
  explicit Nvml(std::string library = kNvmlLibrary);
  ~Nvml() override;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] Result<std::vector<DeviceProcess>> processes() override;

 private:
  struct Functions;
  [[nodiscard]] Status open();  // with mutex_ held
  [[nodiscard]] Status add_device(unsigned index, std::vector<DeviceProcess>& found) const;

  std::string library_;
  std::mutex mutex_;
  std::unique_ptr<Functions> functions_;  // null: not open
};

}  // namespace assay::worker
