// SPDX-License-Identifier: Apache-2.0
// Watches model instances that a job verified: checks their memory repeatedly (schedule.h), and
// tells at once when it no longer has the bytes that the job's report states.
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
#include <string_view>
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

  // `now` is the clock for the age of checks. When an instance was found changed, `on_change` is
  // called at once. `on_located` is called later, if the changed byte ranges could be found: with
  // the same findings, whose details now contain the ranges.
  InstanceWatch(const WatchPlan& plan, OnChange on_change, Now now = &Steady::now,
                OnChange on_located = {});
  // Stops all watching and releases all memory.
  ~InstanceWatch();
  InstanceWatch(const InstanceWatch&) = delete;
  InstanceWatch& operator=(const InstanceWatch&) = delete;

  [[nodiscard]] const WatchPlan& plan() const { return plan_; }

  // Begins to watch an instance. `report` is the digest of the envelope of the report that verified
  // it, and `entries` are the entries in that report. `model` must have made its full pass
  // (hash()). Replaces what was known about the instance. Tells the owners that it is verified.
  // When the memory was let go meanwhile, or a process said that its storage was replaced, the
  // instance is unknown or violated, the owners are told that, and nothing is watched.
  void watch(const JobInstance& instance, const ArtifactId& artifact, const DocumentId& report,
             std::vector<Entry> entries, std::shared_ptr<InstanceModel> model);
  // Stores `beat`, the state of an instance that a job did not find verified.
  void note(InstanceBeat beat, std::span<const Finding> findings);

  // The owner (a process of an instance, owner.h) wants all its memory checked now. A watched
  // instance gets a full pass, and its owners are told the result. For any other instance the owner
  // is told at once: violated when it was found so before, with what was found; else unknown.
  void ask(Owner& owner);
  // The owner itself saw that the storage of these tensors was replaced. Its instance is violated
  // until the registration ends, whatever a job finds.
  void violate(const Owner& owner, std::span<const std::string> tensors);

  // The owner says that this is a good moment for checks, and waits at most `max`. When all
  // processes of the instance have said this, the slices (schedule.h) that are due in this period
  // are checked at once, as long as each fits into the shortest remaining wait of these processes.
  // Calls Owner::yielded() in any case.
  void yield(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max);

  // When another `yield` is useful, as Owner::yielded() says: no sooner than kSoonestYield;
  // kNoYield when nobody watches the instance.
  static constexpr std::chrono::milliseconds kSoonestYield{10};
  static constexpr std::chrono::milliseconds kNoYield{1'000};

  // A registration of `owner` is complete (came) or has ended (gone). The caller must call both,
  // because beats() lists each instance that is registered.
  void came(const Owner& owner);
  void gone(const Owner& owner);

  // Returns what the next heartbeat says (heartbeat.h), sorted by pod and name: at most
  // kMaxBeatInstances instances. When there are more, instances without a registration are left out
  // first, those of pods without any registration before the others. A registered instance about
  // which there was no job is unknown. An instance that a job
  // verified becomes unknown in two cases: the registered processes are not exactly those that the
  // job verified; or the last check of all its bytes ended more than two cycles of the plan
  // (cycle(), schedule.h) plus kLateBy ago. One that was verified until its owners let go of its
  // memory is ended, as long as none of its processes is registered.
  static constexpr std::chrono::milliseconds kLateBy{2'000};
  [[nodiscard]] std::vector<InstanceBeat> beats() const;

 private:
  // A process that waits for slices to run.
  struct Yield {
    std::weak_ptr<Owner> owner;
    std::uint64_t rank;
    Steady::time_point until;
    std::uint64_t slices = 0;  // slices that ran since the yield
  };
  struct Watcher {
    explicit Watcher(InstanceBeat known) : beat(std::move(known)) {}
    InstanceBeat beat;  // guarded by mutex_
    std::vector<Entry> entries{};
    // Changed only by its thread; guarded by mutex_ for others. Null: nothing is watched.
    std::shared_ptr<InstanceModel> model{};
    Steady::time_point looked{};   // end of the last check of all bytes; guarded by mutex_
    bool asked = false;            // guarded by mutex_
    std::vector<Finding> said{};   // findings of its owners; guarded by mutex_
    std::vector<Finding> found{};  // what its state was told with; guarded by mutex_
    std::vector<Yield> yields{};   // by different processes; guarded by mutex_
    bool news = false;             // asked, said or yields changed; guarded by mutex_
    std::condition_variable_any changed{};
    std::jthread thread{};
  };

  // A live registration, as a rank of its instance.
  struct Present {
    std::string id;
    ArtifactId artifact;
    std::shared_ptr<const HintsPage> hints{};  // null: none
    bool changed = false;                      // the owner said that its storage was replaced
  };
  using Ranks = std::map<std::uint64_t, Present>;
  using Watchers = std::map<JobInstance, std::unique_ptr<Watcher>>;

  // What the thread of a watcher knows.
  struct Look {
    Schedule schedule;
    Locator locator;
    SliceLengths lengths{};
    Steady::duration pace = kLongestPace;  // between two looks at pages of hints
    bool replaced = false;                 // true: the changed memory is not the imported memory
    bool drawn = false;                    // true: the pieces of the next redraw are imported
    bool offered = false;                  // true: a turn ran because of yields
  };
  enum class Wake : std::uint8_t { kEnd, kSaid, kAsked, kDraw, kSlice, kYield };

  static constexpr std::string_view kStorageReplaced = "its owner saw storage replaced";

  void put(std::unique_ptr<Watcher> watcher);
  // Returns the watcher to be forgotten when there are more than kMaxBeatInstances: not `added`,
  // and none that watches; end() when there is none. The caller must hold mutex_.
  [[nodiscard]] Watchers::iterator one_too_many(const Watcher& added);
  // Returns whether a process of the pod is registered. The caller must hold mutex_.
  [[nodiscard]] bool has_registration(const std::string& pod) const;
  // Returns whether the last look at all bytes is too long ago. The caller must hold mutex_.
  [[nodiscard]] bool is_late(const Watcher& watcher) const;
  void start(const JobInstance& instance);
  void run(Watcher& watcher, const std::stop_token& stop);
  [[nodiscard]] Schedule new_schedule(unsigned slices);
  // Takes the digests with which locate() compares: all of them at once, as long as that takes no
  // more than a quarter of the period. The device is then disturbed once, right behind the full
  // pass; otherwise turn() takes the rest.
  void learn(Watcher& watcher, Look& look, const std::stop_token& end);
  // Returns when the pieces of the period are to be drawn, ahead of the turn that compares them:
  // exports and imports take longer than the look at the pieces, and a process need not be idle for
  // them. Returns the end of time when they are drawn.
  [[nodiscard]] static Steady::time_point draw_at(const Watcher& watcher, const Look& look,
                                                  Steady::time_point now);
  // Waits until something is to be done. Answers yields for which there is nothing to do.
  [[nodiscard]] Wake wait(Watcher& watcher, Look& look, const std::stop_token& end);
  [[nodiscard]] Wake wait_on(Watcher& watcher, const Look& look, const std::stop_token& end,
                             unsigned& looks);
  // Returns when to look at the hints again; a time that is not after `now` means that the next
  // slice must run. The caller must hold mutex_.
  [[nodiscard]] Steady::time_point next_look(const Watcher& watcher, const Look& look,
                                             Steady::time_point now) const;
  [[nodiscard]] static bool may_yield(const Watcher& watcher, const Look& look,
                                      Steady::time_point now);
  // Takes the yields that are to be answered: all of them when each process yields, else those
  // whose time is over.
  [[nodiscard]] static std::vector<Yield> take_yields(Watcher& watcher, Steady::time_point now);
  static void answer(const std::vector<Yield>& yields, std::chrono::milliseconds next);
  // Watches until something ends the watch, and returns that: findings, an error, or no finding
  // when a stop was requested.
  [[nodiscard]] Result<std::vector<Finding>> watch_on(Watcher& watcher, Look& look,
                                                      const std::stop_token& stop,
                                                      const std::stop_token& end);
  // Returns the turns to run next in one call: with yields all that are left of this period, as far
  // as they are known to fit into the shortest remaining wait; else the next one alone.
  [[nodiscard]] std::vector<Schedule::Turn> due(const Watcher& watcher, const Look& look) const;
  // Runs these turns, which are the next ones of the schedule. Returns the findings, which end the
  // watch. Errors: those of the model.
  [[nodiscard]] Result<std::vector<Finding>> run_turns(Watcher& watcher, Look& look,
                                                       std::span<const Schedule::Turn> turns,
                                                       const std::stop_token& end);
  // Tells the owners and on_located_ which byte ranges changed, as far as they can be found.
  void locate(Watcher& watcher, InstanceModel& model, Look& look, std::vector<Finding> findings,
              const std::stop_token& end);
  [[nodiscard]] Result<std::vector<Finding>> full_pass(InstanceModel& model,
                                                       const std::vector<Entry>& entries,
                                                       const std::stop_token& stop) const;
  void note_look(Watcher& watcher);
  // Returns why the instance of this model cannot be verified, with the state that it has instead;
  // nullopt: it can.
  [[nodiscard]] static std::optional<std::pair<InstanceState, Finding>> objection(
      InstanceModel& model);
  // Return what a heartbeat says about an instance. The caller must hold mutex_.
  [[nodiscard]] InstanceBeat said_of(const Watcher& watcher) const;
  [[nodiscard]] InstanceBeat said_of(const JobInstance& instance, const Ranks& ranks) const;
  // Tells everybody how the watch ended. Returns the model, which the caller must release.
  [[nodiscard]] std::shared_ptr<InstanceModel> settle(Watcher& watcher, InstanceState state,
                                                      std::span<const Finding> findings);
  [[nodiscard]] bool is_current(const Watcher& watcher) const;  // with mutex_ held

  WatchPlan plan_;
  OnChange on_change_;
  OnChange on_located_;
  Now now_;
  mutable std::mutex mutex_;
  Watchers watchers_;                     // guarded by mutex_
  std::map<JobInstance, Ranks> present_;  // guarded by mutex_
};

}  // namespace assay::worker
