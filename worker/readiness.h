// SPDX-License-Identifier: Apache-2.0
// Sets the condition `assay.dev/verified` of the pods of this node that have this readiness gate.
// True repeats a recorded allow of the service at the point `serve`; everything else is False.
// docs/kserve.md says what the condition is worth.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "schemas/core/clock.h"
#include "schemas/core/error.h"
#include "worker/events.h"
#include "worker/pod_conditions.h"
#include "worker/service.h"

namespace assay::worker {

struct ReadinessTimes {
  std::chrono::milliseconds period{10'000};  // from one question about a pod to the next
  // How long an allow is shown while the service gives no answer.
  std::chrono::milliseconds hold{300'000};
  std::chrono::milliseconds look{1'000};  // from one look at violated instances to the next
};

// The rules, without a thread of their own. Used by one thread at a time.
class Readiness {
 public:
  // Asks about a pod at `serve`. With `dry_run` nothing is stored.
  using Ask = std::function<Result<ServeAnswer>(const std::string& uid, bool dry_run)>;
  // Returns the uids of pods with an instance in memory that is violated (heartbeat.h).
  using Violated = std::function<std::set<std::string>()>;

  // What the functions use, and the other arguments, must outlive this object.
  Readiness(Clock& clock, PodApi& pods, Ask ask, Violated violated, Events& events,
            ReadinessTimes times);

  // Looks at all pods with the gate: asks the service about each, and sets the conditions that
  // differ. `stop` ends the round between two pods.
  void round(const std::stop_token& stop);
  // Sets the condition of pods with a violated instance to False, without asking anybody.
  void look();

 private:
  struct Known {
    GatedPod pod;
    std::optional<ServeAnswer> recorded{};  // the newest recorded decision
    Timestamp recorded_at{};
    Timestamp confirmed{};  // when the service said the same last
  };

  void keep(std::vector<GatedPod> pods);
  [[nodiscard]] PodCondition wanted(Known& known);
  [[nodiscard]] PodCondition without_answer(const Known& known, const Error& error) const;
  [[nodiscard]] bool needs_record(const Known& known, const ServeAnswer& answer) const;
  void show(Known& known, const PodCondition& condition);
  void tell_trouble(const char* what, const Error* error);

  Clock& clock_;
  PodApi& pods_;
  Ask ask_;
  Violated violated_;
  Events& events_;
  ReadinessTimes times_;
  std::map<std::string, Known> known_;  // by uid
  std::set<std::string> troubled_;      // what fails at present
};

// Runs the rules until it is destroyed.
class ReadinessLoop {
 public:
  ReadinessLoop(Readiness& readiness, ReadinessTimes times);

 private:
  void run(const std::stop_token& stop);

  Readiness& readiness_;
  ReadinessTimes times_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace assay::worker
