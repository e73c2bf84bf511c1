// SPDX-License-Identifier: Apache-2.0
#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx::testing {

Timestamp now() { return parse_rfc3339("2026-03-01T12:00:00Z").value(); }
Bytes seed() { return to_bytes("tests of attestation/tdx"); }

SimulationSpec valid_v4() { return valid_simulation(seed(), now()); }
SimulationSpec valid_v5() { return valid_simulation_v5(seed(), now()); }

AppraisalResult run(const Simulation& simulation, const Options& options) {
  const TrustAnchor anchor = TrustAnchor::from_der(simulation.root).value();
  return run(simulation, std::span(&anchor, 1), options);
}

AppraisalResult run(const Simulation& simulation, std::span<const TrustAnchor> anchors,
                    const Options& options) {
  return verify(
      simulation.quote, simulation.collateral, anchors,
      VerifyContext{options.now, options.report_data, options.policy,
                    options.with_event_log ? ByteView(simulation.event_log) : ByteView()});
}

std::string verdict(const AppraisalResult& result) {
  return result.accepted ? "OK:" + std::string(name(result.tcb.value().status))
                         : error_code(result).value();
}

std::string verdict(const Simulation& simulation, const Options& options) {
  return verdict(run(simulation, options));
}

std::string verdict(const SimulationSpec& spec, const Options& options) {
  return verdict(simulate(spec), options);
}

AuthenticatedCollateral authenticate(const Simulation& simulation) {
  std::vector<Check> checks;
  return authenticate_collateral(simulation.collateral,
                                 TrustAnchor::from_der(simulation.root).value(), checks)
      .value();
}

}  // namespace assay::attestation::tdx::testing
