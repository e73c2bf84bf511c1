// SPDX-License-Identifier: Apache-2.0
#include "worker/agent.h"

#include <algorithm>
#include <utility>

#include "schemas/core/error_json.h"

namespace assay::worker {

namespace {

constexpr std::chrono::milliseconds kFirstPause{250};
constexpr std::chrono::milliseconds kLongestPause{30'000};
// After a job that failed. A lease counts as an attempt of the job (docs/limits.md), so a device
// that fails for some seconds must not use them all up.
constexpr std::chrono::milliseconds kFirstFailed{2'000};
constexpr std::chrono::milliseconds kLongestFailed{60'000};
// An answer without a job that comes sooner means that the service lets nobody wait now.
constexpr std::chrono::milliseconds kShortWait{500};

}  // namespace

Result<Ending> ending_of(const JobOutcome& outcome) {
  if (outcome.result == name(ReportAnswer::State::kVerified)) {
    return Ending::kVerified;
  }
  if (outcome.result == "lost" || outcome.result == "failed" || outcome.result == "stopped") {
    return std::unexpected(outcome.error.value_or(Error{ErrorCode::kInternal, "No result", ""}));
  }
  return Ending::kNotVerified;
}

Agent::Agent(Parts& parts)
    : parts_(parts),
      enroller_(parts),
      backoff_(parts.random, kFirstPause, kLongestPause),
      failed_(parts.random, kFirstFailed, kLongestFailed) {}

void Agent::wait_after(const char* what, const Error& error, Backoff& backoff) {
  const auto wait = backoff.next();
  parts_.events.tell("retry",
                     {{"what", what}, {"wait_ms", wait.count()}, {"error", error_json(error)}});
  rest(wait);
}

void Agent::rest(Steady::duration length) {
  const Steady::time_point now = Steady::now();
  const Steady::time_point due = enroller_.due();
  pause(due > now ? std::min(length, due - now) : length, parts_.drain);
}

Status Agent::begin() {
  while (true) {
    const Status status = enroller_.enrol();
    if (status) {
      backoff_.reset();
      return status;
    }
    const Error& error = status.error();
    if (is_final(error) || (!may_pass(error) && !info(error.code).retryable)) {
      return status;
    }
    wait_after("enrol", error, backoff_);
    if (parts_.drain.stop_requested()) {
      return fail(ErrorCode::kCancelled, "The work was stopped on request");
    }
  }
}

Result<std::optional<JobLease>> Agent::next() {
  ASSAY_TRY(enroller_.tend());
  const Steady::time_point asked = Steady::now();
  Result<Service::Answer> answer = parts_.service.lease(parts_.node, parts_.drain);
  if (answer) {
    // Asked again at once only if the last time was not at once: another worker may be quicker.
    const bool hurry = answer->ask_again && !hurried_;
    if (!answer->lease && !hurry && Steady::now() - asked < kShortWait) {
      rest(backoff_.next());
    } else {
      backoff_.reset();
    }
    hurried_ = hurry;
    return std::move(answer->lease);
  }
  const Error& error = answer.error();
  if (error.code == ErrorCode::kCancelled || is_final(error)) {
    return std::unexpected(error);
  }
  if (error.code == ErrorCode::kNodeNotEnrolled || error.code == ErrorCode::kEnrolmentExpired) {
    enroller_.forget();
  }
  wait_after("lease", error, backoff_);
  return std::nullopt;
}

JobOutcome Agent::handle(JobLease lease, Steady::time_point received) {
  LeasedJob job(parts_, enroller_, std::move(lease), received);
  return job.run();
}

// The service does not take this worker any more. Standard output is what is kept of workers, so it
// says what happened there, too.
std::unexpected<Error> Agent::ended(const Error& error) {
  if (is_final(error)) {
    parts_.events.tell("ended", {{"error", error_json(error)}, {"advice", advice_on(error)}});
  }
  return std::unexpected(error);
}

Result<Ending> Agent::run(bool once) {
  const auto is_over = [this] { return parts_.drain.stop_requested(); };
  if (const Status begun = begin(); !begun && !is_over()) {
    return ended(begun.error());
  }
  while (!is_over()) {
    Result<std::optional<JobLease>> lease = next();
    if (!lease) {
      if (is_over()) {
        break;
      }
      return ended(lease.error());
    }
    if (!*lease) {
      continue;
    }
    const JobOutcome outcome = handle(**std::move(lease), Steady::now());
    if (once) {
      return ending_of(outcome);
    }
    if (outcome.error && is_final(*outcome.error)) {
      return ended(*outcome.error);
    }
    // The job comes again when its lease is over, or at once when it was given back; until then
    // others may.
    if ((outcome.result == "failed" || outcome.result == "refused") && outcome.error) {
      wait_after("job", *outcome.error, failed_);
    } else {
      failed_.reset();
    }
  }
  parts_.events.tell("stopped");
  if (once) {
    return fail(ErrorCode::kCancelled, "Stopped before there was a job");
  }
  return Ending::kStopped;
}

}  // namespace assay::worker
