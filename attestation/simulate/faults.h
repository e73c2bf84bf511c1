// SPDX-License-Identifier: Apache-2.0
// What can be wrong with simulated evidence: one thing each, and the error that it must have. There
// is a fault for every error of errors.def to which bytes of evidence and collateral can lead.
#pragma once

#include <span>
#include <string_view>

#include "attestation/simulate/simulation.h"
#include "attestation/tdx/error.h"

namespace assay::attestation::tdx {

// Members that are null change nothing.
struct Fault {
  std::string_view name;   // "quote-signer"
  std::string_view error;  // of errors.def, with its parameter
  // What must be asked for, or the evidence is accepted: a member of the appraisal policy, or
  // "report data". Empty: the evidence is always refused.
  std::string_view needs{};
  void (*spec)(SimulationSpec&) = nullptr;  // before anything is signed
  void (*quote)(Bytes&) = nullptr;          // afterwards
  void (*collateral)(Collateral&) = nullptr;
  void (*event_log)(Bytes&) = nullptr;
  void (*made)(const SimulationSpec&,
               Simulation&) = nullptr;  // afterwards, with what it is made of
};
// Returns all faults, in the order of the errors.
[[nodiscard]] std::span<const Fault> faults();
// Returns the fault of this name; null when there is none.
[[nodiscard]] const Fault* find_fault(std::string_view name);

// An error that no fault has, and why bytes cannot lead to it.
struct ErrorWithoutFault {
  TdxError error;
  std::string_view reason;
};
[[nodiscard]] std::span<const ErrorWithoutFault> errors_without_fault();

// Makes evidence with the fault.
[[nodiscard]] Simulation simulate(SimulationSpec spec, const Fault& fault);

}  // namespace assay::attestation::tdx
