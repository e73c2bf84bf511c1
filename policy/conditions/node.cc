// SPDX-License-Identifier: Apache-2.0
// Conditions about the node that the workload goes to: is it enrolled, and what does its evidence
// say.
#include <algorithm>

#include "policy/conditions.h"
#include "policy/conditions/age.h"
#include "policy/conditions/anchors.h"
#include "policy/conditions/boot.h"
#include "policy/conditions/checks.h"
#include "policy/conditions/device.h"

namespace assay::policy {
namespace {

bool contains(const std::vector<std::string>& values, const std::string& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

Json expected_node(const NodeCondition& condition) {
  Json expected = {{"worker_measured", condition.worker_measured}, {"anchors", condition.anchors}};
  if (condition.max_evidence_age_seconds) {
    expected["max_evidence_age_seconds"] = *condition.max_evidence_age_seconds;
  }
  if (!condition.tcb_status.empty()) {
    expected["tcb_status"] = condition.tcb_status;
  }
  if (condition.boot) {
    expected["boot"] = to_json(*condition.boot);
  }
  if (condition.device) {
    expected["device"] = to_json(*condition.device);
  }
  return expected;
}

Json evidence_of(const NodeFact& node, Timestamp now) {
  Json evidence = {{"type", node.evidence_type},
                   {"tcb_status", node.tcb_status},
                   {"anchor", node.anchor ? Json(node.anchor->text()) : Json(nullptr)},
                   {"anchor_is_vendor", node.anchor_is_vendor},
                   {"appraised_at", to_rfc3339(*node.appraised_at)},
                   {"age_seconds", age_seconds(*node.appraised_at, now)},
                   {"current", node.appraisal_current}};
  if (!node.appraisal_error.empty()) {
    evidence["error"] = node.appraisal_error;
  }
  if (!node.matched.empty()) {
    evidence["reference_values"] = node.matched;
  }
  return evidence;
}

Json actual_of(const NodeFact& node, Timestamp now) {
  Json actual = {{"node", node.name},
                 {"enrolled_at", to_rfc3339(node.enrolled_at)},
                 {"expires_at", to_rfc3339(node.expires_at)},
                 {"worker_measured", node.worker_measured},
                 {"evidence", node.appraised_at ? evidence_of(node, now) : Json(nullptr)}};
  if (node.revoked) {
    actual["revoked_at"] = to_rfc3339(node.revoked->at);
  }
  return actual;
}

// Whether evidence counts at all. When it was appraised under what is no longer in force, it is
// stale however young it is.
void check_standing(const NodeCondition& condition, const NodeFact& node, Timestamp now,
                    Checks& checks) {
  checks.demand_past(*node.appraised_at, now);
  const bool too_old = condition.max_evidence_age_seconds &&
                       is_older(*node.appraised_at, *condition.max_evidence_age_seconds, now);
  checks.demand(node.appraisal_current && !too_old, Reason::kEvidenceStale);
  checks.demand(node.appraisal_error.empty(), Reason::kEvidenceRejected);
}

// What is asked of evidence. An anchor counts as asked for even when the worker need not be
// measured: evidence that is there must not come from anywhere.
void check_evidence(const NodeCondition& condition, const NodeFact& node, Checks& checks) {
  checks.demand(accepts_anchor(condition.anchors, node.anchor, node.anchor_is_vendor),
                Reason::kAnchorNotAccepted);
  checks.demand(condition.tcb_status.empty() || contains(condition.tcb_status, node.tcb_status),
                Reason::kTcbNotAccepted);
}

void check_boot(const BootDemands& demands, const NodeFact& node, Checks& checks, Json& actual) {
  JudgedBoot judged = judge_boot(demands, node.boot);
  checks.demand(judged.outcome != BootOutcome::kUnknown, Reason::kEventLogMissing);
  checks.demand(judged.outcome != BootOutcome::kMismatch, Reason::kBootMismatch);
  actual["evidence"]["boot"] = std::move(judged.actual);
}

}  // namespace

ConditionResult judge(const NodeCondition& condition, const Scope& scope) {
  ConditionResult result{
      {}, Outcome::kFail, Reason::kNodeUnknown, expected_node(condition), nullptr, {}, {}};
  if (scope.node.empty()) {
    return result;
  }
  if (!scope.known.node) {
    result.code = Reason::kNodeNotEnrolled;
    result.actual = {{"node", scope.node}};
    return result;
  }
  const NodeFact& node = *scope.known.node;
  result.actual = actual_of(node, scope.now);
  if (node.appraised_at && node.appraisal) {
    result.evidence = {node.appraisal->text()};
  }
  Checks checks;
  if (node.name != scope.node || (node.worker_measured && !node.appraised_at)) {
    checks.undecided();
  }
  // A revocation is for good: no clock makes it undone.
  checks.demand(!node.revoked, Reason::kNodeRevoked);
  checks.demand_past(node.enrolled_at, scope.now);
  checks.demand(scope.now < node.expires_at, Reason::kEnrolmentExpired);
  const bool evidence_asked = condition.worker_measured || condition.max_evidence_age_seconds ||
                              !condition.tcb_status.empty() || condition.boot || condition.device;
  if (node.appraised_at) {
    check_standing(condition, node, scope.now, checks);
  }
  checks.demand((node.worker_measured || !condition.worker_measured) &&
                    (node.appraised_at || !evidence_asked),
                Reason::kWorkerNotMeasured);
  if (node.appraised_at) {
    check_evidence(condition, node, checks);
  }
  if (node.appraised_at && condition.boot) {
    check_boot(*condition.boot, node, checks, result.actual);
  }
  if (condition.device) {
    check_devices(*condition.device, condition.anchors, node, scope.now, checks, result.actual);
  }
  checks.conclude(result);
  return result;
}

}  // namespace assay::policy
