// SPDX-License-Identifier: Apache-2.0
#include "server/service/jobs/report_follow_up.h"

#include <algorithm>
#include <map>
#include <set>

#include "attestation/dsse.h"
#include "schemas/core/merkle.h"
#include "server/service/documents/outlines.h"
#include "server/service/jobs/compare_report.h"
#include "server/service/jobs/job_steps.h"
#include "server/service/jobs/jobs.h"
#include "server/service/jobs/report.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/enrol.h"

namespace assay::server {
namespace {

// A job that waits for its worker, with what it waits for.
struct Waiting {
  OwnJob own;
  Pending pending;
};

Result<Waiting> require_waiting(OwnJob own, const LeaseCall& call, storage::JobState state,
                                Timestamp now) {
  ASSAY_TRY(require_lease(own.job, call.token, now));
  ASSAY_TRY(require_active(own.node, now));
  if (own.job.state != state) {
    return fail(ErrorCode::kConflict, "the job waits for something else");
  }
  ASSAY_ASSIGN(Pending pending, pending_from(own.job));
  if (!pending.report || !pending.answer) {
    return fail(ErrorCode::kDataLoss, "a job lacks what it waits for");
  }
  return Waiting{std::move(own), std::move(pending)};
}

Status end(Services& services, const LeaseCall& call, const Pending& pending, Ending ending,
           Timestamp now) {
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) -> Status {
    ASSAY_ASSIGN(OwnJob own, still_own(transaction, call, now));
    ASSAY_ASSIGN(const Pending newest, pending_from(own.job));
    if (newest.report != pending.report) {
      return fail(ErrorCode::kConflict, "the job waits for something else");
    }
    return finish(transaction, std::move(own.job), pending, ending, call.actor.name);
  }));
  count(services, NodeEvent::kJob, ending.result);
  return {};
}

ReportAnswer done(ReportAnswer::State state) {
  ReportAnswer answer{};
  answer.state = state;
  return answer;
}

// --- outline

using Roots = std::map<EntryName, Digest>;

// What the report says of the entries that were asked for, of perhaps a hundred thousand.
Result<Roots> reported_roots(storage::Snapshot& snapshot, const DocumentId& report,
                             const Artifact& artifact, const ReportAnswer& asked) {
  ASSAY_ASSIGN(const storage::Document document, snapshot.document(report));
  ASSAY_ASSIGN(const attestation::Envelope envelope, attestation::parse_envelope(document.bytes));
  ASSAY_ASSIGN(const VerificationReport parsed, parse_verification_report(envelope.payload));
  std::set<EntryName> names;
  for (const std::uint64_t position : asked.entries) {
    names.insert(name_of(artifact.entries.at(position)));
  }
  Roots roots;
  for (const Entry& entry : parsed.entries) {
    if (EntryName own = name_of(entry); names.contains(own)) {
      roots.emplace(std::move(own), own_root(entry));
    }
  }
  return roots;
}

// What is known of the model, and what the node said.
struct Ground {
  Artifact artifact;
  Outline outline;
  Roots reported;
  PrincipalTurns::Held turn;
};

Result<Ground> read_ground(Services& services, storage::Snapshot& snapshot, const Waiting& waiting,
                           const std::string& principal) {
  ASSAY_ASSIGN(ArtifactInTurn read,
               load_artifact_in_turn(services, snapshot, waiting.own.job.artifact, principal));
  Artifact& artifact = read.artifact;
  ASSAY_ASSIGN(std::optional<Outline> outline,
               load_outline(snapshot, waiting.own.job.artifact, artifact));
  if (!outline) {
    return fail(ErrorCode::kDataLoss, "the outline is gone");
  }
  ASSAY_ASSIGN(Roots reported, reported_roots(snapshot, *waiting.pending.report, artifact,
                                              *waiting.pending.answer));
  return Ground{std::move(artifact), *std::move(outline), std::move(reported),
                std::move(read.turn)};
}

// The digests lead to the root that the report gives for the own bytes of this entry; then, where
// they differ.
Result<std::vector<ByteRange>> localise(const Ground& ground, const OutlineSubmission::Item& item) {
  const Entry& expected = ground.artifact.entries.at(item.entry);
  const std::vector<Digest>& right = ground.outline.entries.at(item.entry);
  const auto reported = ground.reported.find(name_of(expected));
  const bool leads = reported != ground.reported.end() && item.digests.size() == right.size() &&
                     merkle_root(ground.artifact.parameters.hash, item.digests) == reported->second;
  if (!leads) {
    return fail(ErrorCode::kRootMismatch, "the digests do not lead to the root in the report",
                name_of(expected).path);
  }
  return differing_ranges(right, item.digests, ground.outline.span, own_size(expected));
}

Status require_asked(const OutlineSubmission& submission, const ReportAnswer& asked) {
  const bool fits =
      submission.span == asked.span &&
      std::ranges::equal(submission.entries, asked.entries, {}, &OutlineSubmission::Item::entry);
  if (!fits) {
    return fail(ErrorCode::kReportMismatch, "send the digests of the entries and span asked for");
  }
  return {};
}

// Adds the ranges, kMaxListed in all, to the differences that they are about.
Result<Json> localised_detail(const Ground& ground, const OutlineSubmission& submission,
                              Pending pending) {
  std::size_t listed = 0;
  for (std::size_t i = 0; i < submission.entries.size(); ++i) {
    ASSAY_ASSIGN(const auto ranges, localise(ground, submission.entries[i]));
    const EntryName own = name_of(ground.artifact.entries.at(submission.entries[i].entry));
    Difference difference{
        Difference::Kind::kChanged, {}, own.path, own.tensor, {}, {}, true, ranges, 0};
    if (i == 0) {
      pending.detail["differing"] = describe(difference);
    }
    difference.ranges.resize(std::min(ranges.size(), kMaxListed - listed));
    listed += difference.ranges.size();
    const Json json = to_json(difference);
    Json& target = pending.differences.at(pending.localisable.at(i));
    if (json.contains("ranges")) {
      target["ranges"] = json["ranges"];
    }
    target["ranges_total"] = ranges.size();
  }
  return mismatch_detail(pending);
}

// --- spot check

// The answers were judged before: whoever repeats them hears the same.
std::optional<Result<ReportAnswer>> judged_before(const storage::JobRow& job, const Nonce& nonce) {
  const Json check = job.detail.value("spot_check", Json::object());
  if (job.state != storage::JobState::kDone || check.value("nonce", "") != text(nonce)) {
    return std::nullopt;
  }
  if (job.result == kVerified) {
    return done(ReportAnswer::State::kVerified);
  }
  return fail(ErrorCode::kSpotCheckFailed, "the job has ended");
}

// Looks at every answer, whichever is wrong.
bool all_right(const std::vector<Digest>& expected, const std::vector<Digest>& answers) {
  bool right = expected.size() == answers.size() && !expected.empty();
  for (std::size_t i = 0; i < std::min(expected.size(), answers.size()); ++i) {
    right = constant_time_equal(expected[i].bytes(), answers[i].bytes()) && right;
  }
  return right;
}

Json spot_detail(const Pending& pending, const Nonce& nonce, bool right) {
  const std::size_t spans = pending.expected.size();
  Json detail = pending.detail;
  detail["spot_checks"] = right ? spans : 0;
  detail["spot_check"] = {{"nonce", text(nonce)},
                          {"spans", spans},
                          {"span", pending.answer->span},
                          // The chance that a node without a hundredth of the spans was noticed.
                          {"detects_one_percent", spot_detection_probability(spans, 0.01)}};
  return detail;
}

Result<OwnJob> read_job(Services& services, const LeaseCall& call) {
  ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
  return own_job(*snapshot, call);
}

}  // namespace

Result<ReportAnswer> submit_outline(Services& services, const LeaseCall& call, ByteView body) {
  const Timestamp now = services.clock.now();
  std::optional<Waiting> waiting;
  Json detail;
  {
    ASSAY_ASSIGN(const auto snapshot, services.store.snapshot());
    ASSAY_ASSIGN(OwnJob own, own_job(*snapshot, call));
    if (own.job.state == storage::JobState::kDone && own.job.result == kMismatch &&
        own.job.token == call.token) {
      return done(ReportAnswer::State::kMismatch);
    }
    ASSAY_ASSIGN(waiting, require_waiting(std::move(own), call, storage::JobState::kOutline, now));
    // Before tens of MiB are read for it.
    ASSAY_ASSIGN(const OutlineSubmission submission,
                 parse_outline_submission(body, waiting->own.job.artifact.root().algorithm()));
    ASSAY_TRY(require_asked(submission, *waiting->pending.answer));
    ASSAY_ASSIGN(const Ground ground, read_ground(services, *snapshot, *waiting, call.actor.name));
    ASSAY_ASSIGN(detail, localised_detail(ground, submission, waiting->pending));
  }
  ASSAY_TRY(end(services, call, waiting->pending, {kMismatch, std::move(detail), {}}, now));
  return done(ReportAnswer::State::kMismatch);
}

Result<ReportAnswer> submit_spot(Services& services, const LeaseCall& call, ByteView body) {
  const Timestamp now = services.clock.now();
  ASSAY_ASSIGN(OwnJob own, read_job(services, call));
  ASSAY_ASSIGN(const SpotSubmission submission, parse_spot_submission(body));
  if (auto before = judged_before(own.job, submission.nonce)) {
    return *std::move(before);
  }
  ASSAY_ASSIGN(const Waiting waiting,
               require_waiting(std::move(own), call, storage::JobState::kSpot, now));
  const storage::JobRow& job = waiting.own.job;
  ASSAY_TRY(spend_challenge(services, submission.nonce,
                            {call.actor.name, ChallengePurpose::kSpot, job.node, job.id}, now));
  // Nonces of a spot check before, under another lease of this job, do not count.
  const auto& asked = waiting.pending.answer->challenge;
  if (!asked || asked->nonce != submission.nonce) {
    return fail(ErrorCode::kChallengeMismatch, "the nonce is of an earlier spot check");
  }
  const bool right = all_right(waiting.pending.expected, submission.answers);
  Ending ending{right ? kVerified : kFailed, spot_detail(waiting.pending, submission.nonce, right),
                right ? std::string_view() : info(ErrorCode::kSpotCheckFailed).code};
  ASSAY_TRY(end(services, call, waiting.pending, std::move(ending), now));
  if (!right) {
    return fail(ErrorCode::kSpotCheckFailed, "an answer is wrong; the job has failed");
  }
  return done(ReportAnswer::State::kVerified);
}

}  // namespace assay::server
