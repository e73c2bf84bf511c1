// SPDX-License-Identifier: Apache-2.0
// The strictest policy that a simulated machine meets, and what verification makes of it.
#pragma once

#include <string>

#include "attestation/simulate/snp_faults.h"
#include "attestation/simulate/snp_simulation.h"
#include "attestation/snp/verify.h"

namespace assay::attestation::snp::testing {

inline Timestamp test_time() { return parse_rfc3339("2026-06-01T00:00:00Z").value(); }
inline Bytes test_seed() { return to_bytes("a simulated SNP machine"); }

// The specification of a machine that meets every member of strict_policy().
inline SnpSimulationSpec strict_spec() {
  SnpSimulationSpec spec = valid_snp_simulation(test_seed(), test_time());
  spec.report.policy |= guest_policy::kSingleSocket;
  spec.report.policy &= ~guest_policy::kSmt;
  spec.report.platform_info &= ~platform_info::kSmt;
  return spec;
}

inline Bytes copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

inline AppraisalPolicy strict_policy(const SnpSimulationSpec& spec) {
  AppraisalPolicy policy;
  policy.accept_generations = {spec.generation};
  policy.accept_signing_keys = {spec.report.signing_key};
  policy.min_tcb[spec.generation] = {spec.leaf_tcb, spec.leaf_tcb, spec.leaf_tcb};
  policy.min_guest_svn = spec.report.guest_svn;
  policy.allow_smt = false;
  policy.require_single_socket = true;
  policy.require_ciphertext_hiding = true;
  policy.require_alias_check = true;
  policy.require_rapl_disabled = true;
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    policy.reference_values[i] = {copy_of(value_of(spec.report, static_cast<Reference>(i)))};
  }
  policy.platform_allow_list = {spec.report.chip_id};
  policy.provider_allow_list = {"CN=simulated.example"};
  return policy;
}

inline TrustAnchor anchor_of(const SnpSimulation& made) {
  return TrustAnchor::from_bytes(made.root).value();
}

inline AppraisalResult judge(const SnpSimulation& made, const TrustAnchor& anchor,
                             const AppraisalPolicy& policy, const ReportDataExpectation& expected) {
  return verify(made.evidence, made.collateral, std::span(&anchor, 1),
                {test_time(), expected, policy});
}

// The error of simulated evidence under the roots of its own PKI, or "accepted".
inline std::string verdict_of(const SnpSimulation& made, const AppraisalPolicy& policy) {
  const AppraisalResult result =
      judge(made, anchor_of(made), policy, ReportDataExpectation::exactly(ReportData{}));
  return error_code(result).value_or(result.accepted ? "accepted" : "neither");
}

}  // namespace assay::attestation::snp::testing
