// SPDX-License-Identifier: Apache-2.0
// What a report condition of scope device-memory demands beside what every report condition does.
// Inside of policy.
#pragma once

#include "policy/checks.h"
#include "policy/facts.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// A heartbeat that is older than this is ignored.
inline constexpr std::uint64_t kMaxHeartbeatAgeSeconds = 10;

// Adds what is expected, under the names that policies have for it.
void add_expected(const MemoryDemands& demands, Json& expected);
// Adds what the report, and the newest heartbeat, say.
void add_actual(const ReportFact& report, const Facts& known, Timestamp now, Json& actual);
void check_memory(const MemoryDemands& demands, const ReportFact& report, const Facts& known,
                  Timestamp now, Checks& checks);

}  // namespace assay::policy
