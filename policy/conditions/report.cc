// SPDX-License-Identifier: Apache-2.0
// Conditions about what the node found when it hashed the model.
#include <algorithm>
#include <set>
#include <tuple>

#include "policy/conditions.h"
#include "policy/conditions/age.h"
#include "policy/conditions/checks.h"
#include "policy/conditions/memory.h"
#include "schemas/claim.h"

namespace assay::policy {
namespace {

constexpr std::string_view kVerified = "verified";
constexpr std::string_view kMismatch = "mismatch";

// Facts have one report of a place. Should there be more, the newest counts.
bool is_older_than(const ReportFact& a, const ReportFact& b) {
  return std::tie(a.reported_at, a.job) < std::tie(b.reported_at, b.job);
}

bool same_place(const ReportFact& a, const ReportFact& b) {
  return std::tie(a.location, a.pod, a.pod_volume, a.instance) ==
         std::tie(b.location, b.pod, b.pod_volume, b.instance);
}

// Then only what the pod mounts counts.
bool of_pod(const Scope& scope) { return scope.pod || !scope.bound.empty(); }

// What has to be verified, and the report on it if there is one.
struct Wanted {
  std::string location;  // empty: any, or a volume that is filled at run time
  const ReportFact* report = nullptr;
  std::string volume{};    // of the pod, that is filled at run time
  std::string instance{};  // that a heartbeat names and no report is about
};

// What is in device memory lies at no location.
bool by_place(const ReportCondition& condition) { return condition.scope == kFilesScope; }

// Of the pod itself at serve, of the node's directories otherwise. Memory is always that of the pod
// that asks; a pod whose uid is not known has none, whatever other processes of the node have.
bool is_of_asker(const ReportCondition& condition, const ReportFact& report, const Facts& known,
                 bool pod) {
  if (!by_place(condition)) {
    return report.pod == known.pod && !(pod && known.pod.empty());
  }
  return condition.at_serve ? !report.pod.empty() && report.pod == known.pod : report.pod.empty();
}

// The newest report of each place that can count for the condition.
std::vector<const ReportFact*> newest_reports(const ReportCondition& condition, const Facts& known,
                                              bool pod) {
  std::vector<const ReportFact*> found;
  for (const ReportFact& report : known.reports) {
    if (report.scope != condition.scope || !is_of_asker(condition, report, known, pod)) {
      continue;
    }
    const auto known_place = std::find_if(found.begin(), found.end(), [&](const ReportFact* other) {
      return same_place(*other, report);
    });
    if (known_place == found.end()) {
      found.push_back(&report);
    } else if (is_older_than(**known_place, report)) {
      *known_place = &report;
    }
  }
  std::sort(found.begin(), found.end(), [](const ReportFact* a, const ReportFact* b) {
    return std::tie(a->location, a->pod_volume, a->instance) <
           std::tie(b->location, b->pod_volume, b->instance);
  });
  return found;
}

// What the API server said of the claim that the location is in.
const ClaimFact* claim_behind(const std::string& location, const Facts& known) {
  const std::optional<Claim> claim = claim_in(location);
  const auto found =
      std::find_if(known.claims.begin(), known.claims.end(),
                   [&](const ClaimFact& one) { return claim && one.claim == claim->location; });
  return found == known.claims.end() ? nullptr : &*found;
}

// The newest on that location. At serve several volumes of the pod may have been read for it: those
// that are behind the claim come first, then the one that was not verified.
const ReportFact* report_on(const std::vector<const ReportFact*>& reports,
                            const std::string& location, const Facts& known) {
  const ClaimFact* claim = claim_behind(location, known);
  const auto is_behind = [&](const ReportFact& report) {
    return claim != nullptr && report.volume == claim->volume;
  };
  const ReportFact* found = nullptr;
  for (const ReportFact* report : reports) {
    const bool comes_first =
        found == nullptr || (is_behind(*report) && !is_behind(*found)) ||
        (is_behind(*report) == is_behind(*found) && report->result != kVerified);
    if (report->location == location && comes_first) {
      found = report;
    }
  }
  return found;
}

// The report on a volume of the pod that is filled at run time.
const ReportFact* report_on_volume(const std::vector<const ReportFact*>& reports,
                                   const std::string& volume) {
  const auto found = std::find_if(reports.begin(), reports.end(), [&](const ReportFact* report) {
    return report->location.empty() && report->pod_volume == volume;
  });
  return found == reports.end() ? nullptr : *found;
}

// Instances that the node agent names, that have not ended and that have no report, by name.
void add_unreported(const std::vector<const ReportFact*>& reports, const Facts& known,
                    std::vector<Wanted>& wanted) {
  std::set<std::string> unreported;
  for (const InstanceFact& one : known.instances) {
    if (!has_ended(one.instance, known)) {
      unreported.insert(one.instance);
    }
  }
  for (const ReportFact* report : reports) {
    unreported.erase(report->instance);
  }
  for (const std::string& instance : unreported) {
    wanted.push_back({{}, nullptr, {}, instance});
  }
}

// Each location that the pod mounts needs a report, and so does each one that the asker names.
// Without either every report counts, and one is needed at least. At serve each volume that is
// filled at run time needs a report, too: which of them the process reads is its own choice. So
// does each instance in memory that a heartbeat names, where heartbeats are asked for.
std::vector<Wanted> wanted_reports(const ReportCondition& condition, const Scope& scope) {
  const std::vector<const ReportFact*> reports = newest_reports(condition, scope.known, scope.pod);
  std::vector<Wanted> wanted;
  const bool pod = of_pod(scope) && by_place(condition);
  const std::vector<std::string>& locations = pod ? scope.bound : scope.known.asked_locations;
  for (const std::string& location : by_place(condition) ? locations : std::vector<std::string>()) {
    wanted.push_back({location, report_on(reports, location, scope.known)});
  }
  if (pod && condition.at_serve) {
    for (const std::string& volume : scope.filled) {
      wanted.push_back({{}, report_on_volume(reports, volume), volume});
    }
  } else if (!pod && wanted.empty()) {
    for (const ReportFact* report : reports) {
      wanted.push_back({report->location, report});
    }
  }
  if (!by_place(condition) && condition.memory.watched) {
    add_unreported(reports, scope.known, wanted);
  }
  if (wanted.empty()) {
    wanted.push_back({});
  }
  return wanted;
}

Json expected_report(const ReportCondition& condition) {
  Json expected = {{"result", kVerified},
                   {"scope", condition.scope},
                   {"worker_measured", condition.worker_measured},
                   {"device_attested", condition.device_attested}};
  if (condition.at_serve) {
    expected["at"] = "serve";
  }
  if (condition.max_age_seconds) {
    expected["max_age_seconds"] = *condition.max_age_seconds;
  }
  if (!condition.anchors.empty()) {
    expected["anchors"] = condition.anchors;
  }
  if (condition.min_spot_checks) {
    expected["min_spot_checks"] = *condition.min_spot_checks;
  }
  if (!by_place(condition)) {
    add_expected(condition.memory, expected);
  }
  return expected;
}

Json actual_of(const std::string& node, const ReportFact& report, Timestamp now) {
  Json actual = {{"node", node},
                 {"job", report.job},
                 {"result", report.result},
                 {"location", report.location},
                 {"reported_at", to_rfc3339(report.reported_at)},
                 {"read_since", to_rfc3339(report.read_since)},
                 {"age_seconds", age_seconds(report.read_since, now)},
                 {"worker_measured", report.worker_measured},
                 {"appraisal_current", report.appraisal_current},
                 {"device_attested", report.device_attested},
                 {"spot_checks", report.spot_checks}};
  if (!report.device_anchors.empty()) {
    actual["device_anchors"] = report.device_anchors;
  }
  if (report.evidence_valid_until) {
    actual["evidence_valid_until"] = to_rfc3339(*report.evidence_valid_until);
  }
  if (!report.volume.empty()) {
    actual["volume"] = report.volume;
  }
  if (!report.pod.empty()) {
    actual["pod"] = report.pod;
  }
  if (!report.differing.empty()) {
    actual["differing"] = report.differing;
  }
  return actual;
}

// The node read the volume that the pod gets. A claim that is deleted and made again is another.
void check_volume(const ReportFact& report, const Facts& known, Checks& checks) {
  if (!claim_in(report.location)) {
    return;
  }
  const ClaimFact* claim = claim_behind(report.location, known);
  const bool seen = claim != nullptr && !claim->volume.empty();
  checks.demand(seen, Reason::kClaimUnknown);
  checks.demand(!seen || report.volume == claim->volume, Reason::kVolumeChanged);
}

// A result that is neither verified nor a mismatch says nothing about all of the model.
void check_report(const ReportCondition& condition, const ReportFact& report, const Scope& scope,
                  Checks& checks, std::vector<std::string>& evidence) {
  // What a report says of another volume says nothing of this one.
  if (of_pod(scope) && by_place(condition)) {
    check_volume(report, scope.known, checks);
  }
  checks.demand(report.result != kMismatch, Reason::kModelMismatch);
  checks.demand(report.result == kVerified || report.result == kMismatch, Reason::kReportMissing);
  checks.demand_past(report.reported_at, scope.now);
  checks.demand_past(report.read_since, scope.now);
  if (condition.max_age_seconds) {
    checks.demand(!is_older(report.read_since, *condition.max_age_seconds, scope.now),
                  Reason::kReportStale);
  }
  checks.demand(report.worker_measured || !condition.worker_measured, Reason::kWorkerNotMeasured);
  const bool stands = report.appraisal_current && is_valid(report.evidence_valid_until, scope.now);
  checks.demand(stands || !condition.worker_measured || !report.worker_measured,
                Reason::kEvidenceStale);
  const bool anchored = std::ranges::all_of(report.device_anchors, [&](const std::string& anchor) {
    return std::ranges::find(condition.anchors, anchor) != condition.anchors.end();
  });
  const bool attested =
      report.device_attested && anchored && is_valid(report.devices_valid_until, scope.now);
  checks.demand(attested || !condition.device_attested, Reason::kDeviceNotAttested);
  checks.demand(report.spot_checks >= condition.min_spot_checks.value_or(0),
                Reason::kSpotCheckMissing);
  if (!by_place(condition)) {
    check_memory(condition.memory, report, scope, checks, evidence);
  }
}

ConditionResult judge_one(const ReportCondition& condition, const Scope& scope,
                          const Wanted& wanted) {
  ConditionResult result{{}, Outcome::kFail, {}, nullptr, {{"node", scope.node}}, {}, {}};
  Checks checks;
  if (scope.known.node->name != scope.node) {
    checks.undecided();
  }
  // Whoever holds the key of a revoked node may have held it when the report was signed.
  checks.demand(!scope.known.node->revoked, Reason::kNodeRevoked);
  if (wanted.report != nullptr) {
    result.actual = actual_of(scope.node, *wanted.report, scope.now);
    if (!by_place(condition)) {
      add_actual(*wanted.report, scope.known, scope.now, result.actual);
    }
    std::vector<std::string> evidence;
    if (wanted.report->report) {
      evidence.push_back(wanted.report->report->text());
    }
    check_report(condition, *wanted.report, scope, checks, evidence);
    result.evidence = evidence;
  } else {
    if (!wanted.location.empty()) {
      result.actual["location"] = wanted.location;
    }
    if (!wanted.instance.empty()) {
      result.actual["instance"] = wanted.instance;
    }
    checks.demand(false, Reason::kReportMissing);
  }
  checks.conclude(result);
  return result;
}

// A volume that is filled at run time holds another of the models that it may hold, as required.
bool holds_another(const ReportCondition& condition, const Scope& scope,
                   const std::string& volume) {
  return std::any_of(scope.beside.begin(), scope.beside.end(), [&](const Facts* other) {
    Scope theirs = {scope.facts, *other,    scope.node, scope.points,
                    scope.point, scope.now, {},         scope.pod};
    const auto reports = newest_reports(condition, *other, scope.pod);
    const Wanted wanted{{}, report_on_volume(reports, volume), volume};
    return other->node && judge_one(condition, theirs, wanted).outcome == Outcome::kPass;
  });
}

// An instance that was verified until it ended says nothing more, as long as another one that has
// not ended is right. Without one it counts like every other instance: what was there last.
void leave_out_ended(const ReportCondition& condition, const Scope& scope,
                     std::vector<Wanted>& all) {
  const auto ended = [&](const Wanted& wanted) {
    return !by_place(condition) && wanted.report != nullptr && wanted.report->result == kVerified &&
           has_ended(wanted.report->instance, scope.known);
  };
  const bool lives = std::any_of(all.begin(), all.end(), [&](const Wanted& wanted) {
    return !ended(wanted) && judge_one(condition, scope, wanted).outcome == Outcome::kPass;
  });
  if (lives) {
    std::erase_if(all, ended);
  }
}

// The smaller, the worse: known to be wrong, said to be wrong by a report that does not count, not
// known, undecided, right. Below a `not` only the first turns round, so the order of the places
// must not decide which of the first two is shown.
int rank(const ConditionResult& result) {
  if (result.code == Reason::kModelMismatch) {
    const bool sure =
        result.actual.at(kFailedMember).size() == 1 && !result.actual.contains(kUndecidedMember);
    return sure ? 0 : 1;
  }
  return result.outcome == Outcome::kFail ? 2 : result.outcome == Outcome::kError ? 3 : 4;
}

// A new job on these locations could change the answer.
bool wants_job(const ConditionResult& result) {
  return result.code == Reason::kReportMissing || result.code == Reason::kReportStale ||
         result.code == Reason::kVolumeChanged;
}

}  // namespace

ConditionResult judge(const ReportCondition& condition, const Scope& scope) {
  ConditionResult result{
      {}, Outcome::kFail, Reason::kNodeUnknown, expected_report(condition), nullptr, {}, {}};
  if (scope.node.empty()) {
    return result;
  }
  result.actual = {{"node", scope.node}};
  if (!scope.known.node) {
    result.code = Reason::kNodeNotEnrolled;
    return result;
  }
  // Every one is needed: the worst is shown, and what was looked at.
  std::optional<ConditionResult> worst;
  std::vector<std::string> evidence;
  Json to_verify = Json::array();
  std::vector<Wanted> all = wanted_reports(condition, scope);
  std::erase_if(all, [&](const Wanted& wanted) {
    return !wanted.volume.empty() &&
           judge_one(condition, scope, wanted).outcome != Outcome::kPass &&
           holds_another(condition, scope, wanted.volume);
  });
  leave_out_ended(condition, scope, all);
  if (all.empty()) {
    all.emplace_back();  // every volume holds another model: this one is nowhere
  }
  for (const Wanted& wanted : all) {
    ConditionResult one = judge_one(condition, scope, wanted);
    evidence.insert(evidence.end(), one.evidence.begin(), one.evidence.end());
    if (wants_job(one) && !wanted.location.empty()) {
      to_verify.push_back(wanted.location);
    }
    if (!worst || rank(one) < rank(*worst)) {
      worst = std::move(one);
    }
  }
  worst->expected = result.expected;
  worst->evidence = std::move(evidence);
  if (!to_verify.empty()) {
    worst->actual[std::string(kToVerify)] = std::move(to_verify);
  }
  return *std::move(worst);
}

}  // namespace assay::policy
