// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/schedule.h"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <utility>

namespace assay::worker {

namespace {

constexpr unsigned kAll = 100;  // percent

// How many of `slices` a period looks at.
unsigned turns_of(const WatchPlan& plan, unsigned slices) {
  return plan.check == WatchCheck::kRandom
             ? std::max((slices * std::min(plan.share, kAll) + kAll - 1) / kAll, 1U)
             : slices;
}

}  // namespace

std::chrono::milliseconds cycle(const WatchPlan& plan) {
  const unsigned share = std::clamp(plan.share, 1U, kAll);
  return plan.period * ((kAll + share - 1) / share);
}

Status check(const WatchPlan& plan) {
  using std::chrono::milliseconds;
  constexpr milliseconds kShortest{100};
  constexpr milliseconds kWeek{7L * 24 * 3'600'000};
  constexpr milliseconds kShortestSlice{10};
  constexpr unsigned kMaxSlices = 1000;
  constexpr std::uint64_t kFewestPieces = 16;
  const bool random = plan.check == WatchCheck::kRandom;
  if (random ? plan.share < 1 || plan.share >= kAll || plan.slices < 2 : plan.share != kAll) {
    return fail(
        ErrorCode::kInvalidParameter,
        "a random share is 1 to 99 percent of at least 2 slices, any other check is of all");
  }
  if (plan.period < kShortest || plan.period > kLongestCycle || cycle(plan) > kLongestCycle) {
    return fail(ErrorCode::kInvalidParameter,
                "the period is at least 100 ms, and all bytes are looked at within 60 s");
  }
  if (plan.slices == 0 || plan.slices > kMaxSlices || plan.period / plan.slices < kShortestSlice) {
    return fail(ErrorCode::kInvalidParameter, "there are 1 to 1000 slices, of at least 10 ms each");
  }
  if (plan.redrawn < kFewestPieces) {
    return fail(ErrorCode::kInvalidParameter, "at least 16 pieces are drawn in a period");
  }
  if (plan.full < cycle(plan) || plan.full > kWeek) {
    return fail(
        ErrorCode::kInvalidParameter,
        "full passes are as far apart as it takes to look at all bytes, and a week at most");
  }
  return {};
}

WatchedBy watched_by(const WatchPlan& plan) {
  return {plan.check, static_cast<std::uint64_t>(plan.period.count()), plan.share};
}

Schedule::Schedule(const WatchPlan& plan, unsigned slices, Steady::time_point start, Draw draw)
    : plan_(plan),
      draw_(std::move(draw)),
      start_(start),
      period_start_(start),
      order_(std::max(slices, 1U)),
      looked_(order_.size(), start),
      turns_(turns_of(plan, std::max(slices, 1U))) {
  std::iota(order_.begin(), order_.end(), 0U);
  shuffle();
}

// Fisher and Yates.
void Schedule::shuffle() {
  if (plan_.check != WatchCheck::kRandom || !draw_) {
    return;
  }
  for (std::size_t left = order_.size(); left > 1; --left) {
    std::swap(order_[left - 1], order_[std::min(draw_(left), left - 1)]);
  }
}

Steady::duration Schedule::interval() const { return Steady::duration(plan_.period) / turns_; }

// Turn i of a period has the i-th of equal parts of it, and may begin half a part sooner or later.
// Where slices come in order, two looks at one byte begin at most a period and one part apart, also
// after a look that came early.
Schedule::Turn Schedule::next() const { return turn_after(0); }

std::vector<Schedule::Turn> Schedule::rest() const {
  std::vector<Turn> turns{next()};
  while (!turns.back().redraw && !turns.back().complete) {
    turns.push_back(turn_after(static_cast<unsigned>(turns.size())));
  }
  return turns;
}

Schedule::Turn Schedule::turn_after(unsigned turns) const {
  const Steady::duration half = interval() / 2;
  const unsigned slice = order_[dealt_ + turns];
  Steady::time_point nominal = period_start_ + interval() * (turn_ + turns);
  if (plan_.check != WatchCheck::kRandom) {
    nominal = std::min(nominal, looked_[slice] + plan_.period + half);
  }
  return {slice,
          nominal - half,
          nominal,
          nominal + half,
          turn_ + turns + 1 == turns_,
          dealt_ + turns + 1 == order_.size()};
}

Steady::time_point Schedule::when(const std::optional<WatchHints>& hints, Steady::time_point now,
                                  Steady::duration length) const {
  const Turn turn = next();
  if (now < turn.earliest) {
    return turn.earliest;
  }
  if (now >= turn.deadline) {
    return now;
  }
  if (hints && hints->idle_until && *hints->idle_until >= now + length) {
    return now;
  }
  if (now < turn.nominal) {
    return turn.nominal;
  }
  return hints && hints->in_step ? turn.deadline : now;
}

void Schedule::began(Steady::time_point now) {
  began_ = now;
  if (now > next().deadline) {
    ++late_;
  }
}

void Schedule::done(Steady::time_point now) {
  looked_[order_[dealt_]] = std::exchange(began_, std::nullopt).value_or(now);
  if (++dealt_ == order_.size()) {
    dealt_ = 0;
    shuffle();
  }
  if (++turn_ < turns_) {
    return;
  }
  turn_ = 0;
  period_start_ += plan_.period;
  if (now - period_start_ > plan_.period) {
    period_start_ = now;
    std::ranges::fill(looked_, now);
  }
}

bool Schedule::full_pass_due(Steady::time_point now) const { return now - start_ >= plan_.full; }

void SliceLengths::note(unsigned slice, Steady::duration length) {
  const auto [place, added] = slices_.try_emplace(slice, length);
  place->second = std::min(place->second, length);
}

Steady::duration SliceLengths::of(const Schedule::Turn& turn) const {
  Steady::duration length{};
  if (const auto known = slices_.find(turn.slice); known != slices_.end()) {
    length = known->second;
  } else if (!slices_.empty()) {
    length = std::ranges::max(slices_ | std::views::values);
  }
  return length;
}

}  // namespace assay::worker
