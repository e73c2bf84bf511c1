// SPDX-License-Identifier: Apache-2.0
#include "policy/conditions/memory.h"

#include <algorithm>

#include "policy/conditions/age.h"
#include "policy/signers.h"
#include "schemas/lifecycle.h"

namespace assay::policy {
namespace {

constexpr std::string_view kVerified = "verified";
constexpr std::string_view kViolated = "violated";
constexpr std::string_view kEnded = "ended";

// Facts have each instance once. Should there be more of it, the one that is neither verified nor
// ended counts.
const InstanceFact* watched_as(const std::string& instance, const Facts& known) {
  const InstanceFact* found = nullptr;
  for (const InstanceFact& one : known.instances) {
    if (one.instance == instance &&
        (found == nullptr || found->state == kVerified || found->state == kEnded)) {
      found = &one;
    }
  }
  return found;
}

// The node agent has said a moment ago that it still finds the bytes of the model there.
void check_watched(const InstanceFact* watched, Timestamp now, Checks& checks) {
  if (watched != nullptr) {
    checks.demand_past(watched->heard_at, now);
    checks.demand(watched->state != kViolated, Reason::kInstanceViolated);
  }
  checks.demand_known(watched != nullptr && watched->state == kVerified &&
                          !is_older(watched->heard_at, kMaxHeartbeatAgeSeconds, now),
                      Reason::kInstanceUnwatched);
}

// Of all that the processes hold on devices, enough was hashed there. A driver that counts fewer
// bytes than were hashed does not count them all.
void check_share(std::uint64_t percent, const MemoryFact& memory, Checks& checks) {
  const std::uint64_t held = memory.device_bytes.value_or(0);
  checks.demand_known(held > 0 && memory.on_devices <= held, Reason::kDeviceBytesUnknown);
  // Both are below 2^53.
  checks.demand(memory.on_devices * 100 >= held * percent, Reason::kDeviceShareLow);
}

// Whether somebody who may speak of layouts of this model signed that this one is right.
void check_signed(const std::string& digest, const Scope& scope, Checks& checks,
                  std::vector<std::string>& evidence) {
  static const SignerRequirement anyone;
  const PredicateTest names{.pointer = "/parameters/" + std::string(kLayoutParameter),
                            .op = Comparison::kEqual,
                            .value = digest};
  Tally tally(anyone);
  bool named = false;
  const auto* group = scope.facts.index->group(kLifecyclePredicateType, kLayoutStage);
  for (const std::size_t i : group == nullptr ? std::vector<std::size_t>() : group->members) {
    const JudgedStatement& statement = scope.facts.statements.at(i);
    if (test_of(scope.facts, *statement.fact, names).outcome == Outcome::kPass) {
      named = true;
      tally.add(statement);
      evidence.push_back(statement.fact->id.text());
    }
  }
  const Outcome outcome = tally.outcome();
  checks.demand(outcome != Outcome::kFail, named ? tally.failure() : Reason::kLayoutNotPinned);
  checks.demand_known(outcome != Outcome::kError, Reason::kConditionUndecided);
}

// The tensors follow from those of the manifest in a way that counts.
void check_layout(const MemoryDemands& demands, const MemoryFact& memory, const Scope& scope,
                  Checks& checks, std::vector<std::string>& evidence) {
  const LayoutKind kind = memory.layout ? memory.layout->kind : LayoutKind::kExact;
  checks.demand(std::ranges::find(demands.layouts, kind) != demands.layouts.end(),
                Reason::kLayoutKindRefused);
  const auto& pinned = demands.layout_digests;
  if (memory.layout && !memory.layout->by_table &&
      std::ranges::find(pinned, memory.layout->digest) == pinned.end()) {
    check_signed(memory.layout->digest, scope, checks, evidence);
  }
}

}  // namespace

void add_expected(const MemoryDemands& demands, Json& expected) {
  expected["watched"] = demands.watched;
  if (demands.in_place) {
    expected["in_place"] = true;
  }
  if (demands.max_uncovered_bytes) {
    expected["max_uncovered_bytes"] = *demands.max_uncovered_bytes;
  }
  if (demands.min_device_percent) {
    expected["min_device_percent"] = *demands.min_device_percent;
  }
  if (demands.min_redrawn) {
    expected["min_redrawn"] = *demands.min_redrawn;
  }
  if (demands.layouts != MemoryDemands().layouts) {
    Json& layouts = expected["layouts"] = Json::array();
    for (const LayoutKind kind : demands.layouts) {
      layouts.push_back(name(kind));
    }
  }
  if (!demands.layout_digests.empty()) {
    expected["layout_digests"] = demands.layout_digests;
  }
}

void add_actual(const ReportFact& report, const Facts& known, Timestamp now, Json& actual) {
  actual["instance"] = report.instance;
  if (report.memory) {
    actual["memory"] = to_json(*report.memory);
  }
  if (const InstanceFact* watched = watched_as(report.instance, known); watched != nullptr) {
    actual["state"] = watched->state;
    actual["heartbeat_age_seconds"] = age_seconds(watched->heard_at, now);
    for (const BeatFinding& finding : watched->findings) {
      actual["findings"].push_back(to_json(finding));
    }
    if (watched->watch) {
      actual["watch"] = to_json(*watched->watch);
    }
  }
}

bool has_ended(const std::string& instance, const Facts& known) {
  const InstanceFact* watched = watched_as(instance, known);
  return watched != nullptr && watched->state == kEnded;
}

void check_memory(const MemoryDemands& demands, const ReportFact& report, const Scope& scope,
                  Checks& checks, std::vector<std::string>& evidence) {
  if (!report.memory) {
    checks.undecided();
    return;
  }
  check_layout(demands, *report.memory, scope, checks, evidence);
  checks.demand(!demands.in_place || report.memory->staged == 0, Reason::kMemoryStaged);
  checks.demand(
      !demands.max_uncovered_bytes || report.memory->uncovered <= *demands.max_uncovered_bytes,
      Reason::kMemoryUncovered);
  if (demands.min_device_percent) {
    check_share(*demands.min_device_percent, *report.memory, checks);
  }
  checks.demand(report.memory->redrawn >= demands.min_redrawn.value_or(0), Reason::kRedrawsMissing);
  if (demands.watched) {
    check_watched(watched_as(report.instance, scope.known), scope.now, checks);
  }
}

}  // namespace assay::policy
