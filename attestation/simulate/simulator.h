// SPDX-License-Identifier: Apache-2.0
// Evidence of a simulated TDX machine: genuine in every respect but its root, which is accepted
// only where it is configured as a dangerous anchor.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "attestation/provider/provider.h"
#include "schemas/core/clock.h"

namespace assay::attestation {

inline constexpr std::size_t kMaxSimulatorSeedBytes = 4096;

struct SimulatorOptions {
  // PKI, platform and measurements follow from it: whoever knows it can make this evidence.
  Bytes seed;
  // What the collateral says about the platform: a status that platforms may have.
  std::string tcb_status = "UpToDate";
  // 4, or 5 for a TD 1.5.
  std::uint64_t quote_version = 4;
  // PPID in place of the seed's own: several machines under one root.
  std::optional<std::array<std::uint8_t, 16>> platform;
};

// Evidence is made as of the clock's time; collateral lasts for 29 days from it.
class Simulator : public EvidenceProvider {
 public:
  // DER of the root certificate, for those who configure it. Follows from the seed alone.
  [[nodiscard]] virtual Bytes root() const = 0;
};

// `clock` must outlive the simulator. invalid-parameter: no seed, or one above
// kMaxSimulatorSeedBytes, an unknown status, another version.
[[nodiscard]] Result<std::unique_ptr<Simulator>> make_simulator(SimulatorOptions options,
                                                                const Clock& clock);

}  // namespace assay::attestation
