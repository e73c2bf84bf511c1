// SPDX-License-Identifier: Apache-2.0
// Simulated devices as a source of evidence.
#pragma once

#include <memory>

#include "attestation/provider/device_evidence.h"
#include "attestation/simulate/nvidia_machine.h"
#include "schemas/core/clock.h"

namespace assay::attestation {

// Makes the source. `clock` must outlive it. Its evidence
// comes without collateral, as that of hardware. Errors: those of simulate_machine().
[[nodiscard]] Result<std::unique_ptr<DeviceEvidenceSource>> make_simulated_devices(
    SimulatedGpus options, const Clock& clock);

}  // namespace assay::attestation
