// SPDX-License-Identifier: Apache-2.0
// The choice between devices, and where their absence is no failure.
#include "worker/device_evidence.h"

#include <utility>

#include "attestation/simulate/nvidia_devices.h"
#include "attestation/simulate/simulator.h"
#include "client/files.h"

namespace assay::worker {
namespace {

bool is_absence(ErrorCode code) {
  return code == ErrorCode::kDeviceNotFound || code == ErrorCode::kDeviceNotConfidential;
}

Result<std::unique_ptr<attestation::DeviceEvidenceSource>> simulated_source(
    const Clock& clock, const DeviceEvidenceOptions& options) {
  if (options.seed.empty() || options.count > attestation::kMaxSimulatedGpus ||
      options.first > attestation::kMaxSimulatedGpuNumber) {
    return fail(ErrorCode::kUsage, "Simulated GPUs need --device-seed, and are 32 at most");
  }
  attestation::SimulatedGpus gpus;
  ASSAY_ASSIGN(gpus.seed, client::read_file(options.seed, attestation::kMaxSimulatorSeedBytes));
  gpus.count = static_cast<unsigned>(options.count);
  gpus.first = static_cast<unsigned>(options.first);
  return attestation::make_simulated_devices(std::move(gpus), clock);
}

}  // namespace

Result<CollectedDevices> DeviceEvidence::collect(const Nonce& device_nonce) {
  auto devices = source_->collect(device_nonce);
  if (!devices) {
    if (is_required_ || !is_absence(devices.error().code)) {
      return std::unexpected(std::move(devices).error());
    }
    return CollectedDevices{{}, std::move(devices).error()};
  }
  if (is_required_ && devices->empty()) {
    return fail(ErrorCode::kEvidenceUnavailable, "This machine has no GPU that gives evidence");
  }
  return CollectedDevices{*std::move(devices)};
}

Result<std::unique_ptr<DeviceEvidence>> make_device_evidence(const Clock& clock,
                                                             const DeviceEvidenceOptions& options) {
  if (options.kind == "none") {
    return nullptr;
  }
  if (options.kind == "simulate") {
    ASSAY_ASSIGN(auto source, simulated_source(clock, options));
    return std::make_unique<DeviceEvidence>(std::move(source), true);
  }
  if (!options.seed.empty()) {
    return fail(ErrorCode::kUsage, "--device-seed goes with --device-evidence simulate");
  }
  return std::make_unique<DeviceEvidence>(attestation::make_machine_devices(),
                                          options.kind == "require");
}

}  // namespace assay::worker
