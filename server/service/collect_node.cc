// SPDX-License-Identifier: Apache-2.0
// From the rows of a node and its jobs to facts.
#include "schemas/job.h"
#include "server/service/collect.h"
#include "server/service/job_steps.h"

namespace assay::server {
namespace {

// What differs is shown in explanations.
constexpr std::size_t kMaxDiffering = 512;

policy::NodeFact node_fact(const storage::NodeRow& row) {
  policy::NodeFact fact;
  fact.name = row.name;
  fact.enrolled_at = row.enrolled_at;
  fact.expires_at = row.expires_at;
  fact.revoked = row.revoked;
  if (row.measured) {
    fact.worker_measured = true;
    fact.appraised_at = row.measured->appraised_at;
    fact.evidence_type = row.measured->evidence_type;
    fact.tcb_status = row.measured->tcb_status;
    fact.anchor = row.measured->anchor;
    fact.anchor_is_vendor = row.measured->anchor_is_vendor;
    fact.appraisal = row.measured->appraisal;
  }
  return fact;
}

// Cut between characters.
std::string clip(std::string text) {
  if (text.size() > kMaxDiffering) {
    text.resize(kMaxDiffering);
    while (!text.empty() && !is_utf8(text)) {
      text.pop_back();
    }
  }
  return text;
}

// The store names an open job only when it speaks against the bytes: it counts as it would end if
// its worker never came back.
Result<storage::JobRow> as_it_stands(storage::JobRow job) {
  if (job.state == storage::JobState::kDone) {
    return job;
  }
  ASSAY_ASSIGN(Pending pending, pending_from(job));
  job.result = job.state == storage::JobState::kOutline ? kMismatch : kFailed;
  job.detail = std::move(pending.detail);
  job.report = std::move(pending.report);
  job.worker_measured = pending.worker_measured;
  job.finished_at = pending.reported_at;
  return job;
}

Result<policy::ReportFact> report_fact(const storage::JobRow& job) {
  if (!job.finished_at) {
    return fail(ErrorCode::kDataLoss, "a job with a report has no time of it");
  }
  policy::ReportFact fact;
  fact.job = job.id;
  fact.scope = job.scope;
  fact.result = job.result;
  fact.reported_at = *job.finished_at;
  fact.worker_measured = job.worker_measured;
  fact.device_attested = job.device_attested;
  fact.report = job.report;
  const Json& detail = job.detail;
  if (detail.is_object() && detail.contains("differing") && detail["differing"].is_string()) {
    fact.differing = clip(detail["differing"].get<std::string>());
  }
  if (detail.is_object() && detail.contains("spot_checks") &&
      detail["spot_checks"].is_number_unsigned()) {
    fact.spot_checks = detail["spot_checks"].get<std::uint64_t>();
  }
  return fact;
}

// Nothing for what is not there; other errors stay errors.
template <typename Row>
Result<std::optional<Row>> if_found(Result<Row> row) {
  if (row) {
    return std::optional<Row>(std::move(*row));
  }
  if (row.error().code == ErrorCode::kNotFound) {
    return std::optional<Row>();
  }
  return std::unexpected(std::move(row).error());
}

}  // namespace

Status collect_node(storage::Snapshot& snapshot, const std::string& node, policy::Facts& facts) {
  ASSAY_ASSIGN(const auto row, if_found(snapshot.node(node)));
  if (!row) {
    return {};
  }
  facts.node = node_fact(*row);
  if (!facts.artifact) {
    return {};
  }
  for (const JobScope scope : {JobScope::kFiles, JobScope::kDeviceMemory}) {
    ASSAY_ASSIGN(auto job,
                 if_found(snapshot.newest_report(node, *facts.artifact, std::string(name(scope)))));
    if (job) {
      ASSAY_ASSIGN(const storage::JobRow counted, as_it_stands(*std::move(job)));
      ASSAY_ASSIGN(policy::ReportFact fact, report_fact(counted));
      facts.reports.push_back(std::move(fact));
    }
  }
  return {};
}

}  // namespace assay::server
