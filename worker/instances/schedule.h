// SPDX-License-Identifier: Apache-2.0
// Decides when each slice (part of the bytes) of a model instance is checked again. Pure: the
// caller passes time and hints.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "worker/pace.h"

namespace assay::worker {

// How often all bytes of an instance are checked. Each switch to the device costs the other users
// of the device about 2 ms. Few slices therefore cost the least throughput; many slices delay a
// single step of the others least.
struct WatchPlan {
  std::chrono::milliseconds period{2'000};    // in which all bytes are checked once
  unsigned slices = 8;                        // of a period
  std::uint64_t redrawn = 16;                 // pieces exported again in a period, of each process
  std::chrono::milliseconds full{3'600'000};  // between full passes
  bool operator==(const WatchPlan&) const = default;
};
// Checks a plan. Errors: invalid-parameter unless the period is 100 ms to 1 h, there are 1 to 1,000
// slices of at least 10 ms each, at least 16 pieces are exported again, and full passes are at
// least a period apart.
[[nodiscard]] Status check(const WatchPlan& plan);

// What the process that uses the device says about itself. Hints need not be trusted, because they
// move a slice only between its earliest time and its deadline.
struct WatchHints {
  bool in_step = false;                            // a step of computing has begun and not ended
  std::optional<Steady::time_point> idle_until{};  // nothing is computed until then
};

class Schedule {
 public:
  // `slices` is the number of slices that the instance really has (InstanceModel::slices()); 0 is
  // treated as 1.
  Schedule(const WatchPlan& plan, unsigned slices, Steady::time_point start);

  // The next slice and its times. It may begin at `earliest`; it begins at `nominal` when there are
  // no hints; at `deadline` it begins whatever the hints say.
  struct Turn {
    unsigned slice;
    Steady::time_point earliest;
    Steady::time_point nominal;
    Steady::time_point deadline;
    bool redraw;  // true for the last slice of a period: redraw pieces after it
  };
  [[nodiscard]] Turn next() const;
  // Returns when to begin the next slice; a time not after `now` means at once. The caller must ask
  // again at the returned time and whenever hints change. `length` is about how long a slice takes.
  [[nodiscard]] Steady::time_point when(const WatchHints& hints, Steady::time_point now,
                                        Steady::duration length) const;
  // Must be called when a slice has ended, with the time of its end. When the schedule is late by
  // more than a period, the missed slices are not made up for.
  void done(Steady::time_point now);

  // Returns true when WatchPlan::full has passed since this schedule began.
  [[nodiscard]] bool full_pass_due(Steady::time_point now) const;
  // Returns the number of slices that began after their deadline, as told to began().
  [[nodiscard]] std::uint64_t late() const { return late_; }
  void began(Steady::time_point now);

 private:
  [[nodiscard]] Steady::duration interval() const;

  WatchPlan plan_;
  unsigned slices_;
  Steady::time_point start_;  // end of the last full pass
  Steady::time_point period_start_;
  unsigned slice_ = 0;
  std::uint64_t late_ = 0;
};

}  // namespace assay::worker
