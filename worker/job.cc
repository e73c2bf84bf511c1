// SPDX-License-Identifier: Apache-2.0
#include "worker/job.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "attestation/dsse.h"
#include "schemas/core/error_json.h"
#include "schemas/core/hub_name.h"
#include "schemas/core/json_foreign.h"
#include "schemas/report_size.h"

namespace assay::worker {

namespace {

// A lease is renewed after a third of it: two tries may fail.
constexpr double kRenewAfter = 1.0 / 3;
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5'000};
// A service that keeps asking for more than it ever does is not followed for ever.
constexpr int kMaxQuestions = 4;

std::chrono::milliseconds length_of(const JobLease& lease) {
  constexpr std::uint64_t kMaxSeconds = 86'400;
  return std::chrono::seconds(std::min(lease.lease_seconds, kMaxSeconds));
}

// What is wrong with the files of the model, and not with this machine.
bool is_about_model(ErrorCode code) {
  switch (code) {
    case ErrorCode::kFileUnreadable:
    case ErrorCode::kFileChanged:
    case ErrorCode::kUnsupportedFileType:
    case ErrorCode::kInvalidPath:
    case ErrorCode::kInvalidParameter:
    case ErrorCode::kMalformedSafetensors:
    case ErrorCode::kMalformedGguf:
    case ErrorCode::kLimitExceeded:
      return true;
    default:
      return false;
  }
}

bool is_about_device(ErrorCode code) {
  return code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceSelfTestFailed ||
         code == ErrorCode::kDeviceNotFound;
}

// The service does not say what became of the report, or gave the job to another worker.
bool is_loss(ErrorCode code) {
  switch (code) {
    case ErrorCode::kLeaseLost:
    case ErrorCode::kConflict:
    case ErrorCode::kChallengeUsed:
    case ErrorCode::kChallengeExpired:
      return true;
    default:
      return false;
  }
}

// What this node can say of a job without having read anything: it ends it.
bool ends_the_job(ErrorCode code) {
  return code == ErrorCode::kLocationUnmapped || code == ErrorCode::kPodVolumeMissing ||
         code == ErrorCode::kInstanceMissing;
}

NodeModel::Hashed nothing_covered(std::size_t entries, const JobLease& lease, const Error& why) {
  NodeModel::Hashed nothing;
  const std::string reason(info(why.code).code);
  if (!lease.subset.empty()) {
    for (const std::uint64_t position : lease.subset) {
      nothing.not_covered.push_back({position, reason});
    }
    return nothing;
  }
  for (std::uint64_t i = 0; i < entries; ++i) {
    nothing.not_covered.push_back({i, reason});
  }
  return nothing;
}

void put_found(NodeModel::Hashed found, VerificationReport& report) {
  report.entries = std::move(found.entries);
  report.not_covered = std::move(found.not_covered);
  report.extra = std::move(found.extra);
  report.extra_count = found.extra_count;
  report.bytes = found.bytes;
  report.read_protection =
      found.read_protection.empty() ? std::nullopt : std::optional(found.read_protection);
}

}  // namespace

LeasedJob::LeasedJob(Parts& parts, Enroller& enroller, JobLease lease, Steady::time_point received)
    : parts_(parts),
      enroller_(enroller),
      lease_(std::move(lease)),
      term_(received, length_of(lease_), kRenewAfter),
      backoff_(parts.random, kFirstPause, kLongestPause),
      engine_(&parts.engine) {}

Status LeasedJob::check_lease() const {
  const Challenge& challenge = lease_.challenge;
  if (lease_.node != parts_.node || challenge.node != parts_.node || challenge.job != lease_.job ||
      challenge.purpose != ChallengePurpose::kReport) {
    return fail(ErrorCode::kChallengeMismatch, "The lease is for another node or job");
  }
  return {};
}

Status LeasedJob::renew() {
  const Steady::time_point asked = Steady::now();
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(term_.end() - asked);
  const Status renewed = parts_.service.renew(lease_, left);
  if (renewed) {
    term_ = Term(asked, length_of(lease_), kRenewAfter);
    backoff_.reset();
    return {};
  }
  if (!may_pass(renewed.error())) {
    refused_ = true;
    return renewed;
  }
  const auto wait = std::min(backoff_.next(), length_of(lease_) / 6);
  term_.postpone(Steady::now() + wait);
  return {};
}

Status LeasedJob::tend() {
  if (parts_.abandon.stop_requested()) {
    return fail(ErrorCode::kCancelled, "The work was stopped on request");
  }
  const Steady::time_point now = Steady::now();
  if (term_.is_over(now)) {
    return fail(ErrorCode::kLeaseLost, "The lease ran out before it could be renewed");
  }
  if (term_.is_due(now)) {
    ASSAY_TRY(renew());
  }
  return enroller_.tend();
}

Status LeasedJob::aside(const std::function<void(const std::stop_token&)>& work) {
  std::mutex mutex;
  std::condition_variable_any changed;
  bool done = false;
  std::jthread thread([&](const std::stop_token& stop) {
    work(stop);
    // Notified under the lock: whoever waits goes on only after this thread is done with `changed`.
    const std::lock_guard lock(mutex);
    done = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  const auto is_done = [&done] { return done; };
  while (!done) {
    const auto look = std::min({term_.due(), term_.end(), enroller_.due()});
    if (changed.wait_until(lock, parts_.abandon, look, is_done)) {
      break;
    }
    lock.unlock();
    const Status status = tend();
    lock.lock();
    if (!status) {
      thread.request_stop();
      changed.wait(lock, is_done);
      return status;
    }
  }
  return {};
}

template <typename Call>
auto LeasedJob::insist(const char* what, const Call& call) -> decltype(call()) {
  Backoff backoff(parts_.random, kFirstPause, kLongestPause);
  while (true) {
    ASSAY_TRY(tend());
    auto result = call();
    if (result || !may_pass(result.error())) {
      refused_ = !result && result.error().code != ErrorCode::kCancelled;
      return result;
    }
    const auto wait = backoff.next();
    parts_.events.tell("retry", {{"what", what},
                                 {"job", lease_.job},
                                 {"wait_ms", wait.count()},
                                 {"error", error_json(result.error())}});
    pause(std::min<Steady::duration>(wait, term_.end() - Steady::now()), parts_.abandon);
  }
}

bool LeasedJob::takes_fallback(const Error& error) {
  if (!is_about_device(error.code) || parts_.fallback == nullptr || engine_ == parts_.fallback) {
    return false;
  }
  parts_.events.tell("device-failed", {{"job", lease_.job},
                                       {"device", engine_->info().id},
                                       {"fallback", parts_.fallback->info().id},
                                       {"error", error_json(error)}});
  engine_ = parts_.fallback;
  return true;
}

Result<NodeModel::Hashed> LeasedJob::look(const Manifest& manifest, const std::stop_token& stop) {
  const Result<std::filesystem::path> path = resolve_place(place_);
  if (!path && path.error().code == ErrorCode::kNotFound) {
    model_ = NodeModel::absent(manifest);
  } else {
    ASSAY_TRY(path);
    ASSAY_ASSIGN(model_, NodeModel::find(*path, manifest, lease_.subset, stop,
                                         is_hub_repository(lease_.location)));
  }
  const gpu_hash::Progress progress = parts_.show_progress("hashing " + lease_.model_name);
  auto hashed = model_->hash(*engine_, progress, stop);
  if (!hashed && takes_fallback(hashed.error())) {
    hashed = model_->hash(*engine_, progress, stop);
  }
  ASSAY_TRY(hashed);
  // Another volume may have come in its place meanwhile.
  ASSAY_ASSIGN(const Place now, parts_.map.find(lease_.location, lease_.pod));
  if (now.volume != place_.volume) {
    return fail(ErrorCode::kFileChanged, "Another volume was mounted meanwhile", lease_.location);
  }
  return hashed;
}

VerificationReport LeasedJob::begin_report(const Manifest& manifest) const {
  const gpu_hash::EngineInfo& engine = parts_.engine.info();
  return {.job = lease_.job,
          .node = parts_.node,
          .nonce = lease_.challenge.nonce,
          .lease = lease_.token,
          .artifact = lease_.artifact,
          .parameters = manifest.artifact.parameters,
          .scope = lease_.scope,
          .location = lease_.location,
          .volume = place_.volume,
          .pod = lease_.pod,
          .instance = lease_.instance,
          .entries = {},
          .not_covered = {},
          .device = {engine.id, engine.device, engine.driver},
          .kernel_digest = engine.kernel_digest,
          .bytes = 0,
          .started_at = parts_.clock.now(),
          .finished_at = {}};
}

Status LeasedJob::read_files(const Manifest& manifest, VerificationReport& report) {
  Result<NodeModel::Hashed> hashed = fail(ErrorCode::kInternal, "Hashing ended early");
  ASSAY_TRY(aside([&](const std::stop_token& stop) {
    try {
      hashed = look(manifest, stop);
    } catch (const std::exception& error) {
      hashed = fail(ErrorCode::kInternal, error.what());
    }
  }));
  if (!hashed) {
    if (!is_about_model(hashed.error().code)) {
      return std::unexpected(hashed.error());
    }
    parts_.events.tell("not-covered", {{"job", lease_.job}, {"error", error_json(hashed.error())}});
    hashed = nothing_covered(manifest.artifact.entries.size(), lease_, hashed.error());
  }
  const gpu_hash::EngineInfo& engine = engine_->info();
  report.device = {engine.id, engine.device, engine.driver};
  report.kernel_digest = engine.kernel_digest;
  put_found(*std::move(hashed), report);
  return {};
}

Result<VerificationReport> LeasedJob::inspect(const Manifest& manifest) {
  VerificationReport report = begin_report(manifest);
  if (lease_.scope == JobScope::kDeviceMemory) {
    ASSAY_TRY(read_memory(manifest, report));
  } else {
    ASSAY_TRY(read_files(manifest, report));
  }
  report.finished_at = parts_.clock.now();
  parts_.metrics.hashed(report.bytes);
  parts_.events.tell(
      "hashed", {{"job", lease_.job},
                 {"entries", report.entries.size()},
                 {"not_covered", report.not_covered.size()},
                 {"extra", report.extra_count},
                 {"bytes", report.bytes},
                 {"read_protection",
                  report.read_protection ? Json(name(report.read_protection->weakest())) : Json()},
                 {"device", report.device.id}});
  return report;
}

Result<ReportSubmission> LeasedJob::sign(const VerificationReport& report) {
  std::string payload;
  {
    const Json json = to_json(report);
    ASSAY_ASSIGN(payload, canonical_json(json));
    ASSAY_TRY(check_report_length(payload.size(), json_memory(json)));
  }
  const std::array<const Signer*, 1> signers = {&parts_.signer};
  ASSAY_ASSIGN(
      const attestation::Envelope envelope,
      attestation::sign_envelope(kVerificationReportPayloadType, as_bytes(payload), signers));
  const std::string text = attestation::encode_envelope(envelope);
  const ByteView bytes = as_bytes(text);
  ReportSubmission submission{Bytes(bytes.begin(), bytes.end()), std::nullopt};
  const Bytes key = parts_.signer.public_key();
  const EvidenceBinding binding{report_report_data(report.nonce, key, as_bytes(payload)),
                                report_parts(report.nonce, key, as_bytes(payload))};
  ASSAY_ASSIGN(submission.evidence, parts_.evidence.collect(binding));
  return submission;
}

Result<ReportAnswer> LeasedJob::send_outline(const ReportAnswer& wanted) {
  OutlineSubmission submission{wanted.span, {}};
  Result<std::vector<OutlineSubmission::Item>> items =
      fail(ErrorCode::kInternal, "Hashing ended early");
  ASSAY_TRY(aside([&](const std::stop_token& stop) {
    try {
      items = outline(wanted, stop);
    } catch (const std::exception& error) {
      items = fail(ErrorCode::kInternal, error.what());
    }
  }));
  ASSAY_ASSIGN(submission.entries, std::move(items));
  return insist("outline", [&] { return parts_.service.outline(lease_, submission); });
}

Result<ReportAnswer> LeasedJob::send_spots(const ReportAnswer& wanted) {
  if (!wanted.challenge || wanted.challenge->job != lease_.job ||
      wanted.challenge->purpose != ChallengePurpose::kSpot || !model_) {
    return fail(ErrorCode::kChallengeMismatch, "The spot check is for another job");
  }
  SpotSubmission submission{wanted.challenge->nonce, {}};
  for (const SpotSpan& place : wanted.spans) {
    ASSAY_TRY(tend());
    ASSAY_ASSIGN(const Bytes bytes, model_->read(place, wanted.span));
    submission.answers.push_back(spot_answer(submission.nonce, lease_.artifact, place, bytes));
  }
  return insist("spot", [&] { return parts_.service.spot(lease_, submission); });
}

Status LeasedJob::find_place() {
  Status found = lease_.scope == JobScope::kFiles ? find_directory() : find_instance();
  if (!found && ends_the_job(found.error().code)) {
    const std::string refused = why_missing_ ? why_missing_->code : "";
    ASSAY_TRY(insist("give-up",
                     [&] { return parts_.service.give_up(lease_, found.error().code, refused); }));
  }
  return found;
}

// The lease would keep the job from everybody. When the service does not hear this, it ends by
// itself.
void LeasedJob::give_back() {
  const Status told = parts_.service.give_up(lease_, ErrorCode::kDeviceFailed, {});
  if (!told) {
    parts_.events.tell("retry", {{"what", "give-back"},
                                 {"job", lease_.job},
                                 {"wait_ms", 0},
                                 {"error", error_json(told.error())}});
  }
}

Status LeasedJob::find_directory() {
  ASSAY_ASSIGN(place_, parts_.map.find(lease_.location, lease_.pod));
  return {};
}

Result<ReportAnswer::State> LeasedJob::work() {
  ASSAY_TRY(check_lease());
  ASSAY_TRY(find_place());
  ASSAY_ASSIGN(std::optional<Manifest> manifest, insist("manifest", [&] {
                 return parts_.service.manifest(lease_.artifact, lease_.model_name);
               }));
  const std::size_t entries = manifest->artifact.entries.size();
  ASSAY_ASSIGN(VerificationReport report, inspect(*manifest));
  manifest.reset();  // a report of many entries needs the room
  Result<ReportSubmission> made = sign(report);
  if (!made && made.error().code == ErrorCode::kLimitExceeded && !report.memory) {
    // Somebody gave so many tensors such shapes that nobody would read the report. That ends an
    // earlier `verified` all the same.
    put_found(nothing_covered(entries, lease_, made.error()), report);
    made = sign(report);
  }
  ASSAY_ASSIGN(const ReportSubmission submission, std::move(made));
  ASSAY_ASSIGN(ReportAnswer answer,
               insist("report", [&] { return parts_.service.report(lease_, submission); }));
  for (int questions = 0; questions < kMaxQuestions; ++questions) {
    parts_.events.tell("reported", {{"job", lease_.job}, {"answer", name(answer.state)}});
    if (answer.state == ReportAnswer::State::kOutline) {
      ASSAY_ASSIGN(answer, send_outline(answer));
    } else if (answer.state == ReportAnswer::State::kSpot) {
      ASSAY_ASSIGN(answer, send_spots(answer));
    } else {
      conclude(answer, submission);
      return answer.state;
    }
  }
  return fail(ErrorCode::kReportMismatch, "The service asks for more than it should");
}

JobOutcome LeasedJob::run() {
  parts_.events.tell("leased", {{"job", lease_.job},
                                {"artifact", lease_.artifact.text()},
                                {"model", lease_.model_name},
                                {"location", lease_.location},
                                {"pod", lease_.pod ? Json(lease_.pod->uid) : Json()},
                                {"instance", lease_.instance ? to_json(*lease_.instance) : Json()},
                                {"lease", lease_.token}});
  Result<ReportAnswer::State> state = fail(ErrorCode::kInternal, "The job ended early");
  try {
    state = work();
  } catch (const std::exception& error) {  // the system has no more threads or memory
    state = fail(ErrorCode::kInternal, error.what());
  }
  JobOutcome outcome;
  if (state) {
    outcome.result = name(*state);
  } else {
    const ErrorCode code = state.error().code;
    outcome.error = state.error();
    if (is_about_device(code) && !refused_) {
      give_back();
    }
    outcome.result = code == ErrorCode::kCancelled ? "stopped"
                     : ends_the_job(code)          ? "unmapped"
                     : is_loss(code)               ? "lost"
                     : refused_                    ? "refused"
                                                   : "failed";
  }
  Json told = {{"job", lease_.job}, {"result", outcome.result}};
  if (outcome.error) {
    told["error"] = error_json(*outcome.error);
  }
  parts_.events.tell("finished", std::move(told));
  parts_.metrics.job(outcome.result);
  return outcome;
}

}  // namespace assay::worker
