// SPDX-License-Identifier: Apache-2.0
// Watches instances that were verified: looks at their memory again and again, and says at once
// when it is no longer what the report said.
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
  // Called when the state of an instance changes, by the thread that found it.
  using OnChange = std::function<void(const InstanceBeat& beat, std::span<const Finding> findings)>;

  // `now` tells how long ago a look was.
  InstanceWatch(const WatchPlan& plan, OnChange on_change, Now now = &Steady::now);
  // Stops to watch, and lets go of all memory.
  ~InstanceWatch();
  InstanceWatch(const InstanceWatch&) = delete;
  InstanceWatch& operator=(const InstanceWatch&) = delete;

  [[nodiscard]] const WatchPlan& plan() const { return plan_; }

  // `report` (the digest of its envelope) verified this instance, and found `entries`. `model` is
  // held from its full pass on. Takes the place of what was known of the instance.
  void watch(const JobInstance& instance, const ArtifactId& artifact, const DocumentId& report,
             std::vector<Entry> entries, std::shared_ptr<InstanceModel> model);
  // A job did not find this instance verified.
  void note(InstanceBeat beat, std::span<const Finding> findings);

  // The owner wants everything checked now: a full pass of its instance follows, and is told. An
  // instance that is not watched is unknown.
  void ask(Owner& owner);
  // The owner itself saw that the storage of these tensors was replaced: violated at once.
  void violate(const JobInstance& instance, std::span<const std::string> tensors);

  // A registration is complete, or has gone: beats() names each instance that is registered.
  void came(const Owner& owner);
  void gone(const Owner& owner);

  // What the next heartbeat says: by pod and name, at most kMaxBeatInstances, those that are
  // registered first. An instance is unknown when no job was about all that is registered of it,
  // and when all its bytes were looked at last more than two periods and kLateBy ago.
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
    std::vector<Finding> said{};  // by its owner; guarded by mutex_
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
  // Waits until `when`, or until the owner says something; true when it asks for a full pass.
  [[nodiscard]] bool wait(Watcher& watcher, Steady::time_point when, const std::stop_token& end);
  // The watch itself; what ended it: findings, an error, or a request to stop.
  [[nodiscard]] Result<std::vector<Finding>> look(Watcher& watcher, const std::stop_token& stop,
                                                  const std::stop_token& end);
  // One turn; findings that end the watch. Errors of the model.
  [[nodiscard]] Result<std::vector<Finding>> turn(InstanceModel& model,
                                                  const Schedule::Turn& what) const;
  [[nodiscard]] Result<std::vector<Finding>> full_pass(InstanceModel& model,
                                                       const std::vector<Entry>& entries,
                                                       const std::stop_token& stop) const;
  void note_look(Watcher& watcher);
  // What a heartbeat says of it; with mutex_ held.
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
