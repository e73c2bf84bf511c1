// SPDX-License-Identifier: Apache-2.0
// Faults of simulated SEV-SNP evidence: one thing wrong each, and the error that it must have.
// There is a fault for every error of attestation/snp/errors.def to which bytes can lead.
#pragma once

#include <span>
#include <string_view>

#include "attestation/simulate/snp_simulation.h"
#include "attestation/snp/error.h"

namespace assay::attestation::snp {

// Members that are null change nothing.
struct SnpFault {
  std::string_view name;   // "report-signer"
  std::string_view error;  // of errors.def, with its parameter
  // A member of the appraisal policy, or "report data", that must be asked for, or the evidence is
  // accepted. Empty: the evidence is always refused.
  std::string_view needs{};
  void (*spec)(SnpSimulationSpec&) = nullptr;  // before anything is signed
  void (*evidence)(Bytes&) = nullptr;          // afterwards
  void (*collateral)(Collateral&) = nullptr;
};
// Returns all faults, in the order of the errors.
[[nodiscard]] std::span<const SnpFault> snp_faults();
// Returns the fault of this name; null when there is none.
[[nodiscard]] const SnpFault* find_snp_fault(std::string_view name);

// An error that no fault has, and why bytes cannot lead to it.
struct SnpErrorWithoutFault {
  SnpError error;
  std::string_view reason;
};
[[nodiscard]] std::span<const SnpErrorWithoutFault> snp_errors_without_fault();

// Makes evidence with the fault.
[[nodiscard]] SnpSimulation simulate(SnpSimulationSpec spec, const SnpFault& fault);

}  // namespace assay::attestation::snp
