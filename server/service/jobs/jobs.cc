// SPDX-License-Identifier: Apache-2.0
#include "server/service/jobs/jobs.h"

#include <algorithm>
#include <functional>

#include "schemas/claim.h"
#include "schemas/log_record.h"
#include "server/service/documents/outlines.h"
#include "server/service/job_bell.h"
#include "server/service/jobs/job_steps.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/enrol.h"
#include "server/service/nodes/node_view.h"
#include "server/service/references/resolve.h"

namespace assay::server {
namespace {

// Jobs that one write ends on the way to the next one that can be leased.
constexpr int kMaxEndedAtOnce = 32;
// Who acts when nobody asked.
constexpr std::string_view kSystem = "system";
// A job that failed is not ordered again at once; looked for among so many.
constexpr std::chrono::seconds kOrderPause{60};
constexpr std::size_t kLookBack = 32;
// The node's agent is told which volume a directory is: it says the same until that is changed.
constexpr std::chrono::minutes kOtherVolumePause{10};

// A place where a trusted manifest says that the model lies.
struct NamedPlace {
  std::string location;  // empty: nowhere in particular
  std::string model_name;
};

// What trusted publishers say of the artifact: its names, and where it lies under each. Whether a
// location counts for a pod is for the pod's policies to say.
Result<std::vector<NamedPlace>> named_places(storage::Snapshot& snapshot,
                                             const ArtifactId& artifact, Timestamp now) {
  ASSAY_ASSIGN(const auto manifests, trusted_manifests(snapshot, artifact, now));
  std::vector<NamedPlace> places;
  if (!manifests.empty()) {
    ASSAY_ASSIGN(const auto placements, trusted_placements(snapshot, artifact, now));
    for (const storage::StatementRow& row : placements) {
      for (const std::string& location : row.locations) {
        places.push_back({location, row.name});
      }
    }
  }
  for (const storage::StatementRow& row : manifests) {
    // A manifest of another root that names this artifact as one more digest does not say where
    // this one lies.
    if (row.subjects.front() != artifact.text()) {
      continue;
    }
    places.push_back({{}, row.name});
    for (const std::string& location : row.locations) {
      places.push_back({location, row.name});
    }
  }
  return places;
}

// What a job about a pod reads is the volume that the kubelet has under this name. Only of a claim
// the service can tell, by the volume behind it, that this is the location.
Status check_pod_place(const JobRequest& request) {
  if (!request.pod || request.location.empty() || request.location.starts_with("pvc://")) {
    return {};
  }
  return fail(ErrorCode::kInvalidParameter,
              "a job about a pod names a pvc location, or none for a volume that the pod fills",
              "/location");
}

// The place that the request means. What a pod fills at run time, and memory, lie nowhere.
Result<NamedPlace> choose_place(const JobRequest& request, const std::vector<NamedPlace>& places) {
  if (places.empty()) {
    return fail(ErrorCode::kNotFound, "no trusted publisher signed a manifest of this artifact",
                "/artifact");
  }
  // Without a pod there is a location; when the request does not say which, there must be one only.
  const bool guess = request.location.empty() && !request.pod && !request.instance;
  const NamedPlace* found = nullptr;
  for (const NamedPlace& place : places) {
    if (guess ? place.location.empty() : place.location != request.location) {
      continue;
    }
    if (found != nullptr && found->location != place.location) {
      return fail(ErrorCode::kInvalidParameter, "the model lies at several locations; name one",
                  "/location");
    }
    found = found == nullptr ? &place : found;
  }
  if (found == nullptr) {
    return fail(ErrorCode::kReferenceUnbound,
                "no trusted manifest of the artifact names this location", "/location");
  }
  return *found;
}

// The place, once its manifest is trusted and the entries asked for exist.
Result<NamedPlace> check_artifact(Services& services, storage::Snapshot& snapshot,
                                  const JobRequest& request, const Principal& actor,
                                  Timestamp now) {
  ASSAY_TRY(check_pod_place(request));
  ASSAY_ASSIGN(const auto places, named_places(snapshot, request.artifact, now));
  ASSAY_ASSIGN(NamedPlace place, choose_place(request, places));
  if (request.subset.empty() && !request.instance) {
    return place;
  }
  ASSAY_ASSIGN(const ArtifactInTurn read,
               load_artifact_in_turn(services, snapshot, request.artifact, actor.name));
  const Artifact& artifact = read.artifact;
  if (!request.subset.empty() && request.subset.back() >= artifact.entries.size()) {
    return fail(ErrorCode::kInvalidParameter, "the artifact has no such entry", "/subset");
  }
  const bool has_tensors = std::ranges::any_of(artifact.entries, [](const Entry& entry) {
    return std::holds_alternative<TensorEntry>(entry);
  });
  if (request.instance && !has_tensors) {
    return fail(ErrorCode::kInvalidParameter,
                "the artifact has no tensor entries, so nothing in memory can be compared with it",
                "/artifact");
  }
  return place;
}

Result<storage::JobRow> new_job(Services& services, const JobRequest& request,
                                const Principal& actor) {
  if (std::ranges::adjacent_find(request.subset, std::greater_equal()) != request.subset.end()) {
    return fail(ErrorCode::kInvalidParameter, "entries stand in ascending order, each once",
                "/subset");
  }
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(const std::string id, make_uuid_v7(services.random, now));
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(NamedPlace place, check_artifact(services, *snapshot, request, actor, now));
  return storage::JobRow{.id = id,
                         .artifact = request.artifact,
                         .model_name = std::move(place.model_name),
                         .scope = std::string(name(request.scope)),
                         .node = request.node,
                         .location = std::move(place.location),
                         .pod = request.pod        ? request.pod->uid
                                : request.instance ? request.instance->pod
                                                   : std::string(),
                         .pod_volume = request.pod ? request.pod->volume : std::string(),
                         .instance = request.instance ? request.instance->instance : std::string(),
                         .subset = Json(request.subset),
                         .created_by = actor.name,
                         .created_at = now,
                         .state = storage::JobState::kQueued,
                         .token = 0,
                         .lease_expires_at = {},
                         .pending = Json(),
                         .result = {},
                         .detail = Json::object(),
                         .report = {},
                         .worker_measured = false,
                         .finished_at = {},
                         .log_index = 0};
}

// What both are about.
bool same_work(const storage::JobRow& a, const storage::JobRow& b) {
  return a.artifact == b.artifact && a.scope == b.scope && a.location == b.location &&
         a.pod == b.pod && a.pod_volume == b.pod_volume && a.instance == b.instance &&
         a.subset == b.subset;
}

bool same_wish(const storage::JobRow& a, const storage::JobRow& b) {
  return a.state == storage::JobState::kQueued && same_work(a, b) && a.created_by == b.created_by;
}

Json created_detail(const storage::JobRow& job) {
  Json detail = {
      {"job", job.id}, {"node", job.node}, {"scope", job.scope}, {"location", job.location}};
  if (!job.pod.empty()) {
    detail["pod"] = job.pod;
  }
  if (!job.pod_volume.empty()) {
    detail["pod_volume"] = job.pod_volume;
  }
  if (!job.instance.empty()) {
    detail["instance"] = job.instance;
  }
  return detail;
}

// Says whether a job that is there already is as good as a new one.
using IsEnough = bool (*)(const storage::JobRow& known, const storage::JobRow& wished);

Status insert_job(storage::Transaction& transaction, storage::JobRow& job, IsEnough is_enough,
                  bool& created) {
  created = false;
  const auto node = transaction.node(job.node);
  if (!node && node.error().code == ErrorCode::kNotFound) {
    return fail(ErrorCode::kNodeNotEnrolled, "there is no such node", "/node");
  }
  ASSAY_TRY(node);
  ASSAY_TRY(require_active(*node, job.created_at));
  storage::JobQuery query;
  query.node = job.node;
  query.finished = false;
  query.limit = kMaxOpenJobs;
  ASSAY_ASSIGN(const auto open, transaction.jobs(query));
  const auto same =
      std::ranges::find_if(open, [&](const storage::JobRow& row) { return is_enough(row, job); });
  if (same != open.end()) {
    job = *same;
    return {};
  }
  if (open.size() >= kMaxOpenJobs) {
    return fail(ErrorCode::kOverloaded, "the node has too many open jobs");
  }
  ASSAY_ASSIGN(job.log_index,
               transaction.append(
                   {.type = std::string(event::kJobCreated),
                    .time = transaction.now(),
                    .actor = job.created_by,
                    .subjects = {job.artifact.text(), job_subject(job.id), node_subject(job.node)},
                    .documents = {},
                    .detail = created_detail(job)}));
  created = true;
  return transaction.put_job(job);
}

// The result that is counted.
Result<std::string_view> end_lost(storage::Transaction& transaction, const storage::JobRow& job) {
  ASSAY_ASSIGN(const Pending pending, pending_from(job));
  const Ending ending = lost_ending(job, pending, ErrorCode::kLeaseLost);
  ASSAY_TRY(finish(transaction, job, pending, ending, std::string(kSystem)));
  return ending.result;
}

Result<JobLease> lease_of(const storage::JobRow& job, const Challenge& challenge,
                          std::chrono::seconds lease_life) {
  ASSAY_ASSIGN(const JobScope scope, job_scope_from(job.scope));
  return JobLease{.job = job.id,
                  .artifact = job.artifact,
                  .model_name = job.model_name,
                  .scope = scope,
                  .node = job.node,
                  .location = job.location,
                  .pod = pod_of(job),
                  .instance = instance_of(job),
                  .subset = job.subset.get<std::vector<std::uint64_t>>(),
                  .token = job.token,
                  .expires_at = *job.lease_expires_at,
                  .lease_seconds = static_cast<std::uint64_t>(lease_life.count()),
                  .challenge = challenge};
}

// Gives the job to whoever holds the challenge. A spot check that was not answered goes with it:
// its spans are asked for again, since another draw would be another chance, and its report stands
// against the bytes until it is answered. So an honest worker may crash, and go on. Spans that were
// asked for once are known, of course: whoever can fetch them in the time of a few leases passes.
Status start_lease(storage::JobRow& job, const Challenge& challenge, Timestamp now,
                   std::chrono::seconds lease_life) {
  Pending pending{};
  if (job.state != storage::JobState::kQueued) {
    ASSAY_ASSIGN(pending, pending_from(job));
  }
  pending.nonce = text(challenge.nonce);
  pending.leased_at = now;
  pending.answer.reset();
  pending.expected.clear();
  ++job.token;
  job.state = storage::JobState::kLeased;
  job.lease_expires_at = now + lease_life;
  job.report = pending.report;
  job.pending = to_json(pending);
  return {};
}

// One try to lease, in one write.
struct LeaseTry {
  std::optional<JobLease> lease;
  std::vector<std::string_view> ended;  // results of jobs that ended on the way
};

Status try_lease(storage::Transaction& transaction, const Services& services,
                 const std::string& node, const Principal& actor, Challenge challenge,
                 Timestamp now, LeaseTry& result) {
  result = {};
  ASSAY_ASSIGN(const storage::NodeRow row, owned_node(transaction, node, actor));
  ASSAY_TRY(require_active(row, now));
  for (int i = 0; i < kMaxEndedAtOnce; ++i) {
    auto job = transaction.next_job(node, now);
    if (!job) {
      return job.error().code == ErrorCode::kNotFound ? Status() : std::unexpected(job.error());
    }
    if (!can_lease(*job)) {
      ASSAY_ASSIGN(const std::string_view ended, end_lost(transaction, *job));
      result.ended.push_back(ended);
      continue;
    }
    challenge.job = job->id;
    ASSAY_TRY(transaction.put_challenge(challenge_row(challenge, actor.name)));
    ASSAY_TRY(start_lease(*job, challenge, now, services.nodes.lease_life));
    ASSAY_TRY(transaction.put_job(*job));
    ASSAY_ASSIGN(result.lease, lease_of(*job, challenge, services.nodes.lease_life));
    return {};
  }
  return {};
}

// Whether the node may act, and has something to do.
Result<bool> has_next(Services& services, const std::string& node, const Principal& actor,
                      Timestamp now) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const storage::NodeRow row, owned_node(*snapshot, node, actor));
  ASSAY_TRY(require_active(row, now));
  const auto next = snapshot->next_job(node, now);
  if (!next && next.error().code != ErrorCode::kNotFound) {
    return std::unexpected(next.error());
  }
  return next.has_value();
}

// Looks before it writes: most calls find nothing.
Result<LeaseTry> lease_once(Services& services, const std::string& node, const Principal& actor) {
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(const bool has_job, has_next(services, node, actor, now));
  if (!has_job) {
    return LeaseTry{};
  }
  ASSAY_ASSIGN(const Challenge challenge,
               make_challenge(services, ChallengePurpose::kReport, node, {}, now + kMaxLeaseTime));
  LeaseTry result;
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) {
    return try_lease(transaction, services, node, actor, challenge, now, result);
  }));
  for (const std::string_view ended : result.ended) {
    count(services, NodeEvent::kJob, ended);
  }
  return result;
}

// What the cluster says of the claim that the location is in.
Result<std::optional<storage::ClaimRow>> claim_of(storage::Transaction& transaction,
                                                  const std::string& cluster,
                                                  const std::string& location) {
  const auto claim = claim_in(location);
  if (!claim) {
    return std::nullopt;
  }
  auto row = transaction.claim(cluster, claim->name_space, claim->name);
  if (!row && row.error().code != ErrorCode::kNotFound) {
    return std::unexpected(std::move(row).error());
  }
  return row ? std::optional(std::move(*row)) : std::nullopt;
}

// The same work ended a moment ago and another job would end alike: without a report, or with one
// about another volume than was known to be behind the claim when the job was made.
bool ends_alike(const storage::JobRow& row, const storage::JobRow& wished,
                const std::optional<storage::ClaimRow>& claim) {
  if (!same_work(row, wished) || !row.finished_at) {
    return false;
  }
  if (!row.report) {
    return *row.finished_at > wished.created_at - kOrderPause;
  }
  return claim && row.volume != claim->volume && row.created_at > claim->since &&
         *row.finished_at > wished.created_at - kOtherVolumePause;
}

Result<bool> was_tried(storage::Transaction& transaction, const storage::JobRow& wished,
                       const std::string& cluster) {
  storage::JobQuery query;
  query.node = wished.node;
  query.artifact = wished.artifact.text();
  query.finished = true;
  query.limit = kLookBack;
  ASSAY_ASSIGN(const auto finished, transaction.jobs(query));
  ASSAY_ASSIGN(const auto claim, claim_of(transaction, cluster, wished.location));
  return std::ranges::any_of(
      finished, [&](const storage::JobRow& row) { return ends_alike(row, wished, claim); });
}

}  // namespace

Result<JobCreated> create_job(Services& services, const JobRequest& request,
                              const Principal& actor) {
  ASSAY_ASSIGN(const storage::JobRow wished, new_job(services, request, actor));
  JobCreated result{wished, false};
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) {
    result.job = wished;
    return insert_job(transaction, result.job, same_wish, result.created);
  }));
  if (result.created && services.job_bell != nullptr) {
    services.job_bell->ring();
  }
  return result;
}

Result<std::optional<JobCreated>> order_job(Services& services, storage::Store& store,
                                            const JobRequest& request, const std::string& cluster) {
  const Principal system{std::string(kSystem), {}, {}, {}};
  auto made = new_job(services, request, system);
  if (!made) {
    return std::unexpected(std::move(made).error());
  }
  std::optional<JobCreated> result;
  ASSAY_TRY(store.write([&](storage::Transaction& transaction) -> Status {
    result.reset();
    ASSAY_ASSIGN(const bool recent, was_tried(transaction, *made, cluster));
    if (recent) {
      return {};
    }
    result = JobCreated{*made, false};
    return insert_job(transaction, result->job, same_work, result->created);
  }));
  if (result && result->created && services.job_bell != nullptr) {
    services.job_bell->ring();
  }
  return result;
}

Result<LeaseAnswer> lease_job(Services& services, const std::string& node, const Principal& actor,
                              std::chrono::milliseconds wait) {
  using SteadyClock = std::chrono::steady_clock;
  const auto until = SteadyClock::now() + std::min<std::chrono::milliseconds>(wait, kMaxLeaseWait);
  std::uint64_t seen = services.job_bell == nullptr ? 0 : services.job_bell->rings();
  ASSAY_ASSIGN(LeaseTry tried, lease_once(services, node, actor));
  services.last_seen.note(node, services.clock.now());
  if (tried.lease) {
    count(services, NodeEvent::kLease, "leased");
    return LeaseAnswer{std::move(tried.lease), LeaseAnswer::Next::kWork};
  }
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - SteadyClock::now());
    if (left <= std::chrono::milliseconds(0) || services.job_bell == nullptr) {
      count(services, NodeEvent::kLease, "none");
      return LeaseAnswer{{}, LeaseAnswer::Next::kAsk};
    }
    // Nobody rings when a lease runs out: what its worker had is looked for in between.
    const auto look = std::min<std::chrono::milliseconds>(
        left, std::chrono::milliseconds(services.nodes.lease_life) / 4);
    if (services.job_bell->wait(seen, look, node) == JobBell::Woken::kAway) {
      count(services, NodeEvent::kLease, "turned-away");
      return LeaseAnswer{{}, LeaseAnswer::Next::kAskLater};
    }
    seen = services.job_bell->rings();
    ASSAY_ASSIGN(const bool has_job, has_next(services, node, actor, services.clock.now()));
    if (has_job) {
      count(services, NodeEvent::kLease, "woken");
      return LeaseAnswer{{}, LeaseAnswer::Next::kAskNow};
    }
  }
}

}  // namespace assay::server
