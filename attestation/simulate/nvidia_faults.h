// SPDX-License-Identifier: Apache-2.0
// Faults of simulated NVIDIA devices: one thing wrong each, and the error that it must have.
#pragma once

#include <span>
#include <string_view>

#include "attestation/simulate/nvidia_simulation.h"

namespace assay::attestation::nvidia {

// Members that are null change nothing.
struct DeviceFault {
  std::string_view name;   // "revoked"
  std::string_view error;  // of errors.def, with its parameter; empty: only a policy minds
  // The member of the acceptance (accept.h) or of a policy that decides, or "nonce". Empty: the
  // evidence is always refused.
  std::string_view needs{};
  void (*spec)(NvidiaSimulationSpec&) = nullptr;  // before anything is signed
  void (*made)(NvidiaSimulation&) = nullptr;      // afterwards
};
// Returns all faults, in the order of the errors.
[[nodiscard]] std::span<const DeviceFault> device_faults();
// Returns the fault of this name; null when there is none.
[[nodiscard]] const DeviceFault* find_device_fault(std::string_view name);

// Makes a GPU with the fault.
[[nodiscard]] NvidiaSimulation simulate(NvidiaSimulationSpec spec, const DeviceFault& fault);

}  // namespace assay::attestation::nvidia
