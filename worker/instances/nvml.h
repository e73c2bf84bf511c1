// SPDX-License-Identifier: Apache-2.0
// The NVIDIA driver, through its management library (NVML). The library is a part of the driver: it
// is opened at run time where there is one, and nothing is linked against it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker/instances/device_bytes.h"

namespace assay::worker {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// Compute processes alone: what only draws on a device is not listed. The node agent must run in
// the host's pid namespace to see the processes of pods.
class Nvml final : public DeviceDriver {
 public:
  // `library` is what dlopen() takes. The library is opened by the first call that needs it, and
  // again by the next call while that fails.
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
