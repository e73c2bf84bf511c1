// SPDX-License-Identifier: Apache-2.0
// When which part of an instance is looked at again. Pure: time, hints and random numbers are
// handed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "worker/instances/hints.h"
#include "worker/pace.h"

namespace assay::worker {

// What a look at a slice is.
enum class WatchCheck : std::uint8_t {
  kTags,    // keyed tags, where the device has them, else SHA-256
  kSha256,  // SHA-256
  kRandom,  // as kTags, of slices that are drawn at random
};

// How often everything is looked at. Each switch to the device costs its other users about 2 ms:
// few slices cost throughput least, more of them cost the slowest step least.
struct WatchPlan {
  std::chrono::milliseconds period{2'000};    // of `share` of the bytes
  unsigned slices = 8;                        // that the bytes are cut into
  std::uint64_t redrawn = 16;                 // pieces exported anew in a period, of each process
  std::chrono::milliseconds full{3'600'000};  // between full passes
  WatchCheck check = WatchCheck::kTags;
  unsigned share =
      100;  // percent of the slices that a period looks at; below 100 with kRandom only
  bool operator==(const WatchPlan&) const = default;
};
// Heartbeats say `verified` for as long as twice the time in which all bytes are looked at: who
// reads them knows no plan, so that time is bounded here.
inline constexpr std::chrono::milliseconds kLongestCycle{60'000};
// In which all bytes are looked at once: the period, or with kRandom as many periods as it takes.
[[nodiscard]] std::chrono::milliseconds cycle(const WatchPlan& plan);
// A period of 100 ms at least, a cycle of kLongestCycle at most; 1 to 1,000 slices of at least
// 10 ms; at least 16 pieces; a full pass no more often than a cycle, and once a week. kRandom has a
// share of 1 to 99 and at least two slices, the others have 100. invalid-parameter.
[[nodiscard]] Status check(const WatchPlan& plan);

class Schedule {
 public:
  // A random number below `bound`, which is not 0; all have the same chance.
  using Draw = std::function<std::size_t(std::size_t bound)>;

  // Of `slices` slices that really are there (at least 1): InstanceModel::slices(). With kRandom
  // `draw` shuffles them: slices are dealt like cards, from a pack that is shuffled anew when all
  // were dealt. Without `draw` they come in order.
  Schedule(const WatchPlan& plan, unsigned slices, Steady::time_point start, Draw draw = {});

  // The next slice and its times. It may begin at `earliest`; it begins at `nominal` when there are
  // no hints; at `deadline` it begins whatever the hints say.
  struct Turn {
    unsigned slice;
    Steady::time_point earliest;
    Steady::time_point nominal;
    Steady::time_point deadline;
    bool redraw;    // draw pieces anew after it: the last turn of a period
    bool complete;  // after it all slices were looked at since the last turn that was complete
  };
  [[nodiscard]] Turn next() const;
  // When to begin the next slice, looked at now: at once when that is not after `now`. Look again
  // then, and whenever hints change. `length` is what a slice takes, as far as is known.
  [[nodiscard]] Steady::time_point when(const std::optional<WatchHints>& hints,
                                        Steady::time_point now, Steady::duration length) const;
  // From when on the next slice may run at a moment that its process chose (`yield`): from the
  // beginning of its period. A period has each of its turns once, however often it is asked for.
  [[nodiscard]] Steady::time_point open() const { return period_start_ - interval() / 2; }
  // The slice ran, and ended at `now`. What was missed by more than a period is not made up for.
  void done(Steady::time_point now);

  // Returns true when WatchPlan::full has passed since this schedule began.
  [[nodiscard]] bool full_pass_due(Steady::time_point now) const;
  // Returns the number of slices that began after their deadline, as told to began().
  [[nodiscard]] std::uint64_t late() const { return late_; }
  void began(Steady::time_point now);

 private:
  [[nodiscard]] Steady::duration interval() const;
  void shuffle();

  WatchPlan plan_;
  Draw draw_;
  Steady::time_point start_;  // of the first full pass
  Steady::time_point period_start_;
  std::vector<unsigned> order_;             // the pack
  std::size_t dealt_ = 0;                   // of order_
  std::vector<Steady::time_point> looked_;  // by slice: when the last look at it began
  unsigned turns_;                          // of a period
  unsigned turn_ = 0;
  std::optional<Steady::time_point> began_{};  // the turn under way
  std::uint64_t late_ = 0;
};

// How long slices take when nothing disturbs them: the shortest times that were seen. A slice
// beside a step takes longer, and that must not make it too long for the next time without one.
class SliceLengths {
 public:
  void note(unsigned slice, Steady::duration length);
  void note_redraw(Steady::duration length);
  // What this turn takes. A slice that was not seen takes what the longest of the others does; zero
  // when none was seen.
  [[nodiscard]] Steady::duration of(const Schedule::Turn& turn) const;

 private:
  std::map<unsigned, Steady::duration> slices_;
  std::optional<Steady::duration> redraw_{};
};

}  // namespace assay::worker
