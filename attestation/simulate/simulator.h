// SPDX-License-Identifier: Apache-2.0
// Evidence of a simulated TDX machine. It differs from genuine evidence only in its root
// certificate. It is accepted only where this root is configured as a dangerous anchor (Appraisal
// in schemas/trust.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attestation/provider/provider.h"
#include "schemas/core/clock.h"

namespace assay::attestation {

inline constexpr std::size_t kMaxSimulatorSeedBytes = 4096;

struct SimulatorOptions {
  // PKI, platform and measurements follow from the seed. Whoever knows the seed can make this
  // evidence.
  Bytes seed;
  // TCB status of the platform according to the collateral, or one of the two that advise to start
  // the TD again, which a version 5 quote can have.
  std::string tcb_status = "UpToDate";
  // 4, or 5 for a quote of a TD 1.5.
  std::uint64_t quote_version = 4;
  // Replaces the PPID that follows from the seed, so that several simulated machines can share one
  // seed and one root. Absent: the PPID of the seed.
  std::optional<std::array<std::uint8_t, 16>> platform{};
  std::string fault{};  // name of what is wrong with the evidence (faults.h); empty: nothing
};

// Returns the statuses that a simulated platform can have, in Intel's spelling. All that there are.
[[nodiscard]] std::vector<std::string> simulated_statuses();

// A provider of simulated evidence. Evidence is made for the time of the clock, and its collateral
// is valid for 29 days from that time.
class Simulator : public EvidenceProvider {
 public:
  // Returns the DER of the root certificate, which a verifier can configure as an anchor. It
  // follows from the seed alone.
  [[nodiscard]] virtual Bytes root() const = 0;
};

// Makes a simulator. `clock` must outlive it. Errors: invalid-parameter for an empty seed, a seed
// longer than kMaxSimulatorSeedBytes, an unknown status, version or fault, and a status that quotes
// of the version cannot have.
[[nodiscard]] Result<std::unique_ptr<Simulator>> make_simulator(SimulatorOptions options,
                                                                const Clock& clock);

}  // namespace assay::attestation
