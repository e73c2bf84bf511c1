// SPDX-License-Identifier: Apache-2.0
// The tables that faults() joins.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attestation/simulate/faults.h"

namespace assay::attestation::tdx {

[[nodiscard]] std::span<const Fault> quote_faults();       // its structure
[[nodiscard]] std::span<const Fault> chain_faults();       // root CRL, PCK chain and its CRL
[[nodiscard]] std::span<const Fault> collateral_faults();  // TCB info and QE identity
[[nodiscard]] std::span<const Fault> machine_faults();     // enclave, module, TD, event log

// A name of no certificate, and a key that nobody trusts.
inline constexpr std::string_view kUnknownName = "Intel SGX Somebody";
inline constexpr std::string_view kUnknownKey = "somebody";

// Returns a specification like `spec` of a PKI that nobody trusts.
[[nodiscard]] SimulationSpec foreign(const SimulationSpec& spec);
// Changes one bit of the last byte of a hex text.
void change_last_byte(std::string& hex);

}  // namespace assay::attestation::tdx
