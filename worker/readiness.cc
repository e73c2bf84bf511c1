// SPDX-License-Identifier: Apache-2.0
#include "worker/readiness.h"

#include <algorithm>
#include <utility>

#include "schemas/core/error_json.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {
namespace {

constexpr const char* kTrue = "True";
constexpr const char* kFalse = "False";
// The same allow is recorded again when it ended by its own time, but no more often: a decision is
// kept for ever.
constexpr std::chrono::milliseconds kRecordAgain{600'000};
// Other reasons of a deny are recorded no more often.
constexpr std::chrono::milliseconds kDenyAgain{60'000};
constexpr std::size_t kMaxReasons = 16;  // shown of a deny

std::string decision_text(const ServeAnswer& answer) { return "decision " + answer.id; }

PodCondition condition_of(const ServeAnswer& answer) {
  if (!answer.selected) {
    return {kFalse, "NotSelected", "no policy selects this pod, so nothing was verified"};
  }
  if (answer.allowed) {
    return {kTrue, "Allowed", decision_text(answer)};
  }
  std::string message = decision_text(answer) + ":";
  for (std::size_t i = 0; i < std::min(kMaxReasons, answer.reasons.size()); ++i) {
    message += (i == 0 ? " " : ", ") + answer.reasons[i];
  }
  return {kFalse, "Denied", message};
}

PodCondition violated_condition() {
  return {kFalse, "Violated", "the node agent found other bytes in the pod's memory"};
}

bool is_true(const std::optional<PodCondition>& condition) {
  return condition && condition->status != kFalse;
}

}  // namespace

Readiness::Readiness(Clock& clock, PodApi& pods, Ask ask, Violated violated, Events& events,
                     ReadinessTimes times)
    : clock_(clock),
      pods_(pods),
      ask_(std::move(ask)),
      violated_(std::move(violated)),
      events_(events),
      times_(times) {}

void Readiness::round(const std::stop_token& stop) {
  Result<std::vector<GatedPod>> pods = pods_.pods();
  tell_trouble("pods", pods ? nullptr : &pods.error());
  if (!pods) {
    // What is known goes on: allows that end must still be taken away, if that is possible.
    pods = std::vector<GatedPod>();
    for (const auto& [uid, known] : known_) {
      pods->push_back(known.pod);
    }
  }
  keep(*std::move(pods));
  look();
  for (auto& [uid, known] : known_) {
    if (stop.stop_requested()) {
      return;
    }
    show(known, wanted(known));
  }
}

void Readiness::look() {
  const std::set<std::string> violated = violated_();
  for (const std::string& uid : violated) {
    const auto found = known_.find(uid);
    if (found != known_.end() && is_true(found->second.pod.shown)) {
      show(found->second, violated_condition());
    }
  }
}

void Readiness::keep(std::vector<GatedPod> pods) {
  std::map<std::string, Known> next;
  for (GatedPod& pod : pods) {
    const std::string uid = pod.uid;
    const auto before = known_.find(uid);
    Known known = before == known_.end() ? Known{} : std::move(before->second);
    known.pod = std::move(pod);
    next.emplace(uid, std::move(known));
  }
  known_ = std::move(next);
}

bool Readiness::needs_record(const Known& known, const ServeAnswer& answer) const {
  if (!known.recorded || known.recorded->allowed != answer.allowed) {
    return true;
  }
  const Timestamp now = clock_.now();
  if (known.recorded->reasons != answer.reasons) {
    return now - known.recorded_at >= kDenyAgain;
  }
  const bool over = known.recorded->valid_until && now >= *known.recorded->valid_until;
  return over && now - known.recorded_at >= kRecordAgain;
}

// Asks without a record first, since most answers are those of before.
PodCondition Readiness::wanted(Known& known) {
  const std::string& uid = known.pod.uid;
  Result<ServeAnswer> answer = ask_(uid, true);
  if (answer && needs_record(known, *answer) && answer->selected) {
    answer = ask_(uid, false);
    if (answer) {
      known.recorded = *answer;
      known.recorded_at = clock_.now();
    }
  } else if (answer && answer->selected) {
    answer = *known.recorded;  // the same, with the id under which it was recorded
  }
  tell_trouble("decisions", answer ? nullptr : &answer.error());
  if (!answer) {
    return without_answer(known, answer.error());
  }
  known.confirmed = clock_.now();
  if (!answer->selected) {
    known.recorded.reset();
  }
  const PodCondition condition = condition_of(*answer);
  return is_true(condition) && violated_().contains(uid) ? violated_condition() : condition;
}

PodCondition Readiness::without_answer(const Known& known, const Error& error) const {
  const Timestamp now = clock_.now();
  const bool holds = known.recorded && known.recorded->allowed &&
                     now - known.confirmed < times_.hold &&
                     (!known.recorded->valid_until || now < *known.recorded->valid_until) &&
                     !violated_().contains(known.pod.uid);
  return holds ? condition_of(*known.recorded)
               : PodCondition{kFalse, "Undecided",
                              "no decision: " + std::string(info(error.code).code)};
}

void Readiness::show(Known& known, const PodCondition& condition) {
  GatedPod& pod = known.pod;
  if (pod.shown == condition) {
    return;
  }
  const bool turned = !pod.shown || pod.shown->status != condition.status;
  const Status set = pods_.set(pod, condition, turned ? std::optional(clock_.now()) : std::nullopt);
  const bool gone = !set && (set.error().code == ErrorCode::kNotFound ||
                             set.error().code == ErrorCode::kConflict);
  tell_trouble("pod-status", set || gone ? nullptr : &set.error());
  if (!set) {
    return;  // the next round tries again
  }
  pod.shown = condition;
  events_.tell("pod-condition", {{"pod", pod.uid},
                                 {"namespace", pod.name_space},
                                 {"name", pod.name},
                                 {"status", condition.status},
                                 {"reason", condition.reason},
                                 {"message", condition.message}});
}

// Once when it begins to fail, and once when it works again.
void Readiness::tell_trouble(const char* what, const Error* error) {
  const bool changed =
      error != nullptr ? troubled_.insert(what).second : troubled_.erase(what) != 0;
  if (changed) {
    events_.tell("pod-conditions",
                 {{"failing", what}, {"error", error != nullptr ? error_json(*error) : Json()}});
  }
}

ReadinessLoop::ReadinessLoop(Readiness& readiness, ReadinessTimes times)
    : readiness_(readiness),
      times_(times),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void ReadinessLoop::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    readiness_.round(stop);
    const Steady::time_point next = Steady::now() + times_.period;
    while (!stop.stop_requested() && Steady::now() < next) {
      std::unique_lock lock(mutex_);
      (void)wake_.wait_until(lock, stop, std::min(next, Steady::now() + times_.look),
                             [] { return false; });
      lock.unlock();
      if (!stop.stop_requested() && Steady::now() < next) {
        readiness_.look();
      }
    }
  }
}

}  // namespace assay::worker
