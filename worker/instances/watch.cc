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

InstanceWatch::InstanceWatch(const WatchPlan& plan, OnChange on_change, Now now)
    : plan_(plan), on_change_(std::move(on_change)), now_(std::move(now)) {}

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
  watcher->looked = now_();
  const InstanceBeat beat = watcher->beat;
  put(std::move(watcher));
  on_change_(beat, {});  // before its thread may tell more
  start(beat.instance);
}

void InstanceWatch::start(const JobInstance& instance) {
  std::unique_lock lock(mutex_);
  const auto place = watchers_.find(instance);
  if (place == watchers_.end() || !place->second->model || place->second->thread.joinable()) {
    return;
  }
  Watcher& watcher = *place->second;
  try {
    watcher.thread =
        std::jthread([this, &watcher](const std::stop_token& stop) { run(watcher, stop); });
  } catch (const std::exception&) {
    lock.unlock();
    const Finding why = trouble({ErrorCode::kInternal, "the system has no more threads", {}});
    settle(watcher, InstanceState::kUnknown, {&why, 1});
  }
}

void InstanceWatch::note(InstanceBeat beat, std::span<const Finding> findings) {
  auto watcher = std::make_unique<Watcher>(std::move(beat));
  const InstanceBeat told = watcher->beat;
  put(std::move(watcher));
  on_change_(told, findings);
}

void InstanceWatch::note_look(Watcher& watcher) {
  const std::scoped_lock lock(mutex_);
  watcher.looked = now_();
}

// While its owner is waited for, nobody looks at an instance: what was seen before counts no more.
InstanceBeat InstanceWatch::said_of(const Watcher& watcher) const {
  InstanceBeat beat = watcher.beat;
  if (beat.state == InstanceState::kVerified &&
      now_() - watcher.looked > 2 * plan_.period + kLateBy) {
    beat.state = InstanceState::kUnknown;
  }
  return beat;
}

// Of what is registered. What no job was about, nobody looks at.
InstanceBeat InstanceWatch::said_of(const JobInstance& instance, const Ranks& ranks) const {
  const auto place = watchers_.find(instance);
  const auto is_known = [&](const auto& rank) {
    return rank.second.artifact == place->second->beat.artifact;
  };
  if (place == watchers_.end() || std::ranges::none_of(ranks, is_known)) {
    return {instance, ranks.begin()->second.artifact, InstanceState::kUnknown, std::nullopt};
  }
  const Watcher& watcher = *place->second;
  InstanceBeat beat = said_of(watcher);
  const bool all = std::ranges::all_of(ranks, is_known) && watcher.model &&
                   watcher.model->processes() == ranks.size();
  if (beat.state == InstanceState::kVerified && !all) {
    beat.state = InstanceState::kUnknown;
  }
  return beat;
}

std::vector<InstanceBeat> InstanceWatch::beats() const {
  const std::scoped_lock lock(mutex_);
  std::vector<InstanceBeat> beats;
  for (const auto& [instance, ranks] : present_) {
    if (beats.size() < kMaxBeatInstances) {
      beats.push_back(said_of(instance, ranks));
    }
  }
  for (const auto& [instance, watcher] : watchers_) {
    if (beats.size() < kMaxBeatInstances && !present_.contains(instance)) {
      beats.push_back(said_of(*watcher));
    }
  }
  std::ranges::sort(beats, {}, &InstanceBeat::instance);
  return beats;
}

void InstanceWatch::came(const Owner& owner) {
  const InstanceRegistration& registration = owner.registration();
  const std::scoped_lock lock(mutex_);
  present_[{owner.peer().pod, registration.instance}].insert_or_assign(
      registration.rank, Present{owner.id(), registration.artifact});
}

void InstanceWatch::gone(const Owner& owner) {
  const InstanceRegistration& registration = owner.registration();
  const std::scoped_lock lock(mutex_);
  const auto place = present_.find({owner.peer().pod, registration.instance});
  if (place == present_.end()) {
    return;
  }
  const auto rank = place->second.find(registration.rank);
  if (rank != place->second.end() && rank->second.id == owner.id()) {
    place->second.erase(rank);
  }
  if (place->second.empty()) {
    present_.erase(place);
  }
}

void InstanceWatch::settle(Watcher& watcher, InstanceState state,
                           std::span<const Finding> findings) {
  std::optional<InstanceBeat> told;
  std::shared_ptr<InstanceModel> model;
  bool asked = false;
  {
    const std::scoped_lock lock(mutex_);
    watcher.beat.state = state;
    model = std::exchange(watcher.model, nullptr);  // from now on ask() answers itself
    asked = watcher.asked;
    const auto place = watchers_.find(watcher.beat.instance);
    if (place != watchers_.end() && place->second.get() == &watcher) {
      told = watcher.beat;
    }
  }
  if (told) {
    on_change_(*told, findings);
  }
  if (asked) {
    model->begin_check();
  }
  model->tell(state, findings);
  model->release();
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

bool InstanceWatch::wait(Watcher& watcher, Steady::time_point when, const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  watcher.changed.wait_until(lock, end, when,
                             [&] { return watcher.asked || !watcher.said.empty(); });
  return std::exchange(watcher.asked, false);
}

Result<std::vector<Finding>> InstanceWatch::look(Watcher& watcher, const std::stop_token& stop,
                                                 const std::stop_token& end) {
  InstanceModel& model = *watcher.model;
  Schedule schedule(plan_, model.slices(), Steady::now());
  Steady::duration length{};
  while (!end.stop_requested()) {
    const bool asked = wait(watcher, schedule.when({}, Steady::now(), length), end);
    {
      const std::scoped_lock lock(mutex_);
      if (!watcher.said.empty()) {
        return watcher.said;
      }
    }
    const Steady::time_point now = Steady::now();
    std::vector<Finding> found;
    if (asked || schedule.full_pass_due(now)) {
      ASSAY_ASSIGN(found, full_pass(model, watcher.entries, stop));
      if (found.empty()) {
        note_look(watcher);
        model.tell(InstanceState::kVerified, {});
      }
      schedule = Schedule(plan_, model.slices(), Steady::now());
    } else if (schedule.when({}, now, length) <= now && !end.stop_requested()) {
      schedule.began(now);
      const Schedule::Turn what = schedule.next();
      ASSAY_ASSIGN(found, turn(model, what));
      if (what.redraw && found.empty()) {
        note_look(watcher);
      }
      schedule.done(Steady::now());
      length = Steady::now() - now;
    }
    if (!found.empty()) {
      return found;
    }
  }
  return fail(ErrorCode::kCancelled, "The memory was let go");
}

void InstanceWatch::run(Watcher& watcher, const std::stop_token& stop) {
  InstanceModel& model = *watcher.model;
  std::stop_source end;
  const auto request_end = [&end] { end.request_stop(); };
  const std::stop_callback on_stop(stop, request_end);
  const std::stop_callback on_over(model.over(), request_end);
  Result<std::vector<Finding>> found = fail(ErrorCode::kInternal, "The watch ended early");
  try {
    found = look(watcher, stop, end.get_token());
  } catch (const std::exception& error) {
    found = fail(ErrorCode::kInternal, error.what());
  }
  if (stop.stop_requested()) {
    model.release();
  } else if (found) {
    settle(watcher, InstanceState::kViolated, *found);
  } else {
    const Finding why = trouble(found.error());
    settle(watcher, InstanceState::kUnknown, {&why, 1});
  }
}

void InstanceWatch::ask(Owner& owner) {
  Finding why{Finding::Kind::kError, {}, "no job has verified this instance"};
  InstanceState state = InstanceState::kUnknown;
  {
    const std::scoped_lock lock(mutex_);
    const auto place = watchers_.find({owner.peer().pod, owner.registration().instance});
    if (place != watchers_.end() && place->second->model) {
      place->second->asked = true;
      place->second->changed.notify_all();
      return;
    }
    if (place != watchers_.end() && place->second->beat.state == InstanceState::kViolated) {
      why.detail = "it was found changed; a new job will look again";
      state = InstanceState::kViolated;
    }
  }
  owner.begin_check();
  owner.tell(state, {&why, 1});
}

void InstanceWatch::violate(const JobInstance& instance, std::span<const std::string> tensors) {
  const std::scoped_lock lock(mutex_);
  const auto place = watchers_.find(instance);
  if (place == watchers_.end() || !place->second->model) {
    return;
  }
  for (const std::string& tensor : tensors) {
    place->second->said.push_back(
        {Finding::Kind::kChanged, tensor, "its owner saw its storage replaced"});
  }
  if (tensors.empty()) {
    place->second->said.push_back({Finding::Kind::kChanged, {}, "its owner saw storage replaced"});
  }
  place->second->changed.notify_all();
}

}  // namespace assay::worker
