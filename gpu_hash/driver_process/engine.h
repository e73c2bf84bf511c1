// SPDX-License-Identifier: Apache-2.0
// A device that a process of its own drives, as an engine.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu_hash/driver_process.h"
#include "gpu_hash/driver_process/process.h"
#include "gpu_hash/engine.h"

namespace assay::gpu_hash {

// Where a device is found.
struct DevicePlace {
  std::string vendors;  // as serve_driver() takes it
  unsigned index = 0;   // among the devices that such a process lists
  std::string id;       // in the form of --device
  std::string name;
};

// Hashes host memory and files. The process is started again when it ended between two calls, and
// after a call that failed by it. Errors of hash() also: device-failed when the process ends, hangs
// or violates the protocol, and when another process finds another device in this place;
// limit-exceeded for more than 256 MiB of host memory in one call.
class ProcessEngine final : public Engine {
 public:
  // Takes `process`, when there is one, as the first that has the device. Errors: device-not-found,
  // device-failed.
  [[nodiscard]] static Result<std::unique_ptr<ProcessEngine>> create(
      DriverProgram program, DevicePlace place, const EngineOptions& options,
      std::unique_ptr<DriverProcess> process);

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  // A stop ends the process.
  [[nodiscard]] Result<std::vector<ObjectDigests>> hash(std::span<const Region> regions,
                                                        const HashRequest& request) override;
  [[nodiscard]] DeriveRoom derive_room() const override { return kDeviceDeriveRoom; }
  [[nodiscard]] Result<Derived> derive(const DeriveRequest& derivation,
                                       const HashRequest& request) override;

 private:
  ProcessEngine(DriverProgram program, DevicePlace place, const EngineOptions& options)
      : program_(std::move(program)), place_(std::move(place)), options_(options) {}
  [[nodiscard]] Result<EngineInfo> open();
  [[nodiscard]] Status revive();
  // Has the process hash or derive; `sizes` are those of the objects whose digests it answers.
  [[nodiscard]] Result<std::vector<ObjectDigests>> call(std::span<const Region> regions,
                                                        std::vector<std::uint64_t> sizes,
                                                        const HashRequest& request,
                                                        const DeriveRequest* derivation);

  const DriverProgram program_;
  const DevicePlace place_;
  const EngineOptions options_;
  EngineInfo info_;  // does not change after create()
  std::mutex mutex_;
  std::unique_ptr<DriverProcess> process_;  // guarded by mutex_; null: start one
};

}  // namespace assay::gpu_hash
