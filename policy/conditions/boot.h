// SPDX-License-Identifier: Apache-2.0
// Judges demands on the start of a machine (schemas/boot_demands.h). Internal to policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/boot_demands.h"
#include "schemas/core/json.h"
#include "schemas/measured_boot.h"

namespace assay::policy {

enum class BootOutcome : std::uint8_t {
  kPass,
  kUnknown,   // there is no log, or it does not say what is asked
  kMismatch,  // the log says otherwise
};
struct JudgedBoot {
  BootOutcome outcome;
  // {"event_log":BOOL,"secure_boot":...,"missing":[NAMES],"unexpected":[DIGESTS]}: the lists of
  // which nothing was extended, and the first digests that are in no list. Members that say nothing
  // are left out.
  Json actual;
};
// Absent `boot`: the evidence has no log that replays to its registers.
[[nodiscard]] JudgedBoot judge_boot(const BootDemands& demands,
                                    const std::optional<MeasuredBoot>& boot);

// Returns warnings about the demands of a policy.
[[nodiscard]] std::vector<std::string> lint_boot(const std::optional<BootDemands>& demands);

}  // namespace assay::policy
