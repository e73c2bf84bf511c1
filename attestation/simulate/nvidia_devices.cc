// SPDX-License-Identifier: Apache-2.0
// The machine of nvidia_machine.h, asked again each time.
#include "attestation/simulate/nvidia_devices.h"

#include <utility>

namespace assay::attestation {
namespace {

class SimulatedDevices final : public DeviceEvidenceSource {
 public:
  SimulatedDevices(SimulatedGpus options, const Clock& clock)
      : options_(std::move(options)), clock_(clock) {}

  [[nodiscard]] Result<std::vector<ListedDevice>> list() override {
    ASSAY_ASSIGN(const SimulatedMachine machine, simulate_machine(options_, clock_.now(), {}));
    std::vector<ListedDevice> all;
    for (const nvidia::NvidiaSimulation& device : machine.devices) {
      const std::string architecture = device.evidence.at("arch").get<std::string>();
      all.push_back({device.uuid, architecture == "LS10" ? "switch" : "gpu", architecture,
                     std::string(nvidia::name(options_.mode))});
    }
    return all;
  }

  [[nodiscard]] Result<std::vector<PresentedDevice>> collect(const Nonce& nonce) override {
    ASSAY_ASSIGN(const SimulatedMachine machine, simulate_machine(options_, clock_.now(), nonce));
    std::vector<PresentedDevice> all;
    for (const nvidia::NvidiaSimulation& device : machine.devices) {
      all.push_back({device.uuid, Evidence{.type = std::string(kNvidiaEvidence),
                                           .quote = to_bytes(device.evidence.dump()),
                                           .event_log = {},
                                           .collateral = nullptr}});
    }
    return all;
  }

 private:
  SimulatedGpus options_;
  const Clock& clock_;
};

}  // namespace

Result<std::unique_ptr<DeviceEvidenceSource>> make_simulated_devices(SimulatedGpus options,
                                                                     const Clock& clock) {
  ASSAY_TRY(simulate_machine(options, clock.now(), {}));
  return std::make_unique<SimulatedDevices>(std::move(options), clock);
}

}  // namespace assay::attestation
