// SPDX-License-Identifier: Apache-2.0
// Evidence of the accelerators of a node, for its enrolment: the machine's own devices, simulated
// ones, or none.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attestation/provider/device_evidence.h"
#include "schemas/core/clock.h"

namespace assay::worker {

struct DeviceEvidenceOptions {
  std::string kind = "auto";  // or "require", "none", "simulate"
  std::string seed{};         // of "simulate": file
  std::uint64_t count = 1;    // of "simulate": GPUs
  std::uint64_t first = 0;    // of "simulate": number of the first GPU
};

struct CollectedDevices {
  std::vector<PresentedDevice> devices;
  // Why there are none, where that is no failure: device-not-found, device-not-confidential.
  std::optional<Error> without{};
};

class DeviceEvidence {
 public:
  // `is_required`: a machine without evidence of devices is an error.
  DeviceEvidence(std::unique_ptr<attestation::DeviceEvidenceSource> source, bool is_required)
      : source_(std::move(source)), is_required_(is_required) {}

  // Asks all devices for evidence that answers `device_nonce` (schemas/evidence.h). Errors: those
  // of DeviceEvidenceSource; evidence-unavailable when there must be devices, and are none.
  [[nodiscard]] Result<CollectedDevices> collect(const Nonce& device_nonce);

 private:
  std::unique_ptr<attestation::DeviceEvidenceSource> source_;
  bool is_required_;
};

// Makes the source; null for "none". `clock` must outlive it. Errors: usage for options that do not
// fit together; those of reading the seed.
[[nodiscard]] Result<std::unique_ptr<DeviceEvidence>> make_device_evidence(
    const Clock& clock, const DeviceEvidenceOptions& options);

}  // namespace assay::worker
