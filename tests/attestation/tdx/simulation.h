// SPDX-License-Identifier: Apache-2.0
// Runs simulated evidence through the verifier: a valid builder, to which each test makes one
// change.
#pragma once

#include <span>
#include <string>

#include "attestation/simulate/simulation.h"
#include "attestation/tdx/verify.h"

namespace assay::attestation::tdx::testing {

// 2026-03-01T12:00:00Z. Collateral of valid_simulation() lasts from 2026-02-28 to 2026-03-30.
[[nodiscard]] Timestamp now();
[[nodiscard]] Bytes seed();

// Specifications that are accepted as UpToDate at now().
[[nodiscard]] SimulationSpec valid_v4();
[[nodiscard]] SimulationSpec valid_v5();

struct Options {
  Timestamp now = testing::now();
  AppraisalPolicy policy;
  ReportDataExpectation report_data = ReportDataExpectation::not_requested();
  bool with_event_log = false;  // true: the verifier is given the log of the simulation
};

// Under the simulation's own root, unless `anchors` says otherwise.
[[nodiscard]] AppraisalResult run(const Simulation& simulation, const Options& options = {});
[[nodiscard]] AppraisalResult run(const Simulation& simulation,
                                  std::span<const TrustAnchor> anchors,
                                  const Options& options = {});

// "OK:UpToDate" or the error code.
[[nodiscard]] std::string verdict(const AppraisalResult& result);
[[nodiscard]] std::string verdict(const Simulation& simulation, const Options& options = {});
[[nodiscard]] std::string verdict(const SimulationSpec& spec, const Options& options = {});

// The simulation's collateral, authenticated under its own root.
[[nodiscard]] AuthenticatedCollateral authenticate(const Simulation& simulation);

}  // namespace assay::attestation::tdx::testing
