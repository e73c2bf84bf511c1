// SPDX-License-Identifier: Apache-2.0
// Judges the demands that only report conditions of scope device-memory have. Such a condition is
// about a model instance in the memory of running processes (policy/memory_fact.h). Internal to
// policy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policy/conditions.h"
#include "policy/conditions/checks.h"
#include "policy/facts.h"
#include "schemas/policy_document.h"

namespace assay::policy {

// A heartbeat (a node agent's regular message about its instances) older than this no longer shows
// that an instance is verified. A heartbeat that says "violated" fails the condition at any age.
inline constexpr std::uint64_t kMaxHeartbeatAgeSeconds = 10;

// Adds the demands to `expected`, under the names that policies have for them.
void add_expected(const MemoryDemands& demands, Json& expected);
// Adds to `actual` what the report and the newest heartbeat say about the instance.
void add_actual(const ReportFact& report, const Facts& known, Timestamp now, Json& actual);
// Returns whether the newest heartbeat says that the instance was verified until it ended.
[[nodiscard]] bool has_ended(const std::string& instance, const Facts& known);
// A layout that is neither by the closed table nor pinned counts when a lifecycle statement of
// stage kLayoutStage names its digest as parameter kLayoutParameter, and a signer of that statement
// counts. The ids of such statements are added to `evidence`.
inline constexpr std::string_view kLayoutStage = "layout";
inline constexpr std::string_view kLayoutParameter = "layout";
void check_memory(const MemoryDemands& demands, const ReportFact& report, const Scope& scope,
                  Checks& checks, std::vector<std::string>& evidence);

}  // namespace assay::policy
