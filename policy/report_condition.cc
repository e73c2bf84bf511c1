// SPDX-License-Identifier: Apache-2.0
// Conditions about what the node found when it hashed the model.
#include <tuple>

#include "policy/checks.h"
#include "policy/conditions.h"

namespace assay::policy {
namespace {

constexpr std::string_view kVerified = "verified";
constexpr std::string_view kMismatch = "mismatch";

// Facts have one report of a scope. Should there be more, the newest counts.
const ReportFact* newest(const std::vector<ReportFact>& reports, const std::string& scope) {
  const ReportFact* found = nullptr;
  for (const ReportFact& report : reports) {
    if (report.scope == scope &&
        (found == nullptr ||
         std::tie(found->reported_at, found->job) < std::tie(report.reported_at, report.job))) {
      found = &report;
    }
  }
  return found;
}

Json expected_of(const ReportCondition& condition) {
  Json expected = {{"result", kVerified},
                   {"scope", condition.scope},
                   {"worker_measured", condition.worker_measured},
                   {"device_attested", condition.device_attested}};
  if (condition.max_age_seconds) {
    expected["max_age_seconds"] = *condition.max_age_seconds;
  }
  if (condition.min_spot_checks) {
    expected["min_spot_checks"] = *condition.min_spot_checks;
  }
  return expected;
}

Json actual_of(const std::string& node, const ReportFact& report, Timestamp now) {
  Json actual = {{"node", node},
                 {"job", report.job},
                 {"result", report.result},
                 {"reported_at", to_rfc3339(report.reported_at)},
                 {"age_seconds", age_seconds(report.reported_at, now)},
                 {"worker_measured", report.worker_measured},
                 {"device_attested", report.device_attested},
                 {"spot_checks", report.spot_checks}};
  if (!report.differing.empty()) {
    actual["differing"] = report.differing;
  }
  return actual;
}

// A result that is neither verified nor a mismatch says nothing about all of the model.
void check_report(const ReportCondition& condition, const ReportFact& report, Timestamp now,
                  Checks& checks) {
  checks.demand(report.result != kMismatch, ErrorCode::kModelMismatch);
  checks.demand(report.result == kVerified || report.result == kMismatch,
                ErrorCode::kReportMissing);
  checks.demand_past(report.reported_at, now);
  if (condition.max_age_seconds) {
    checks.demand(!is_older(report.reported_at, *condition.max_age_seconds, now),
                  ErrorCode::kReportStale);
  }
  checks.demand(report.worker_measured || !condition.worker_measured,
                ErrorCode::kWorkerNotMeasured);
  checks.demand(report.device_attested || !condition.device_attested,
                ErrorCode::kDeviceNotAttested);
  checks.demand(report.spot_checks >= condition.min_spot_checks.value_or(0),
                ErrorCode::kSpotCheckMissing);
}

}  // namespace

ConditionResult judge(const ReportCondition& condition, const Scope& scope) {
  ConditionResult result{
      {}, Outcome::kFail, ErrorCode::kNodeUnknown, expected_of(condition), nullptr, {}, {}};
  if (scope.node.empty()) {
    return result;
  }
  result.actual = {{"node", scope.node}};
  if (!scope.known.node) {
    result.code = ErrorCode::kNodeNotEnrolled;
    return result;
  }
  Checks checks;
  if (scope.known.node->name != scope.node) {
    checks.undecided();
  }
  // Whoever holds the key of a revoked node may have held it when the report was signed.
  checks.demand(!scope.known.node->revoked, ErrorCode::kNodeRevoked);
  if (const ReportFact* report = newest(scope.known.reports, condition.scope)) {
    result.actual = actual_of(scope.node, *report, scope.now);
    if (report->report) {
      result.evidence.push_back(report->report->text());
    }
    check_report(condition, *report, scope.now, checks);
  } else {
    checks.demand(false, ErrorCode::kReportMissing);
  }
  checks.conclude(result);
  return result;
}

}  // namespace assay::policy
