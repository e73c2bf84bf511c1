// SPDX-License-Identifier: Apache-2.0
// Watches instances that were verified: looks at their memory again and again, and says at once
// when it is no longer what the report said.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
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

  InstanceWatch(const WatchPlan& plan, OnChange on_change);
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

  // What the next heartbeat says: by pod and name, at most kMaxBeatInstances.
  [[nodiscard]] std::vector<InstanceBeat> beats() const;

 private:
  struct Watcher {
    explicit Watcher(InstanceBeat known) : beat(std::move(known)) {}
    InstanceBeat beat;  // guarded by mutex_
    std::vector<Entry> entries{};
    // Changed only by its thread; guarded by mutex_ for others. Null: nothing is watched.
    std::shared_ptr<InstanceModel> model{};
    std::jthread thread{};
  };

  void put(std::unique_ptr<Watcher> watcher);
  void start(const JobInstance& instance);
  void run(Watcher& watcher, const std::stop_token& stop);
  // One turn; findings that end the watch. Errors of the model.
  [[nodiscard]] Result<std::vector<Finding>> turn(InstanceModel& model,
                                                  const Schedule::Turn& what) const;
  [[nodiscard]] Result<std::vector<Finding>> full_pass(InstanceModel& model,
                                                       const std::vector<Entry>& entries,
                                                       const std::stop_token& stop) const;
  void settle(Watcher& watcher, InstanceState state, std::span<const Finding> findings);

  WatchPlan plan_;
  OnChange on_change_;
  mutable std::mutex mutex_;
  std::map<JobInstance, std::unique_ptr<Watcher>> watchers_;  // guarded by mutex_
};

}  // namespace assay::worker
