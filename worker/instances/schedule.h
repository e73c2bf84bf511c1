// SPDX-License-Identifier: Apache-2.0
// When which part of an instance is looked at again. Pure: time and hints are handed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "worker/pace.h"

namespace assay::worker {

// How often everything is looked at. Each switch to the device costs its other users about 2 ms:
// few slices cost throughput least, more of them cost the slowest step least.
struct WatchPlan {
  std::chrono::milliseconds period{2'000};    // in which all bytes are looked at once
  unsigned slices = 8;                        // of a period
  std::uint64_t redrawn = 16;                 // pieces exported anew in a period, of each process
  std::chrono::milliseconds full{3'600'000};  // between full passes
  bool operator==(const WatchPlan&) const = default;
};
// A period of 100 ms to 1 h, 1 to 1,000 slices of at least 10 ms, at least 16 pieces, a full pass
// no more often than a period. invalid-parameter.
[[nodiscard]] Status check(const WatchPlan& plan);

// What the process that uses the device says of itself. It is believed as far as it costs nothing:
// hints move a slice within its time, never beyond its deadline.
struct WatchHints {
  bool in_step = false;                            // a step of computing has begun and not ended
  std::optional<Steady::time_point> idle_until{};  // nothing is computed until then
};

class Schedule {
 public:
  // Of `slices` slices that really are there (at least 1): InstanceModel::slices().
  Schedule(const WatchPlan& plan, unsigned slices, Steady::time_point start);

  // The slice that is next, and the time that it has: from `earliest` it may run, at `nominal` it
  // runs when nothing is known, and by `deadline` it runs whatever the hints say.
  struct Turn {
    unsigned slice;
    Steady::time_point earliest;
    Steady::time_point nominal;
    Steady::time_point deadline;
    bool redraw;  // draw pieces anew after it: the last slice of a period
  };
  [[nodiscard]] Turn next() const;
  // When to begin the next slice, looked at now: at once when that is not after `now`. Look again
  // then, and whenever hints change. `length` is what a slice takes, as far as is known.
  [[nodiscard]] Steady::time_point when(const WatchHints& hints, Steady::time_point now,
                                        Steady::duration length) const;
  // The slice ran, and ended at `now`. What was missed by more than a period is not made up for.
  void done(Steady::time_point now);

  // True when the last full pass is so long ago that another one is due.
  [[nodiscard]] bool full_pass_due(Steady::time_point now) const;
  // Slices that began after their deadline.
  [[nodiscard]] std::uint64_t late() const { return late_; }
  void began(Steady::time_point now);

 private:
  [[nodiscard]] Steady::duration interval() const;

  WatchPlan plan_;
  unsigned slices_;
  Steady::time_point start_;  // of the first full pass
  Steady::time_point period_start_;
  unsigned slice_ = 0;
  std::uint64_t late_ = 0;
};

}  // namespace assay::worker
