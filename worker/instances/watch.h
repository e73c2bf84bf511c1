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
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "schemas/heartbeat.h"
#include "worker/instances/locate.h"
#include "worker/instances/model.h"
#include "worker/instances/schedule.h"

namespace assay::worker {

// Thread-safe.
class InstanceWatch {
 public:
  // Called when the state of an instance changes, by the thread that found the change.
  using OnChange = std::function<void(const InstanceBeat& beat, std::span<const Finding> findings)>;

  // `now` tells how long ago a look was. `on_located` is called after an instance was found
  // changed, when more is known of where: with the same findings, and byte ranges in their details.
  InstanceWatch(const WatchPlan& plan, OnChange on_change, Now now = &Steady::now,
                OnChange on_located = {});
  // Stops to watch, and lets go of all memory.
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

  // This is a good moment for what is due, says the owner, and waits `max` at most. When all
  // processes of the instance have said so, slices run at once, as long as they are due in this
  // period and fit the time that the first of them waits. Owner::yielded() is called in any case.
  void yield(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max);

  // What owners are told when there is nothing to run, or nobody watches.
  static constexpr std::chrono::milliseconds kSoonestYield{10};
  static constexpr std::chrono::milliseconds kNoYield{1'000};

  // A registration is complete, or has gone: beats() names each instance that is registered.
  void came(const Owner& owner);
  void gone(const Owner& owner);

  // What the next heartbeat says: by pod and name, at most kMaxBeatInstances, those that are
  // registered first. An instance is unknown when no job was about all that is registered of it,
  // and when all its bytes were looked at last more than two cycles of the plan and kLateBy ago.
  static constexpr std::chrono::milliseconds kLateBy{2'000};
  [[nodiscard]] std::vector<InstanceBeat> beats() const;

 private:
  // A process that waits for slices to run.
  struct Yield {
    std::weak_ptr<Owner> owner;
    std::uint64_t rank;
    Steady::time_point until;
    std::uint64_t slices = 0;  // that ran since
  };
  struct Watcher {
    explicit Watcher(InstanceBeat known) : beat(std::move(known)) {}
    InstanceBeat beat;  // guarded by mutex_
    std::vector<Entry> entries{};
    // Changed only by its thread; guarded by mutex_ for others. Null: nothing is watched.
    std::shared_ptr<InstanceModel> model{};
    Steady::time_point looked{};  // end of the last look at all bytes; guarded by mutex_
    bool asked = false;           // guarded by mutex_
    std::vector<Finding> said{};  // by its owner; guarded by mutex_
    std::vector<Yield> yields{};  // by different processes; guarded by mutex_
    bool news = false;            // in the three above; guarded by mutex_
    std::condition_variable_any changed{};
    std::jthread thread{};
  };

  // A live registration, as a rank of its instance.
  struct Present {
    std::string id;
    ArtifactId artifact;
    std::shared_ptr<const HintsPage> hints{};  // null: none
  };
  using Ranks = std::map<std::uint64_t, Present>;

  // What the thread of a watcher knows.
  struct Look {
    Schedule schedule;
    Locator locator;
    SliceLengths lengths{};
    Steady::duration pace = kLongestPace;  // between two looks at pages of hints
    bool replaced = false;                 // what was found changed is no longer what is held
  };
  enum class Wake : std::uint8_t { kEnd, kSaid, kAsked, kSlice, kYield };

  void put(std::unique_ptr<Watcher> watcher);
  void start(const JobInstance& instance);
  void run(Watcher& watcher, const std::stop_token& stop);
  [[nodiscard]] Schedule new_schedule(unsigned slices);
  // Waits until something is to be done. Answers yields for which there is nothing to do.
  [[nodiscard]] Wake wait(Watcher& watcher, Look& look, const std::stop_token& end);
  [[nodiscard]] Wake wait_on(Watcher& watcher, const Look& look, const std::stop_token& end,
                             unsigned& looks);
  // When to look again; not after `now`: run a slice. With mutex_ held.
  [[nodiscard]] Steady::time_point next_look(const Watcher& watcher, const Look& look,
                                             Steady::time_point now) const;
  [[nodiscard]] static bool may_yield(const Watcher& watcher, const Look& look,
                                      Steady::time_point now);
  // Takes the yields that are to be answered: all of them when each process yields, else those
  // whose time is over.
  [[nodiscard]] static std::vector<Yield> take_yields(Watcher& watcher, Steady::time_point now);
  static void answer(const std::vector<Yield>& yields, std::chrono::milliseconds next);
  // The watch itself; what ended it: findings, an error, or a request to stop.
  [[nodiscard]] Result<std::vector<Finding>> watch_on(Watcher& watcher, Look& look,
                                                      const std::stop_token& stop,
                                                      const std::stop_token& end);
  // One turn of the schedule; findings that end the watch. Errors of the model.
  [[nodiscard]] Result<std::vector<Finding>> turn(Watcher& watcher, Look& look,
                                                  const std::stop_token& end);
  // Says where the bytes are that changed, as far as that is known.
  void locate(const Watcher& watcher, InstanceModel& model, Look& look,
              std::vector<Finding> findings, const std::stop_token& end);
  [[nodiscard]] Result<std::vector<Finding>> full_pass(InstanceModel& model,
                                                       const std::vector<Entry>& entries,
                                                       const std::stop_token& stop) const;
  void note_look(Watcher& watcher);
  // Return what a heartbeat says about an instance. The caller must hold mutex_.
  [[nodiscard]] InstanceBeat said_of(const Watcher& watcher) const;
  [[nodiscard]] InstanceBeat said_of(const JobInstance& instance, const Ranks& ranks) const;
  // Tells what the watch came to; the model is the caller's to release.
  [[nodiscard]] std::shared_ptr<InstanceModel> settle(Watcher& watcher, InstanceState state,
                                                      std::span<const Finding> findings);
  [[nodiscard]] bool is_current(const Watcher& watcher) const;  // with mutex_ held

  WatchPlan plan_;
  OnChange on_change_;
  OnChange on_located_;
  Now now_;
  mutable std::mutex mutex_;
  std::map<JobInstance, std::unique_ptr<Watcher>> watchers_;  // guarded by mutex_
  std::map<JobInstance, Ranks> present_;                      // guarded by mutex_
};

}  // namespace assay::worker
