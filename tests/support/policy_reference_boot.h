// SPDX-License-Identifier: Apache-2.0
// The second evaluator: how a machine was started.
#pragma once

#include <optional>

#include "schemas/boot_demands.h"
#include "schemas/measured_boot.h"

namespace assay::policy::reference {

// What an event log says of how a machine was started: whether it says what is asked, or that it is
// otherwise; and whether nothing in it is otherwise.
struct Started {
  bool said;
  bool as_asked;
};
Started started_as(const BootDemands& demands, const std::optional<MeasuredBoot>& boot);

}  // namespace assay::policy::reference
