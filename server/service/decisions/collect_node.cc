// SPDX-License-Identifier: Apache-2.0
#include "server/service/decisions/collect_node.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <ranges>
#include <set>
#include <string_view>

#include "schemas/claim.h"
#include "schemas/core/json_values.h"
#include "schemas/heartbeat.h"
#include "schemas/members.h"
#include "schemas/memory_facts.h"
#include "server/service/decisions/memory_readers.h"
#include "server/service/if_found.h"
#include "server/service/jobs/job_steps.h"
#include "server/service/nodes/devices.h"
#include "server/service/nodes/node_view.h"
#include "server/service/nodes/reappraise.h"
#include "server/service/nodes/stage_evidence.h"

namespace assay::server {
namespace {

// What differs is shown in explanations.
constexpr std::size_t kMaxDiffering = 512;

// What the enrolment stands on, as it was appraised last.
void add_evidence(const Standing& standing, policy::NodeFact& fact) {
  const storage::EvidenceRow& row = standing.row;
  fact.worker_measured = row.error.empty();
  fact.appraised_at = row.appraised_at;
  fact.evidence_type = row.type;
  fact.tcb_status = row.tcb_status;
  fact.anchor = row.anchor;
  fact.anchor_is_vendor = row.anchor_is_vendor;
  fact.appraisal = row.appraisal;
  fact.appraisal_policy = row.policy;
  fact.appraisal_current = standing.current;
  fact.appraisal_error = row.error;
  fact.matched = matched_of(row);
  fact.boot = row.boot;
}

Result<std::vector<policy::DeviceFact>> device_facts(storage::Snapshot& snapshot,
                                                     const storage::NodeRow& node) {
  ASSAY_ASSIGN(const auto devices, devices_of(snapshot, node));
  std::vector<policy::DeviceFact> facts;
  for (const NodeDeviceStanding& device : devices) {
    const storage::EvidenceRow& row = device.standing.row;
    policy::DeviceFact fact{.uuid = device.uuid,
                            .appraised_at = row.appraised_at,
                            .current = device.standing.current,
                            .error = row.error,
                            .valid_until = row.valid_until,
                            .anchor = row.anchor,
                            .anchor_is_vendor = row.anchor_is_vendor};
    if (row.error.empty()) {
      ASSAY_ASSIGN(fact.state, json::get<DeviceState>(row.device));
    }
    facts.push_back(std::move(fact));
  }
  return facts;
}

// An enrolment that was ended is over.
Result<policy::NodeFact> node_fact(storage::Snapshot& snapshot, const storage::NodeRow& row) {
  policy::NodeFact fact;
  fact.name = row.name;
  fact.enrolled_at = row.enrolled_at;
  fact.expires_at = row.ended ? std::min(row.expires_at, row.ended->at) : row.expires_at;
  fact.revoked = row.revoked;
  if (row.measured) {
    ASSAY_ASSIGN(const auto evidence, standing(snapshot, node_subject(row.name)));
    if (evidence) {
      add_evidence(*evidence, fact);
    }
  }
  ASSAY_ASSIGN(fact.devices, device_facts(snapshot, row));
  ASSAY_ASSIGN(const auto registration, if_found(snapshot.registration_of(row.name)));
  if (registration && registration->id == row.registration) {
    fact.devices_registered = registration->devices;
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
  job.volume = std::move(pending.volume);
  job.read_since = pending.read_since;
  job.worker_measured = pending.worker_measured;
  job.finished_at = pending.reported_at;
  return job;
}

// A report is a measured worker's only while its own evidence is accepted.
Status judge_evidence(storage::Snapshot& snapshot, policy::ReportFact& fact) {
  ASSAY_ASSIGN(const auto evidence, standing(snapshot, job_subject(fact.job)));
  fact.worker_measured = fact.worker_measured && evidence && evidence->row.error.empty();
  fact.appraisal_current = evidence && evidence->current;
  fact.evidence_valid_until = evidence ? evidence->row.valid_until : std::nullopt;
  return {};
}

Result<std::optional<policy::MemoryFact>> memory_fact(const storage::JobRow& job) {
  if (job.instance.empty()) {
    return std::nullopt;
  }
  if (!job.detail.is_object() || !job.detail.contains("memory")) {
    return fail(ErrorCode::kDataLoss, "a report about memory lacks what it says of it");
  }
  ASSAY_ASSIGN(MemoryFacts said, json::get<MemoryFacts>(job.detail["memory"]));
  constexpr std::size_t kMaxCauses = 4;  // facts are kept with each decision
  std::vector<std::string> causes;
  for (const std::string& cause : said.staged_causes | std::views::take(kMaxCauses)) {
    causes.push_back(clip(cause));
  }
  return policy::MemoryFact{.world = said.world,
                            .in_place = said.in_place,
                            .on_devices = said.on_devices,
                            .staged = said.staged,
                            .registered = said.registered,
                            .uncovered = said.uncovered,
                            .device_bytes = said.device_bytes,
                            .redrawn = said.redrawn,
                            .read_by = std::move(said.read_by),
                            .check = members::text(job.detail, "check"),
                            .staged_causes = std::move(causes),
                            .detection = said.detection,
                            .uncovered_count = said.uncovered_count,
                            .layout = std::move(said.layout)};
}

Result<policy::ReportFact> report_fact(const storage::JobRow& job) {
  if (!job.finished_at || !job.read_since) {
    return fail(ErrorCode::kDataLoss, "a job with a report has no time of it");
  }
  policy::ReportFact fact;
  fact.job = job.id;
  fact.scope = job.scope;
  fact.location = job.location;
  fact.volume = job.volume;
  fact.pod = job.pod;
  fact.pod_volume = job.pod_volume;
  fact.instance = job.instance;
  fact.result = job.result;
  fact.reported_at = *job.finished_at;
  fact.read_since = *job.read_since;
  fact.worker_measured = job.worker_measured;
  fact.report = job.report;
  const Json& detail = job.detail;
  if (detail.is_object() && detail.contains("differing") && detail["differing"].is_string()) {
    fact.differing = clip(detail["differing"].get<std::string>());
  }
  if (detail.is_object() && detail.contains("spot_checks") &&
      detail["spot_checks"].is_number_unsigned()) {
    fact.spot_checks = detail["spot_checks"].get<std::uint64_t>();
  }
  ASSAY_ASSIGN(fact.memory, memory_fact(job));
  return fact;
}

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) {
    texts.push_back(text);
  }
}

// Where the pod finds models; at most one for each of its mounts.
std::vector<std::string> mounted_locations(const policy::Workload& workload) {
  std::vector<std::string> locations;
  for (const policy::Mount& mount : workload.mounts) {
    if (!mount.location.empty()) {
      add_once(locations, mount.location);
    }
  }
  return locations;
}

// Where reports on what the pod mounts can be: there, and at locations of the model around it,
// which count where a policy says `mounts: within`.
std::vector<std::string> locations_of_mounts(const policy::Workload& workload,
                                             const policy::Facts& facts) {
  std::set<std::string, std::less<>> named;
  for (const policy::ManifestFact& manifest : facts.manifests) {
    named.insert(manifest.locations.begin(), manifest.locations.end());
  }
  std::vector<std::string> locations = mounted_locations(workload);
  const std::size_t mounted = locations.size();
  for (std::size_t i = 0; i < mounted; ++i) {
    std::string_view around = locations[i];
    for (std::size_t slash = around.rfind('/'); slash != std::string_view::npos && slash > 0;
         slash = around.rfind('/')) {
      around = around.substr(0, slash);
      if (const auto found = named.find(around); found != named.end()) {
        add_once(locations, *found);
      }
      // `locations` may have moved.
      around = std::string_view(locations[i]).substr(0, slash);
    }
  }
  return locations;
}

// Only at serve is something in memory; that of a pod whose uid is not known cannot be told from
// that of others.
bool has_memory(const NodeQuestion& question) {
  return question.serve && (!question.workload.pod || !question.pod_uid.empty());
}

// Reports on these places are facts; with a pod at serve those on its own mounts, too.
Result<std::vector<storage::ReportPlace>> places_of(storage::Snapshot& snapshot,
                                                    const NodeQuestion& question,
                                                    const policy::Facts& facts,
                                                    const std::string& scope) {
  std::vector<storage::ReportPlace> places;
  const auto add_all = [&](const std::string& pod) -> Status {
    ASSAY_ASSIGN(auto found, snapshot.report_places(question.workload.node, *facts.artifact, scope,
                                                    pod, kMaxReportPlaces + 1));
    places.insert(places.end(), std::make_move_iterator(found.begin()),
                  std::make_move_iterator(found.end()));
    return {};
  };
  const bool in_memory = scope != name(JobScope::kFiles);
  if (in_memory && !has_memory(question)) {
    return places;
  }
  if (in_memory) {
    ASSAY_TRY(add_all(question.pod_uid));
  } else if (question.workload.pod) {
    for (std::string& location : locations_of_mounts(question.workload, facts)) {
      places.push_back({std::move(location)});
    }
  } else if (!facts.asked_locations.empty()) {
    for (const std::string& location : facts.asked_locations) {
      places.push_back({location});
    }
  } else {
    ASSAY_TRY(add_all({}));
  }
  if (!in_memory && !question.pod_uid.empty()) {
    ASSAY_TRY(add_all(question.pod_uid));
  }
  if (places.size() > kMaxReportPlaces) {
    return fail(ErrorCode::kLimitExceeded, "the node has reports on too many places; name some");
  }
  return places;
}

// The kubelet gives a pod's own volumes and persistent volumes directories of one kind, so a node
// that was told to read a persistent volume may have read a volume of the pod that has its name.
bool may_be_another_volume(const policy::ReportFact& report, const policy::Workload& workload) {
  return !report.volume.empty() &&
         std::ranges::any_of(workload.mounts, [&](const policy::Mount& mount) {
           return mount.volume == report.volume && !claim_in(mount.location);
         });
}

// Reports on bytes that were read before the machine had the node's name are no reports of it.
Status collect_reports(storage::Snapshot& snapshot, const NodeQuestion& question,
                       const storage::NodeRow& node, const std::string& scope,
                       policy::Facts& facts) {
  ASSAY_ASSIGN(const auto places, places_of(snapshot, question, facts, scope));
  for (const storage::ReportPlace& place : places) {
    ASSAY_ASSIGN(auto job, if_found(snapshot.newest_report(question.workload.node, *facts.artifact,
                                                           scope, place)));
    if (job) {
      ASSAY_ASSIGN(const storage::JobRow counted, as_it_stands(*std::move(job)));
      ASSAY_ASSIGN(policy::ReportFact fact, report_fact(counted));
      if (fact.read_since < node.held_since || may_be_another_volume(fact, question.workload)) {
        continue;
      }
      ASSAY_TRY(judge_evidence(snapshot, fact));
      facts.reports.push_back(std::move(fact));
    }
  }
  return {};
}

// What the node's agent said last of instances that the asker has. An agent with another key is
// another agent. Read after the snapshot: what it says is at least as new. An instance under
// another artifact of the request is a fact for that one; under none of them, a pod must not have
// it, so it is a fact for each, and verified for none; once it has ended, the pod has it no more.
void collect_instances(const Services& services, const NodeQuestion& question,
                       const storage::NodeRow& node, policy::Facts& facts) {
  if (!has_memory(question)) {
    return;
  }
  const auto newest = services.heartbeats.of(question.workload.node);
  if (!newest || newest->key != node.key) {
    return;
  }
  for (const InstanceBeat& beat : newest->instances) {
    const bool own = beat.artifact == *facts.artifact;
    const bool foreign = question.workload.pod &&
                         std::ranges::find(question.models, beat.artifact) == question.models.end();
    const bool had = !own && beat.state == InstanceState::kEnded;
    if (beat.instance.pod != question.pod_uid || !(own || foreign) || had) {
      continue;
    }
    const InstanceState state =
        own || beat.state == InstanceState::kViolated ? beat.state : InstanceState::kUnknown;
    facts.instances.push_back({beat.instance.instance, std::string(name(state)), newest->heard_at,
                               beat.findings, own ? beat.watch : std::nullopt});
  }
}

}  // namespace

Result<std::vector<policy::ClaimFact>> known_claims(storage::Snapshot& snapshot,
                                                    const policy::Workload& workload,
                                                    const std::string& cluster) {
  std::vector<policy::ClaimFact> facts;
  for (const std::string& location : mounted_locations(workload)) {
    const std::optional<Claim> claim = claim_in(location);
    if (!claim ||
        std::ranges::find(facts, claim->location, &policy::ClaimFact::claim) != facts.end()) {
      continue;
    }
    ASSAY_ASSIGN(const auto row, if_found(snapshot.claim(cluster, claim->name_space, claim->name)));
    if (row) {
      facts.push_back({claim->location, row->uid, row->volume});
    }
  }
  return facts;
}

Status collect_node(Services& services, storage::Snapshot& snapshot, const NodeQuestion& question,
                    policy::Facts& facts) {
  ASSAY_ASSIGN(const auto row, if_found(snapshot.node(question.workload.node)));
  if (!row) {
    return {};
  }
  ASSAY_ASSIGN(facts.node, node_fact(snapshot, *row));
  facts.pod = question.pod_uid;
  if (!question.workload.pod) {
    facts.asked_locations = question.locations;
  }
  if (!facts.artifact) {
    return {};
  }
  if (question.workload.pod) {
    ASSAY_ASSIGN(facts.claims, known_claims(snapshot, question.workload, question.cluster));
  }
  for (const JobScope scope : {JobScope::kFiles, JobScope::kDeviceMemory}) {
    ASSAY_TRY(collect_reports(snapshot, question, *row, std::string(name(scope)), facts));
  }
  const auto shown = devices_shown_since(*row);
  for (policy::ReportFact& report : facts.reports) {
    attest_readers(*facts.node, shown, report);
  }
  collect_instances(services, question, *row, facts);
  return {};
}

}  // namespace assay::server
