// SPDX-License-Identifier: Apache-2.0
// What can be wrong with simulated evidence: one thing each, and the error that it must have.
#pragma once

#include <span>
#include <string_view>

#include "attestation/simulate/simulation.h"

namespace assay::attestation::tdx {

// Members that are null change nothing.
struct Fault {
  std::string_view name;                    // "quote-signature"
  std::string_view error;                   // of errors.def, with its parameter
  void (*spec)(SimulationSpec&) = nullptr;  // before anything is signed
  void (*quote)(Bytes&) = nullptr;          // afterwards
  void (*collateral)(Collateral&) = nullptr;
  void (*event_log)(Bytes&) = nullptr;
};
[[nodiscard]] std::span<const Fault> faults();
// Returns the fault of this name; null when there is none.
[[nodiscard]] const Fault* find_fault(std::string_view name);

// Makes evidence with the fault.
[[nodiscard]] Simulation simulate(SimulationSpec spec, const Fault& fault);

}  // namespace assay::attestation::tdx
