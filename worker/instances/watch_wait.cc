// SPDX-License-Identifier: Apache-2.0
// When the thread of a watched instance goes on: by its schedule, by hints, or because a process of
// the instance yields.
#include <algorithm>
#include <ctime>
#include <utility>

#include "worker/instances/watch.h"

namespace assay::worker {

namespace {

// What this thread has used of a processor.
Steady::duration own_time() {
  std::timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

bool InstanceWatch::may_yield(const Watcher& watcher, const Look& look, Steady::time_point now) {
  if (!watcher.model || watcher.yields.empty() ||
      watcher.yields.size() < watcher.model->processes() || now < look.schedule.open() ||
      (look.schedule.next().redraw && !look.drawn)) {
    return false;
  }
  const Steady::time_point until = std::ranges::min(watcher.yields, {}, &Yield::until).until;
  return now + look.lengths.of(look.schedule.next()) <= until;
}

std::vector<Schedule::Turn> InstanceWatch::due(const Watcher& watcher, const Look& look) const {
  const std::scoped_lock lock(mutex_);
  std::vector<Schedule::Turn> turns = look.schedule.rest();
  Steady::time_point end = Steady::now();
  const Steady::time_point until =
      watcher.yields.empty() ? end : std::ranges::min(watcher.yields, {}, &Yield::until).until;
  std::size_t count = 0;
  for (const Schedule::Turn& turn : turns) {
    const Steady::duration length = look.lengths.of(turn);
    end += length;
    if (length == Steady::duration::zero() || end > until || (turn.redraw && !look.drawn)) {
      break;
    }
    ++count;
  }
  turns.resize(std::max<std::size_t>(count, 1));  // the first one may be tried in any case
  return turns;
}

Steady::time_point InstanceWatch::draw_at(const Watcher& watcher, const Look& look,
                                          Steady::time_point now) {
  if (look.drawn) {
    return Steady::time_point::max();
  }
  const Schedule::Turn turn = look.schedule.next();
  const bool waited_for = watcher.model && watcher.yields.size() >= watcher.model->processes();
  if (turn.redraw && waited_for && now >= look.schedule.open()) {
    return now;
  }
  const Steady::time_point ahead = look.offered ? look.schedule.ahead() : Steady::time_point::max();
  return turn.redraw ? std::min(turn.earliest, ahead) : ahead;
}

std::vector<InstanceWatch::Yield> InstanceWatch::take_yields(Watcher& watcher,
                                                             Steady::time_point now) {
  const bool all = watcher.model && watcher.yields.size() >= watcher.model->processes();
  const auto over = std::ranges::partition(
      watcher.yields, [&](const Yield& yield) { return !all && now < yield.until; });
  std::vector<Yield> taken(std::make_move_iterator(over.begin()),
                           std::make_move_iterator(over.end()));
  watcher.yields.erase(over.begin(), over.end());
  return taken;
}

void InstanceWatch::answer(const std::vector<Yield>& yields, std::chrono::milliseconds next) {
  for (const Yield& yield : yields) {
    if (const auto owner = yield.owner.lock()) {
      owner->yielded(yield.slices, std::max(next, kSoonestYield));
    }
  }
}

Steady::time_point InstanceWatch::next_look(const Watcher& watcher, const Look& look,
                                            Steady::time_point now) const {
  std::optional<WatchHints> hints;
  if (const auto place = present_.find(watcher.beat.instance); place != present_.end()) {
    for (const auto& [rank, present] : place->second) {
      const auto one = present.hints ? present.hints->read(now) : std::nullopt;
      if (one) {
        join_hints(hints, *one);
      }
    }
  }
  Steady::time_point when = look.schedule.when(hints, now, look.lengths.of(look.schedule.next()));
  if (when > now && hints && now >= look.schedule.next().earliest) {
    when = std::min(when, now + look.pace);
  }
  for (const Yield& yield : watcher.yields) {
    when = when <= now ? when : std::min(when, yield.until);
  }
  return when;
}

InstanceWatch::Wake InstanceWatch::wait(Watcher& watcher, Look& look, const std::stop_token& end) {
  constexpr unsigned kTelling = 16;  // looks
  unsigned looks = 0;
  const Steady::duration begin = own_time();
  const Wake wake = wait_on(watcher, look, end, looks);
  if (looks >= kTelling) {
    look.pace = pace_of(own_time() - begin, looks);
  }
  return wake;
}

InstanceWatch::Wake InstanceWatch::wait_on(Watcher& watcher, const Look& look,
                                           const std::stop_token& end, unsigned& looks) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested()) {
    watcher.news = false;
    if (!watcher.said.empty()) {
      return Wake::kSaid;
    }
    if (std::exchange(watcher.asked, false)) {
      return Wake::kAsked;
    }
    const Steady::time_point now = Steady::now();
    if (may_yield(watcher, look, now)) {
      return Wake::kYield;
    }
    const Steady::time_point drawing = draw_at(watcher, look, now);
    if (drawing <= now) {
      return Wake::kDraw;
    }
    const std::vector<Yield> over = take_yields(watcher, now);
    if (!over.empty()) {
      lock.unlock();
      answer(over, std::chrono::ceil<std::chrono::milliseconds>(look.schedule.open() - now));
      lock.lock();
      continue;
    }
    const Steady::time_point when = std::min(next_look(watcher, look, now), drawing);
    ++looks;
    if (when <= now) {
      return Wake::kSlice;
    }
    watcher.changed.wait_until(lock, end, when, [&] { return watcher.news; });
  }
  return Wake::kEnd;
}

void InstanceWatch::yield(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max) {
  const std::uint64_t rank = owner->registration().rank;
  {
    const std::scoped_lock lock(mutex_);
    const auto place = watchers_.find({owner->peer().pod, owner->registration().instance});
    if (place != watchers_.end() && place->second->model) {
      Watcher& watcher = *place->second;
      std::erase_if(watcher.yields, [rank](const Yield& yield) { return yield.rank == rank; });
      watcher.yields.push_back({owner, rank, Steady::now() + max});
      watcher.news = true;
      watcher.changed.notify_all();
      return;
    }
  }
  owner->yielded(0, kNoYield);
}

}  // namespace assay::worker
