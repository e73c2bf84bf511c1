// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/schedule.h"

#include <algorithm>

namespace assay::worker {

Status check(const WatchPlan& plan) {
  using std::chrono::milliseconds;
  constexpr milliseconds kShortest{100};
  constexpr milliseconds kLongest{3'600'000};
  constexpr milliseconds kShortestSlice{10};
  constexpr unsigned kMaxSlices = 1000;
  constexpr std::uint64_t kFewestPieces = 16;
  if (plan.period < kShortest || plan.period > kLongest) {
    return fail(ErrorCode::kInvalidParameter, "the period is 100 ms to 1 h");
  }
  if (plan.slices == 0 || plan.slices > kMaxSlices || plan.period / plan.slices < kShortestSlice) {
    return fail(ErrorCode::kInvalidParameter, "there are 1 to 1000 slices, of at least 10 ms each");
  }
  if (plan.redrawn < kFewestPieces) {
    return fail(ErrorCode::kInvalidParameter, "at least 16 pieces are drawn in a period");
  }
  if (plan.full < plan.period) {
    return fail(ErrorCode::kInvalidParameter, "full passes are at least a period apart");
  }
  return {};
}

Schedule::Schedule(const WatchPlan& plan, unsigned slices, Steady::time_point start)
    : plan_(plan), slices_(std::max(slices, 1U)), start_(start), period_start_(start) {}

Steady::duration Schedule::interval() const { return Steady::duration(plan_.period) / slices_; }

// Slice i of a period has the i-th of equal parts of it, and may begin half a part sooner or later:
// two looks at one byte begin at most a period and one part apart.
Schedule::Turn Schedule::next() const {
  const Steady::time_point nominal = period_start_ + interval() * slice_;
  return {slice_, nominal - interval() / 2, nominal, nominal + interval() / 2,
          slice_ + 1 == slices_};
}

Steady::time_point Schedule::when(const WatchHints& hints, Steady::time_point now,
                                  Steady::duration length) const {
  const Turn turn = next();
  if (now < turn.earliest) {
    return turn.earliest;
  }
  if (now >= turn.deadline) {
    return now;
  }
  if (hints.idle_until && *hints.idle_until >= now + length) {
    return now;
  }
  if (now < turn.nominal) {
    return turn.nominal;
  }
  return hints.in_step ? turn.deadline : now;
}

void Schedule::began(Steady::time_point now) {
  if (now > next().deadline) {
    ++late_;
  }
}

void Schedule::done(Steady::time_point now) {
  if (++slice_ < slices_) {
    return;
  }
  slice_ = 0;
  period_start_ += plan_.period;
  if (now - period_start_ > plan_.period) {
    period_start_ = now;
  }
}

bool Schedule::full_pass_due(Steady::time_point now) const { return now - start_ >= plan_.full; }

}  // namespace assay::worker
