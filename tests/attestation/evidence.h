// SPDX-License-Identifier: Apache-2.0
// Simulated evidence and an appraisal that accepts it; each test changes one thing.
#pragma once

#include "attestation/simulate/simulation.h"
#include "attestation/verifier_registry.h"
#include "tests/attestation/tdx/simulation.h"

namespace assay::test {

// What valid_evidence() carries.
inline ReportDataBytes expected_report_data() {
  ReportDataBytes data{};
  data.fill(0x5d);
  return data;
}

inline attestation::tdx::SimulationSpec evidence_spec() {
  auto spec = attestation::tdx::testing::valid_v4();
  spec.quote.report.report_data = expected_report_data();
  return spec;
}

inline Evidence evidence_of(const attestation::tdx::SimulationSpec& spec) {
  const auto simulation = attestation::tdx::simulate(spec);
  return {"tdx", simulation.quote, simulation.event_log, to_json(simulation.collateral)};
}
inline Evidence valid_evidence() { return evidence_of(evidence_spec()); }

// Trusts the simulation's root and names its measurements.
inline Appraisal valid_appraisal() {
  const auto spec = evidence_spec();
  const auto& report = spec.quote.report;
  Appraisal appraisal;
  appraisal.evidence_type = "tdx";
  appraisal.policy = {{"reference_values",
                       {{"mrtd", {hex_encode(report.mrtd)}},
                        {"rtmr0", {hex_encode(report.rtmr[0])}},
                        {"rtmr1", {hex_encode(report.rtmr[1])}},
                        {"rtmr2", {hex_encode(report.rtmr[2])}}}}};
  appraisal.dangerous_anchors = {attestation::tdx::simulate(spec).root};
  return appraisal;
}

inline Result<attestation::AppraisedEvidence> appraise_now(
    const Evidence& evidence, const Appraisal& appraisal,
    attestation::Purpose purpose = attestation::Purpose::kEnrol) {
  return attestation::built_in_verifiers().appraise(
      evidence, appraisal, purpose, expected_report_data(), attestation::tdx::testing::now());
}

}  // namespace assay::test
