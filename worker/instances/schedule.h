// SPDX-License-Identifier: Apache-2.0
// Decides when which slice of a watched model instance is checked. A slice is a part of the
// instance's memory (MemoryCheck, checks.h). The caller passes in the time, the hints (hints.h) and
// the random numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "schemas/heartbeat.h"
#include "worker/instances/hints.h"
#include "worker/renewal_and_backoff.h"

namespace assay::worker {

// How often the memory is checked. Each check of a slice stops other work on the device, about 2 ms
// longer than the hashing takes. Therefore few long slices cost the least throughput, and many
// short slices delay the slowest computing step the least.
struct WatchPlan {
  std::chrono::milliseconds period{2'000};    // in which `share` of the bytes are checked
  unsigned slices = 9;                        // number of slices that the bytes are cut into
  std::uint64_t redrawn = 16;                 // pieces that each process exports again in a period
  std::chrono::milliseconds full{3'600'000};  // between full passes
  WatchCheck check = WatchCheck::kTags;
  unsigned share =
      100;  // percent of the slices that are checked in one period; below 100 only with kRandom
  bool operator==(const WatchPlan&) const = default;
};
// Longest cycle() of a plan. After all bytes were checked, heartbeats say `verified` for up to two
// cycles (and 2 s). The cycle is bounded because readers of heartbeats do not know the plan.
inline constexpr std::chrono::milliseconds kLongestCycle{60'000};
// Returns the time in which all bytes are checked once: the period, or with kRandom as many periods
// as are needed to draw every slice.
[[nodiscard]] std::chrono::milliseconds cycle(const WatchPlan& plan);
// Checks that the plan keeps these limits: a period of at least 100 ms; a cycle of at most
// kLongestCycle; 1 to 1,000 slices, with at least 10 ms of the period for each; at least 16 redrawn
// pieces; at least a cycle and at most a week between full passes; with kRandom a share of 1 to 99
// and at least two slices, else a share of 100. Errors: invalid-parameter.
[[nodiscard]] Status check(const WatchPlan& plan);
// Returns what heartbeats say about the plan.
[[nodiscard]] WatchedBy watched_by(const WatchPlan& plan);

class Schedule {
 public:
  // Returns a random number below `bound` (at least 1), each with about the same probability.
  using Draw = std::function<std::size_t(std::size_t bound)>;

  // `slices` is the actual number of slices (InstanceModel::slices()), which may differ from
  // plan.slices; 0 is treated as 1. With kRandom, `draw` shuffles the slices. They are taken in the
  // shuffled order, and shuffled again after each of them was taken once. With other checks, or
  // without `draw`, slices are taken in ascending order.
  Schedule(const WatchPlan& plan, unsigned slices, Steady::time_point start, Draw draw = {});

  // The next slice to check, and when. Its check may begin from `earliest` on. It begins at
  // `nominal` when there are no hints, and at `deadline` at the latest, whatever the hints say.
  struct Turn {
    unsigned slice;
    Steady::time_point earliest;
    Steady::time_point nominal;
    Steady::time_point deadline;
    bool redraw;    // true: call InstanceModel::redraw() after it (last turn of a period)
    bool complete;  // true: after it, every slice was checked since the previous complete turn
  };
  [[nodiscard]] Turn next() const;
  // Returns next() and the turns that follow it, to the end of the period or to the turn that is
  // `complete`, whichever comes first.
  [[nodiscard]] std::vector<Turn> rest() const;
  // Returns when to begin the next slice, as far as is known at `now`. When the result is not after
  // `now`, the slice begins at once. Otherwise the caller must call this again at that time, and
  // whenever the hints change. `length` is the expected duration of the slice.
  [[nodiscard]] Steady::time_point when(const std::optional<WatchHints>& hints,
                                        Steady::time_point now, Steady::duration length) const;
  // Returns the time from which the next slice may run when its process chooses the moment
  // (`yield`): Turn::earliest of the first turn of the period. More yields do not cause more
  // turns: a period always has the same number of turns.
  [[nodiscard]] Steady::time_point open() const { return period_start_ - interval() / 2; }
  // Returns when the pieces of the period's last turn should be drawn, where its process uses
  // `yield`: one part of the period before open(), so that nothing but looks is left to do then.
  [[nodiscard]] Steady::time_point ahead() const { return open() - interval(); }
  // Records that the check of the next slice ended at `now`. When the schedule is more than a
  // period late, the missed turns are skipped.
  void done(Steady::time_point now);

  // Returns true when WatchPlan::full has passed since this schedule began.
  [[nodiscard]] bool full_pass_due(Steady::time_point now) const;
  // Returns the number of slices that began after their deadline. The caller must call began() when
  // a slice begins.
  [[nodiscard]] std::uint64_t late() const { return late_; }
  void began(Steady::time_point now);

 private:
  [[nodiscard]] Steady::duration interval() const;
  // Returns the turn that comes so many turns after next().
  [[nodiscard]] Turn turn_after(unsigned turns) const;
  void shuffle();

  WatchPlan plan_;
  Draw draw_;
  Steady::time_point start_;  // of the first full pass
  Steady::time_point period_start_;
  std::vector<unsigned> order_;             // slices in the order in which they are taken
  std::size_t dealt_ = 0;                   // position in order_ of the next slice
  std::vector<Steady::time_point> looked_;  // by slice: when its last check began
  unsigned turns_;                          // number of turns in a period
  unsigned turn_ = 0;
  std::optional<Steady::time_point> began_{};  // when the running turn began
  std::uint64_t late_ = 0;
};

// How long checks of slices take when nothing disturbs them: the shortest durations that were
// noted. A check takes longer while the process computes on the device. Such a duration must not be
// used, because the slice would then seem too long for the next idle time of the process.
class SliceLengths {
 public:
  void note(unsigned slice, Steady::duration length);
  // Returns the expected duration of this turn. For a slice without a noted duration, uses the
  // longest duration of the other slices, or zero when there is none.
  [[nodiscard]] Steady::duration of(const Schedule::Turn& turn) const;

 private:
  std::map<unsigned, Steady::duration> slices_;
};

}  // namespace assay::worker
