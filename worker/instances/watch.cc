// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/watch.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "schemas/core/error.h"

namespace assay::worker {

namespace {

Finding trouble(const Error& error) { return {Finding::Kind::kError, {}, error.detail}; }

}  // namespace

InstanceWatch::InstanceWatch(const WatchPlan& plan, OnChange on_change)
    : plan_(plan), on_change_(std::move(on_change)) {}

InstanceWatch::~InstanceWatch() {
  std::map<JobInstance, std::unique_ptr<Watcher>> old;
  {
    const std::scoped_lock lock(mutex_);
    old.swap(watchers_);
  }
  for (auto& [instance, watcher] : old) {
    watcher->thread.request_stop();
  }
}

void InstanceWatch::put(std::unique_ptr<Watcher> watcher) {
  // Their threads are awaited without the lock, which they may need.
  std::unique_ptr<Watcher> old;
  std::unique_ptr<Watcher> idle;
  const std::scoped_lock lock(mutex_);
  const Watcher& added = *watcher;
  old = std::exchange(watchers_[added.beat.instance], std::move(watcher));
  if (watchers_.size() <= kMaxBeatInstances) {
    return;
  }
  const auto found = std::ranges::find_if(watchers_, [&](const auto& item) {
    return item.second.get() != &added && !item.second->model;
  });
  if (found != watchers_.end()) {
    idle = std::move(found->second);
    watchers_.erase(found);
  }
}

void InstanceWatch::watch(const JobInstance& instance, const ArtifactId& artifact,
                          const DocumentId& report, std::vector<Entry> entries,
                          std::shared_ptr<InstanceModel> model) {
  auto watcher =
      std::make_unique<Watcher>(InstanceBeat{instance, artifact, InstanceState::kVerified, report});
  watcher->entries = std::move(entries);
  watcher->model = std::move(model);
  const InstanceBeat beat = watcher->beat;
  put(std::move(watcher));
  on_change_(beat, {});  // before its thread may tell more
  start(beat.instance);
}

void InstanceWatch::start(const JobInstance& instance) {
  const std::scoped_lock lock(mutex_);
  const auto place = watchers_.find(instance);
  if (place == watchers_.end() || !place->second->model || place->second->thread.joinable()) {
    return;
  }
  Watcher& watcher = *place->second;
  watcher.thread =
      std::jthread([this, &watcher](const std::stop_token& stop) { run(watcher, stop); });
}

void InstanceWatch::note(InstanceBeat beat, std::span<const Finding> findings) {
  auto watcher = std::make_unique<Watcher>(std::move(beat));
  const InstanceBeat told = watcher->beat;
  put(std::move(watcher));
  on_change_(told, findings);
}

std::vector<InstanceBeat> InstanceWatch::beats() const {
  const std::scoped_lock lock(mutex_);
  std::vector<InstanceBeat> beats;
  for (const auto& [instance, watcher] : watchers_) {
    if (beats.size() < kMaxBeatInstances) {
      beats.push_back(watcher->beat);
    }
  }
  return beats;
}

void InstanceWatch::settle(Watcher& watcher, InstanceState state,
                           std::span<const Finding> findings) {
  watcher.model->tell(state, findings);
  watcher.model->release();
  std::optional<InstanceBeat> told;
  std::shared_ptr<InstanceModel> model;
  {
    const std::scoped_lock lock(mutex_);
    watcher.beat.state = state;
    model = std::exchange(watcher.model, nullptr);
    const auto place = watchers_.find(watcher.beat.instance);
    if (place != watchers_.end() && place->second.get() == &watcher) {
      told = watcher.beat;
    }
  }
  if (told) {
    on_change_(*told, findings);
  }
}

Result<std::vector<Finding>> InstanceWatch::turn(InstanceModel& model,
                                                 const Schedule::Turn& what) const {
  ASSAY_ASSIGN(std::vector<Finding> findings, model.recheck(what.slice));
  if (findings.empty() && what.redraw) {
    return model.redraw(plan_.redrawn);
  }
  return findings;
}

Result<std::vector<Finding>> InstanceWatch::full_pass(InstanceModel& model,
                                                      const std::vector<Entry>& entries,
                                                      const std::stop_token& stop) const {
  ASSAY_ASSIGN(const InstanceModel::Hashed hashed, model.hash(plan_.slices, stop));
  std::vector<Finding> findings;
  for (const NotCovered& item : hashed.not_covered) {
    if (item.reason != info(ErrorCode::kFileChanged).code) {
      return fail(ErrorCode::kFileUnreadable, "The memory could not be read: " + item.reason);
    }
    findings.push_back({Finding::Kind::kChanged, {}, "a replaced piece holds other bytes"});
  }
  for (std::size_t i = 0; findings.empty() && i < entries.size(); ++i) {
    if (i >= hashed.entries.size() || hashed.entries[i] != entries[i]) {
      findings.push_back(
          {Finding::Kind::kChanged, label_of(entries[i]), "its bytes are not what they were"});
    }
  }
  return findings;
}

void InstanceWatch::run(Watcher& watcher, const std::stop_token& stop) {
  InstanceModel& model = *watcher.model;
  std::stop_source end;
  const auto request_end = [&end] { end.request_stop(); };
  const std::stop_callback on_stop(stop, request_end);
  const std::stop_callback on_over(model.over(), request_end);
  Schedule schedule(plan_, model.slices(), Steady::now());
  Steady::duration length{};
  Result<std::vector<Finding>> found = std::vector<Finding>();
  while (found && found->empty() && !end.stop_requested()) {
    const Steady::time_point now = Steady::now();
    const Steady::time_point when = schedule.when({}, now, length);
    if (when > now) {
      pause(when - now, end.get_token());
      continue;
    }
    try {
      if (schedule.full_pass_due(now)) {
        found = full_pass(model, watcher.entries, stop);
        if (found && found->empty()) {
          model.tell(InstanceState::kVerified, {});
        }
        schedule = Schedule(plan_, model.slices(), Steady::now());
      } else {
        schedule.began(now);
        found = turn(model, schedule.next());
        schedule.done(Steady::now());
        length = Steady::now() - now;
      }
    } catch (const std::exception& error) {
      found = fail(ErrorCode::kInternal, error.what());
    }
  }
  if (stop.stop_requested()) {
    model.release();
    return;
  }
  if (found && !found->empty()) {
    settle(watcher, InstanceState::kViolated, *found);
    return;
  }
  const Finding why =
      found ? Finding{Finding::Kind::kError, {}, "the memory was let go"} : trouble(found.error());
  settle(watcher, InstanceState::kUnknown, {&why, 1});
}

}  // namespace assay::worker
