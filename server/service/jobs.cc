// SPDX-License-Identifier: Apache-2.0
// Jobs up to the report: creation, leases with fencing, renewal, expiry.
#include "server/service/jobs.h"

#include <algorithm>
#include <functional>

#include "schemas/log_record.h"
#include "server/service/collect.h"
#include "server/service/job_bell.h"
#include "server/service/job_steps.h"
#include "server/service/nodes.h"
#include "server/service/outlines.h"

namespace assay::server {
namespace {

// Jobs that one write ends on the way to the next one that can be leased.
constexpr int kMaxEndedAtOnce = 32;

// Name of the model, once its manifest is trusted and the entries asked for exist.
Result<std::string> check_artifact(storage::Snapshot& snapshot, const JobRequest& request,
                                   Timestamp now) {
  ASSAY_ASSIGN(const ResolvedReference resolved,
               resolve(snapshot, {request.artifact.text(), {}, false}, now));
  if (resolved.model_name.empty()) {
    return fail(ErrorCode::kNotFound, "no trusted publisher signed a manifest of this artifact",
                "/artifact");
  }
  if (!request.subset.empty()) {
    ASSAY_ASSIGN(const Artifact artifact, load_artifact(snapshot, request.artifact));
    if (request.subset.back() >= artifact.entries.size()) {
      return fail(ErrorCode::kInvalidParameter, "the artifact has no such entry", "/subset");
    }
  }
  return resolved.model_name;
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
  ASSAY_ASSIGN(const std::string model, check_artifact(*snapshot, request, now));
  storage::JobRow job{.id = id,
                      .artifact = request.artifact,
                      .model_name = model,
                      .scope = std::string(name(request.scope)),
                      .node = request.node,
                      .path = request.path.empty() ? model : request.path,
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
                      .device_attested = false,
                      .finished_at = {},
                      .log_index = 0};
  ASSAY_TRY(check_path(job.path));
  return job;
}

bool same_wish(const storage::JobRow& a, const storage::JobRow& b) {
  return a.state == storage::JobState::kQueued && a.artifact == b.artifact && a.scope == b.scope &&
         a.path == b.path && a.subset == b.subset && a.created_by == b.created_by;
}

Status insert_job(storage::Transaction& transaction, storage::JobRow& job, bool& created) {
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
      std::ranges::find_if(open, [&](const storage::JobRow& row) { return same_wish(row, job); });
  if (same != open.end()) {
    job = *same;
    return {};
  }
  if (open.size() >= kMaxOpenJobs) {
    return fail(ErrorCode::kOverloaded, "the node has too many open jobs");
  }
  ASSAY_ASSIGN(
      job.log_index,
      transaction.append(
          {.type = std::string(event::kJobCreated),
           .time = transaction.now(),
           .actor = job.created_by,
           .subjects = {job.artifact.text(), job_subject(job.id), node_subject(job.node)},
           .documents = {},
           .detail = {
               {"job", job.id}, {"node", job.node}, {"scope", job.scope}, {"path", job.path}}}));
  created = true;
  return transaction.put_job(job);
}

// How a job ends that cannot be leased again. A report that is in stands: one that differs as it
// is, since only where it differs was still to be said; one whose spot check nobody answered as if
// the answers had been wrong, or silence would be a way out.
Ending lost_ending(const storage::JobRow& job, const Pending& pending) {
  Ending ending{kFailed,           Json::object(),          pending.report,
                pending.appraisal, pending.worker_measured, info(ErrorCode::kLeaseLost).code};
  if (job.state == storage::JobState::kOutline) {
    ending.result = kMismatch;
    ending.detail = mismatch_detail(pending);
    ending.code = {};
  } else if (pending.report) {
    ending.detail = pending.detail;
    ending.detail["spot_check"] = {{"spans", pending.drawn.size()}, {"answered", false}};
    ending.code = info(ErrorCode::kSpotCheckFailed).code;
  }
  return ending;
}

// The result that is counted.
Result<std::string_view> end_lost(storage::Transaction& transaction, const storage::JobRow& job) {
  ASSAY_ASSIGN(const Pending pending, pending_from(job));
  const Ending ending = lost_ending(job, pending);
  ASSAY_TRY(finish(transaction, job, ending, "system"));
  return ending.result;
}

bool can_lease(const storage::JobRow& job) {
  return job.state != storage::JobState::kOutline && job.token < kMaxAttempts;
}

Result<JobLease> lease_of(const storage::JobRow& job, const Challenge& challenge,
                          std::chrono::seconds lease_life) {
  ASSAY_ASSIGN(const JobScope scope, job_scope_from(job.scope));
  return JobLease{.job = job.id,
                  .artifact = job.artifact,
                  .model_name = job.model_name,
                  .scope = scope,
                  .node = job.node,
                  .path = job.path,
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

// A lease goes no further than the question that it waits for an answer to.
Timestamp last_end(const Pending& pending) {
  const Timestamp longest = pending.leased_at + kMaxLeaseTime;
  const bool asked = pending.answer && pending.answer->challenge;
  return asked ? std::min<Timestamp>(longest, pending.answer->challenge->expires_at) : longest;
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

}  // namespace

Result<JobCreated> create_job(Services& services, const JobRequest& request,
                              const Principal& actor) {
  ASSAY_ASSIGN(const storage::JobRow wished, new_job(services, request, actor));
  JobCreated result{wished, false};
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) {
    result.job = wished;
    return insert_job(transaction, result.job, result.created);
  }));
  if (result.created && services.job_bell != nullptr) {
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

Result<Timestamp> renew_lease(Services& services, const LeaseCall& call) {
  const Timestamp now = services.clock.now();
  Timestamp expires_at{};
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(OwnJob own, still_own(transaction, call, now));
    ASSAY_ASSIGN(const Pending pending, pending_from(own.job));
    expires_at = std::min<Timestamp>(now + services.nodes.lease_life, last_end(pending));
    if (expires_at <= now) {
      return fail(ErrorCode::kLeaseLost, "the lease has been renewed for too long");
    }
    own.job.lease_expires_at = expires_at;
    return transaction.put_job(own.job);
  }));
  return expires_at;
}

}  // namespace assay::server
