// SPDX-License-Identifier: Apache-2.0
#include "server/service/jobs/report.h"

#include <algorithm>

#include "attestation/single_signature.h"
#include "schemas/core/sha.h"
#include "schemas/report_size.h"
#include "server/service/documents/outlines.h"
#include "server/service/documents/store_statement.h"
#include "server/service/jobs/compare_report.h"
#include "server/service/jobs/job_steps.h"
#include "server/service/jobs/jobs.h"
#include "server/service/jobs/spot_check.h"
#include "server/service/nodes/appraisal.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/enrol.h"

namespace assay::server {
namespace {

// A submission taken apart; of what it says only the shape is known to be right.
struct Submitted {
  ReportSubmission submission;
  DocumentId document;
  attestation::Envelope envelope;
  VerificationReport report;
};

Result<Submitted> take_apart(ReportSubmission submission, DocumentId document) {
  ASSAY_ASSIGN(attestation::Envelope envelope, attestation::parse_envelope(submission.envelope));
  if (envelope.payload_type != kVerificationReportPayloadType) {
    return fail(ErrorCode::kPayloadTypeUnknown, "this route takes envelopes with payloadType " +
                                                    std::string(kVerificationReportPayloadType));
  }
  ASSAY_ASSIGN(VerificationReport report, parse_verification_report(envelope.payload));
  return Submitted{std::move(submission), std::move(document), std::move(envelope),
                   std::move(report)};
}

// What this very report was answered before; nothing when it is new.
Result<std::optional<ReportAnswer>> answered_before(const storage::JobRow& job,
                                                    const DocumentId& document) {
  if (job.state == storage::JobState::kDone && job.report == document) {
    if (job.result == kFailed) {
      return fail(ErrorCode::kSpotCheckFailed, "the job has ended");
    }
    ReportAnswer answer{};
    answer.state = job.result == kVerified   ? ReportAnswer::State::kVerified
                   : job.result == kMismatch ? ReportAnswer::State::kMismatch
                                             : ReportAnswer::State::kIncomplete;
    return answer;
  }
  if (job.state == storage::JobState::kOutline || job.state == storage::JobState::kSpot) {
    ASSAY_ASSIGN(const Pending pending, pending_from(job));
    if (pending.report == document) {
      return pending.answer;
    }
  }
  return std::nullopt;
}

// The signed words are about this job and this lease.
Status check_binding(const VerificationReport& report, const storage::JobRow& job,
                     const LeaseCall& call) {
  const bool same = report.job == job.id && report.node == job.node && report.lease == call.token &&
                    report.artifact == job.artifact && name(report.scope) == job.scope &&
                    report.location == job.location && report.pod == pod_of(job) &&
                    report.instance == instance_of(job);
  if (!same) {
    return fail(
        ErrorCode::kReportMismatch,
        "job, node, lease, artifact, scope, location, pod and instance must be those of the "
        "lease");
  }
  return {};
}

EvidenceContext context_of(const Submitted& submitted, const LeaseCall& call,
                           const std::string& node, Timestamp now) {
  return {call.actor.name, node, call.job, ChallengePurpose::kReport, submitted.report.nonce, now};
}

Result<std::optional<Appraised>> appraise(Services& services, storage::Snapshot& snapshot,
                                          const Submitted& submitted, const storage::NodeRow& node,
                                          const EvidenceContext& context) {
  if (!submitted.submission.evidence) {
    if (node.measured) {
      return fail(ErrorCode::kEvidenceMissing, "a measured worker brings evidence of each report",
                  "/evidence");
    }
    return std::nullopt;
  }
  const ReportDataBytes expected =
      report_report_data(submitted.report.nonce, node.public_key, submitted.envelope.payload);
  ASSAY_ASSIGN(
      Appraised appraised,
      appraise_evidence(services, snapshot, *submitted.submission.evidence, expected, context));
  // Another type of evidence has another anchor than the one that conditions on the node look at.
  if (node.measured && (appraised.evidence.platform != node.platform ||
                        appraised.type != node.measured->evidence_type)) {
    return fail(ErrorCode::kEnrolmentMismatch,
                "the evidence is of another platform or type than the enrolment's", "/evidence");
  }
  return appraised;
}

// What the service does with a report that it believes.
struct Plan {
  Pending pending;
  storage::JobState next;              // kDone, kOutline or kSpot
  std::string_view result;             // of a job that is done now
  std::optional<Challenge> challenge;  // to store, for kSpot
};

Json base_detail(const VerificationReport& report, const Comparison& comparison,
                 Timestamp leased_at) {
  Json not_covered = Json::array();
  for (const NotCovered& item : report.not_covered) {
    if (not_covered.size() < kMaxListed) {
      not_covered.push_back(Json{{"entry", item.entry}, {"reason", item.reason}});
    }
  }
  Json detail = {
      {"check", report.check},
      {"bytes", report.bytes},
      {"entries", comparison.covered.size()},
      {"not_covered", std::move(not_covered)},
      {"extra_count", report.extra_count},
      {"device", to_json(report.device)},
      {"kernel_digest", report.kernel_digest ? Json(report.kernel_digest->text()) : Json()},
      {"leased_at", to_rfc3339(leased_at)},
      {"started_at", to_rfc3339(report.started_at)},
      {"finished_at", to_rfc3339(report.finished_at)},
      {"spot_checks", 0}};
  if (report.read_protection) {
    detail["read_protection"] = to_json(*report.read_protection);
  }
  if (report.memory) {
    detail["memory"] = to_json(*report.memory);
    detail["memory"].erase("extra_tensors");  // they are among the differences
  }
  return detail;
}

// Asks for the digests of what can be localised, as many as one answer may hold.
void ask_for_outline(const Comparison& comparison, const Outline& outline, Plan& plan) {
  ReportAnswer answer{};
  answer.state = ReportAnswer::State::kOutline;
  answer.span = outline.span;
  std::uint64_t digests = 0;
  const std::size_t listed = std::min(comparison.differences.size(), kMaxListed);
  for (std::size_t i = 0; i < listed; ++i) {
    const Difference& difference = comparison.differences[i];
    if (!difference.can_localise) {
      continue;
    }
    const std::uint64_t more = outline.entries.at(*difference.entry).size();
    if (digests + more <= kMaxOutlineDigests) {
      digests += more;
      answer.entries.push_back(*difference.entry);
      plan.pending.localisable.push_back(i);
    }
  }
  if (!answer.entries.empty()) {
    plan.next = storage::JobState::kOutline;
    plan.pending.answer = std::move(answer);
  }
}

void plan_mismatch(const Comparison& comparison, const std::optional<Outline>& outline,
                   Plan& plan) {
  plan.result = kMismatch;
  for (const Difference& difference : comparison.differences) {
    if (plan.pending.differences.size() < kMaxListed) {
      plan.pending.differences.push_back(to_json(difference));
    }
  }
  const std::uint64_t others = comparison.differences.back().others;  // files that have no own
  plan.pending.detail["differences_total"] =
      comparison.differences.size() + (others > 0 ? others - 1 : 0);
  plan.pending.detail["differing"] = describe(comparison.differences.front());
  if (outline) {
    ask_for_outline(comparison, *outline, plan);
  }
}

// What the report is held against, and what came of it.
struct Compared {
  Artifact artifact;
  std::optional<Outline> outline;  // read only where it is of use
  Comparison comparison;
};

// A mirror has the bytes of files; what is in memory is hashed in full each time.
bool wants_spot_check(const Services& services, const storage::JobRow& job) {
  return job.instance.empty() && !services.nodes.mirror.empty() && services.nodes.spot_checks > 0;
}

bool has_bytes(const Compared& compared) {
  return std::ranges::any_of(compared.comparison.covered, [&](std::uint64_t position) {
    return own_size(compared.artifact.entries.at(position)) > 0;
  });
}

// The report stays unchecked and the detail says why: policies that need spot checks fail on it.
// A check that was asked for before is not forgotten by that.
void skip_spot_check(ErrorCode why, Plan& plan) {
  plan.pending.detail["spot_check"] = {{"skipped", info(why).code}};
  if (!plan.pending.drawn.empty()) {
    plan.result = kIncomplete;
  }
}

// The spans to ask for: drawn once a job. None, and why in the plan, when there can be no check.
Result<std::vector<SpotSpan>> spans_to_ask(Services& services, const Compared& compared,
                                           Plan& plan) {
  if (!compared.outline || !is_outlined(compared.artifact, compared.comparison.covered)) {
    skip_spot_check(ErrorCode::kNotFound, plan);
    return std::vector<SpotSpan>();
  }
  if (!plan.pending.drawn.empty()) {
    return plan.pending.drawn;
  }
  ASSAY_ASSIGN(auto spans,
               draw_spans(services.random, compared.artifact, compared.comparison.covered,
                          compared.outline->span, services.nodes.spot_checks));
  if (spans.empty() && has_bytes(compared)) {
    skip_spot_check(ErrorCode::kLimitExceeded, plan);
  }
  return spans;
}

// Draws spans and computes what is right.
Status plan_spot_check(Services& services, const storage::JobRow& job, const Compared& compared,
                       Plan& plan) {
  ASSAY_ASSIGN(const auto spans, spans_to_ask(services, compared, plan));
  if (spans.empty()) {
    return {};
  }
  ASSAY_ASSIGN(Challenge challenge,
               make_challenge(services, ChallengePurpose::kSpot, job.node, job.id,
                              services.clock.now() + services.nodes.challenge_life));
  auto expected = expected_answers(services.nodes.mirror, job.model_name, job.artifact,
                                   compared.artifact, *compared.outline, spans, challenge.nonce);
  if (!expected) {
    skip_spot_check(expected.error().code, plan);
    return {};
  }
  plan.next = storage::JobState::kSpot;
  plan.challenge = challenge;
  plan.pending.drawn = spans;
  plan.pending.expected = *std::move(expected);
  ReportAnswer answer{};
  answer.state = ReportAnswer::State::kSpot;
  answer.span = compared.outline->span;
  answer.spans = spans;
  answer.challenge = std::move(challenge);
  plan.pending.answer = std::move(answer);
  return {};
}

// Reports are kept for ever: none is longer than its model needs.
Status check_size(const Submitted& submitted, const Artifact& artifact,
                  std::span<const std::uint64_t> subset) {
  const std::size_t most = max_report_bytes(artifact, subset);
  if (submitted.submission.envelope.size() > most) {
    return fail(ErrorCode::kPayloadTooLarge,
                "the envelope of a report about these entries has at most " + std::to_string(most) +
                    " bytes",
                "/envelope");
  }
  return {};
}

Result<Compared> compare(const Services& services, storage::Snapshot& snapshot,
                         const storage::JobRow& job, const Submitted& submitted) {
  ASSAY_ASSIGN(Artifact artifact, load_artifact(snapshot, job.artifact));
  const auto subset = job.subset.get<std::vector<std::uint64_t>>();
  ASSAY_TRY(check_size(submitted, artifact, subset));
  ASSAY_ASSIGN(Comparison comparison, compare_report(artifact, subset, submitted.report));
  std::optional<Outline> outline;
  // An entry that a layout cast or split has its bytes nowhere as they are in the outline.
  const bool laid_out = submitted.report.memory && submitted.report.memory->layout;
  if (!laid_out && (!comparison.differences.empty() || !services.nodes.mirror.empty())) {
    ASSAY_ASSIGN(outline, load_outline(snapshot, job.artifact, artifact));
  }
  return Compared{std::move(artifact), std::move(outline), std::move(comparison)};
}

Result<Plan> make_plan(Services& services, std::unique_ptr<storage::Snapshot> snapshot,
                       const storage::JobRow& job, const Submitted& submitted, Pending pending) {
  ASSAY_ASSIGN(const Compared compared, compare(services, *snapshot, job, submitted));
  snapshot.reset();
  Plan plan{std::move(pending), storage::JobState::kDone, kVerified, {}};
  plan.pending.report = submitted.document;
  plan.pending.read_since = plan.pending.leased_at;
  plan.pending.volume = submitted.report.volume;
  plan.pending.appraisal.reset();
  plan.pending.detail = base_detail(submitted.report, compared.comparison, plan.pending.leased_at);
  if (!compared.comparison.differences.empty()) {
    plan_mismatch(compared.comparison, compared.outline, plan);
  } else if (!submitted.report.not_covered.empty() || compared.comparison.covered.empty()) {
    plan.result = kIncomplete;
  } else if (wants_spot_check(services, job) || !plan.pending.drawn.empty()) {
    ASSAY_TRY(plan_spot_check(services, job, compared, plan));
  }
  return plan;
}

// Puts a job that waits for more into its state, or ends it.
Status store_step(storage::Transaction& transaction, storage::JobRow job, const Plan& plan,
                  const LeaseCall& call) {
  if (plan.next == storage::JobState::kDone) {
    Json detail = plan.result == kMismatch ? mismatch_detail(plan.pending) : plan.pending.detail;
    return finish(transaction, std::move(job), plan.pending, {plan.result, std::move(detail), {}},
                  call.actor.name);
  }
  if (plan.challenge) {
    ASSAY_TRY(transaction.put_challenge(challenge_row(*plan.challenge, call.actor.name)));
    // Whoever has not answered in time cannot any more: from then on that counts.
    job.lease_expires_at = std::min(*job.lease_expires_at, plan.challenge->expires_at);
  }
  job.state = plan.next;
  job.pending = to_json(plan.pending);
  return transaction.put_job(job);
}

struct Accepting {
  const LeaseCall& call;
  const Submitted& submitted;
  const std::optional<Appraised>& appraised;
  const KeyId& key;
  Timestamp now;
};

// One write: report, evidence, job.
Status store_report(storage::Transaction& transaction, const Accepting& accepting, Plan plan) {
  ASSAY_ASSIGN(OwnJob own, still_own(transaction, accepting.call, accepting.now));
  if (own.job.state != storage::JobState::kLeased) {
    return fail(ErrorCode::kConflict, "the report of this lease is in already");
  }
  if (own.node.key != accepting.key) {
    return fail(ErrorCode::kUntrustedSigner, "the node has enrolled with another key meanwhile");
  }
  plan.pending.reported_at = accepting.now;
  plan.pending.worker_measured = own.node.measured.has_value();
  if (plan.pending.worker_measured && !accepting.appraised) {
    return fail(ErrorCode::kEvidenceMissing, "the node is measured now; report again", "/evidence");
  }
  if (accepting.appraised) {
    const EvidenceContext context =
        context_of(accepting.submitted, accepting.call, own.node.name, accepting.now);
    ASSAY_ASSIGN(plan.pending.appraisal,
                 record_appraisal(transaction, *accepting.appraised, context));
  }
  ASSAY_TRY(transaction.put_document(kEnvelopeMediaType, accepting.submitted.submission.envelope));
  return store_step(transaction, std::move(own.job), plan, accepting.call);
}

ReportAnswer answer_of(const Plan& plan) {
  if (plan.pending.answer) {
    return *plan.pending.answer;
  }
  ReportAnswer answer{};
  answer.state = plan.result == kVerified   ? ReportAnswer::State::kVerified
                 : plan.result == kMismatch ? ReportAnswer::State::kMismatch
                                            : ReportAnswer::State::kIncomplete;
  return answer;
}

// Everything after the lease was found to run. `snapshot` is what everything is checked against;
// the write checks again what may have changed.
Result<ReportAnswer> accept_report(Services& services, std::unique_ptr<storage::Snapshot> snapshot,
                                   const LeaseCall& call, const OwnJob& own,
                                   const Submitted& submitted, Timestamp now) {
  ASSAY_TRY(spend_challenge(services, submitted.report.nonce,
                            {call.actor.name, ChallengePurpose::kReport, own.job.node, own.job.id},
                            now));
  ASSAY_ASSIGN(Pending pending, pending_from(own.job));
  if (pending.nonce != text(submitted.report.nonce)) {
    return fail(ErrorCode::kChallengeMismatch, "the nonce is of an earlier lease of the job");
  }
  ASSAY_TRY(attestation::verify_single_signature(submitted.envelope, own.node.public_key));
  ASSAY_TRY(check_binding(submitted.report, own.job, call));
  ASSAY_TRY(require_active(own.node, now));
  const EvidenceContext context = context_of(submitted, call, own.node.name, now);
  ASSAY_ASSIGN(const auto appraised, appraise(services, *snapshot, submitted, own.node, context));
  ASSAY_ASSIGN(const Plan plan,
               make_plan(services, std::move(snapshot), own.job, submitted, std::move(pending)));
  ASSAY_TRY(services.store.write([&](storage::Transaction& transaction) {
    return store_report(transaction, {call, submitted, appraised, own.node.key, now}, plan);
  }));
  evidence_moved(services);
  if (plan.next == storage::JobState::kDone) {
    count(services, NodeEvent::kJob, plan.result);
  }
  return answer_of(plan);
}

}  // namespace

Result<ReportAnswer> submit_report(Services& services, const LeaseCall& call, ByteView body) {
  const Timestamp now = services.clock.now();
  // Nobody but the holder of the job has tens of MiB parsed.
  ASSAY_ASSIGN(auto snapshot, services.store.snapshot());
  ASSAY_ASSIGN(const OwnJob own, own_job(*snapshot, call));
  ASSAY_ASSIGN(ReportSubmission submission, parse_report_submission(body));
  DocumentId document(sha256(submission.envelope));
  ASSAY_ASSIGN(const std::optional<ReportAnswer> before, answered_before(own.job, document));
  if (before) {
    return *before;
  }
  ASSAY_TRY(require_lease(own.job, call.token, now));
  ASSAY_ASSIGN(const Submitted submitted, take_apart(std::move(submission), std::move(document)));
  ASSAY_ASSIGN(const auto room, services.node_quota.reports.reserve(
                                    own.job.node, body.size() + kNodeRecordBytes, now));
  Result<ReportAnswer> answer =
      accept_report(services, std::move(snapshot), call, own, submitted, now);
  if (answer || answer.error().code == ErrorCode::kEvidenceRejected) {
    room->keep();  // a refusal of evidence is on record
  }
  return answer;
}

}  // namespace assay::server
