// SPDX-License-Identifier: Apache-2.0
// A simulated machine with several NVIDIA devices, of which one can be faulty.
#pragma once

#include <string>
#include <vector>

#include "attestation/simulate/nvidia_simulation.h"
#include "schemas/core/error.h"

namespace assay::attestation {

inline constexpr unsigned kMaxSimulatedGpus = 32;
inline constexpr unsigned kMaxSimulatedGpuNumber = 1'000'000;

struct SimulatedGpus {
  // PKI, devices and measurements follow from the seed: it is a secret where this root counts.
  Bytes seed{};
  nvidia::Architecture architecture = nvidia::Architecture::kHopper;
  unsigned count = 1;
  unsigned first = 0;  // number of the first GPU: several machines can share a seed and a root
  // Protected PCIe: eight GPUs from a multiple of eight, and the four switches between them.
  nvidia::DeviceMode mode = nvidia::DeviceMode::kConfidential;
  std::string fault{};  // of the last GPU (nvidia_faults.h); empty: nothing
};

struct SimulatedMachine {
  std::vector<nvidia::NvidiaSimulation> devices;  // GPUs, then switches
  Json collateral;                                // of all of them
  Bytes root;                                     // DER, the one of a sound device
};
// Makes the evidence of all devices, for `nonce`. Errors: invalid-parameter for a seed of another
// length than 1 to 4096 bytes, an unknown fault, and counts that there are not.
[[nodiscard]] Result<SimulatedMachine> simulate_machine(const SimulatedGpus& options, Timestamp now,
                                                        const nvidia::Nonce& nonce);

}  // namespace assay::attestation
