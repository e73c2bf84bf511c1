// SPDX-License-Identifier: Apache-2.0
// Asks for all that can be asked for.
#pragma once

#include <string>
#include <utility>

#include "tests/attestation/tdx/simulation.h"

namespace assay::attestation::tdx::testing {

// Returns options under which the machine of `sound` is accepted, and none that differs from it in
// anything that a policy or a caller can look at.
[[nodiscard]] inline Options strict(const SimulationSpec& sound) {
  AppraisalPolicy policy;
  policy.min_tcb_evaluation_data_number = sound.tcb_info["tcbEvaluationDataNumber"];
  policy.allow_evaluation_number_mismatch = false;
  policy.rejected_advisories = {"INTEL-SA-00001"};
  for (std::size_t i = 0; i < kReferenceCount; ++i) {
    policy.reference_values.at(i) = {value_of(sound.quote.report, static_cast<Reference>(i))};
  }
  policy.platform_allow_list = {sound.platform.ppid};
  policy.require_event_log = true;
  policy.require_event_log_rtmr3 = true;
  return {now(), std::move(policy), ReportDataExpectation::exactly(sound.quote.report.report_data),
          true};
}

}  // namespace assay::attestation::tdx::testing
