// SPDX-License-Identifier: Apache-2.0
// From the rows of a node and its jobs to facts.
#include "schemas/job.h"
#include "server/service/collect.h"

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

// A report on some of the entries says nothing of the others, however good they were.
std::string result_of(const storage::JobRow& job) {
  const bool all = job.subset.is_array() && job.subset.empty();
  return !all && job.result == "verified" ? "incomplete" : job.result;
}

Result<policy::ReportFact> report_fact(const storage::JobRow& job) {
  if (!job.finished_at) {
    return fail(ErrorCode::kDataLoss, "a finished job has no time");
  }
  policy::ReportFact fact;
  fact.job = job.id;
  fact.scope = job.scope;
  fact.result = result_of(job);
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
    ASSAY_ASSIGN(const auto job,
                 if_found(snapshot.newest_report(node, *facts.artifact, std::string(name(scope)))));
    if (job) {
      ASSAY_ASSIGN(policy::ReportFact fact, report_fact(*job));
      facts.reports.push_back(std::move(fact));
    }
  }
  return {};
}

}  // namespace assay::server
