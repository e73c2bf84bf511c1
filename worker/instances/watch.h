// SPDX-License-Identifier: Apache-2.0
// Watches model instances that a job verified: checks their memory again and again, and says at
// once when it differs from the report.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "schemas/heartbeat.h"
#include "worker/instances/model.h"
#include "worker/instances/schedule.h"

namespace assay::worker {

// Thread-safe.
class InstanceWatch {
 public:
  // Called when the state of an instance changes, by the thread that found the change.
  using OnChange = std::function<void(const InstanceBeat& beat, std::span<const Finding> findings)>;

  // beats() uses `now` to tell how long ago a check was.
  InstanceWatch(const WatchPlan& plan, OnChange on_change, Now now = &Steady::now);
  // Stops watching and releases all memory.
  ~InstanceWatch();
  InstanceWatch(const InstanceWatch&) = delete;
  InstanceWatch& operator=(const InstanceWatch&) = delete;

  [[nodiscard]] const WatchPlan& plan() const { return plan_; }

  // Begins to watch an instance. `report` is the digest of the envelope of the report that verified
  // it, and `entries` are the entries in that report. `model` must have made its full pass
  // (hash()). Replaces what was known about the instance.
  void watch(const JobInstance& instance, const ArtifactId& artifact, const DocumentId& report,
             std::vector<Entry> entries, std::shared_ptr<InstanceModel> model);
  // Stores `beat`, the state of an instance that a job did not find verified.
  void note(InstanceBeat beat, std::span<const Finding> findings);

  // The owner (a process of an instance, owner.h) wants all its memory checked now. A watched
  // instance gets a full pass, and its owners are told the result. For any other instance the owner
  // is told at once: violated when it was found so before, else unknown.
  void ask(Owner& owner);
  // The owner itself saw that the storage of these tensors was replaced. A watched instance becomes
  // violated at once; any other instance stays as it is.
  void violate(const JobInstance& instance, std::span<const std::string> tensors);

  // Record that a registration is complete, or that it is gone. beats() lists each registered
  // instance.
  void came(const Owner& owner);
  void gone(const Owner& owner);

  // Returns what the next heartbeat says, sorted by pod and name: at most kMaxBeatInstances
  // instances, and registered ones in preference to others. A verified instance becomes unknown
  // when a process of it registered that the job did not read, or when the last check of all its
  // bytes ended more than two periods and kLateBy ago.
  static constexpr std::chrono::milliseconds kLateBy{2'000};
  [[nodiscard]] std::vector<InstanceBeat> beats() const;

 private:
  struct Watcher {
    explicit Watcher(InstanceBeat known) : beat(std::move(known)) {}
    InstanceBeat beat;  // guarded by mutex_
    std::vector<Entry> entries{};
    // Changed only by its thread; guarded by mutex_ for others. Null: nothing is watched.
    std::shared_ptr<InstanceModel> model{};
    Steady::time_point looked{};  // end of the last look at all bytes; guarded by mutex_
    bool asked = false;           // guarded by mutex_
    std::vector<Finding> said{};  // replaced tensors, by the owner; guarded by mutex_
    std::condition_variable_any changed{};
    std::jthread thread{};
  };

  // A live registration, as a rank of its instance.
  struct Present {
    std::string id;
    ArtifactId artifact;
  };
  using Ranks = std::map<std::uint64_t, Present>;

  void put(std::unique_ptr<Watcher> watcher);
  void start(const JobInstance& instance);
  void run(Watcher& watcher, const std::stop_token& stop);
  // Waits until `when`, or until the owner says something. Returns true when the owner asks for a
  // full pass.
  [[nodiscard]] bool wait(Watcher& watcher, Steady::time_point when, const std::stop_token& end);
  // Watches until something ends the watch, and returns it: findings, or an error (cancelled on a
  // stop).
  [[nodiscard]] Result<std::vector<Finding>> look(Watcher& watcher, const std::stop_token& stop,
                                                  const std::stop_token& end);
  // Checks one slice. Returns the findings, which end the watch. Errors: those of the model.
  [[nodiscard]] Result<std::vector<Finding>> turn(InstanceModel& model,
                                                  const Schedule::Turn& what) const;
  [[nodiscard]] Result<std::vector<Finding>> full_pass(InstanceModel& model,
                                                       const std::vector<Entry>& entries,
                                                       const std::stop_token& stop) const;
  void note_look(Watcher& watcher);
  // Return what a heartbeat says about an instance. The caller must hold mutex_.
  [[nodiscard]] InstanceBeat said_of(const Watcher& watcher) const;
  [[nodiscard]] InstanceBeat said_of(const JobInstance& instance, const Ranks& ranks) const;
  void settle(Watcher& watcher, InstanceState state, std::span<const Finding> findings);

  WatchPlan plan_;
  OnChange on_change_;
  Now now_;
  mutable std::mutex mutex_;
  std::map<JobInstance, std::unique_ptr<Watcher>> watchers_;  // guarded by mutex_
  std::map<JobInstance, Ranks> present_;                      // guarded by mutex_
};

}  // namespace assay::worker
