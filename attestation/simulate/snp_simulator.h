// SPDX-License-Identifier: Apache-2.0
// Evidence of a simulated SEV-SNP guest, as simulator.h makes that of TDX.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "attestation/simulate/simulator.h"
#include "attestation/snp/generation.h"
#include "attestation/snp/report.h"
#include "schemas/core/clock.h"

namespace assay::attestation {

struct SnpSimulatorOptions {
  // PKI, chip and measurements follow from the seed: it is a secret where this root counts.
  Bytes seed;
  snp::Generation generation = snp::Generation::kMilan;
  snp::SigningKey signing_key = snp::SigningKey::kVcek;
  // Replaces the chip id that follows from the seed, so that several simulated machines can share
  // one seed and one root. A VLEK has none.
  std::optional<snp::ChipId> chip{};
  std::string fault{};  // name of what is wrong with the evidence (snp_faults.h); empty: nothing
};

// Makes a provider of simulated evidence. `clock` must outlive it. Errors: invalid-parameter for a
// seed of another length than 1 to 4096 bytes, and for an unknown fault.
[[nodiscard]] Result<std::unique_ptr<Simulator>> make_snp_simulator(SnpSimulatorOptions options,
                                                                    const Clock& clock);

}  // namespace assay::attestation
