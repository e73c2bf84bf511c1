// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/watch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"
#include "schemas/instance_message.h"

namespace assay::worker {

namespace {

Finding trouble(const Error& error) { return {Finding::Kind::kError, {}, error.detail}; }

// Other processes of an instance that has ended may still be there.
InstanceState for_owners(InstanceState state) {
  return state == InstanceState::kEnded ? InstanceState::kUnknown : state;
}

// For Schedule. Without random numbers slices come in their order, and none is left out.
std::size_t draw_at_random(std::size_t bound) {
  SystemRandom random;
  std::uint64_t number = 0;
  std::array<std::uint8_t, sizeof(number)> bytes{};
  if (!random.fill(bytes)) {
    return bound - 1;
  }
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number % bound;  // of at most some thousand: the chances differ by less than 2^-50
}

}  // namespace

InstanceWatch::InstanceWatch(const WatchPlan& plan, OnChange on_change, Now now,
                             OnChange on_located)
    : plan_(plan),
      on_change_(std::move(on_change)),
      on_located_(std::move(on_located)),
      now_(std::move(now)) {}

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
  if (const auto found = one_too_many(added); found != watchers_.end()) {
    idle = std::move(found->second);
    watchers_.erase(found);
  }
}

void InstanceWatch::watch(const JobInstance& instance, const ArtifactId& artifact,
                          const DocumentId& report, std::vector<Entry> entries,
                          std::shared_ptr<InstanceModel> model) {
  if (const auto why = objection(*model)) {
    note({instance, artifact, why->first, report}, {&why->second, 1});
    model->begin_check();
    model->tell(for_owners(why->first), {&why->second, 1});
    model->release();
    return;
  }
  auto watcher =
      std::make_unique<Watcher>(InstanceBeat{instance, artifact, InstanceState::kVerified, report});
  watcher->entries = std::move(entries);
  watcher->model = std::move(model);
  watcher->looked = now_();
  const InstanceBeat beat = watcher->beat;
  const std::shared_ptr<InstanceModel> watched = watcher->model;
  put(std::move(watcher));
  on_change_(beat, {});  // before its thread may tell more
  // Only now: an owner that was told may ask at once, and then somebody must watch.
  watched->tell(InstanceState::kVerified, {});
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
    settle(watcher, InstanceState::kUnknown, {&why, 1})->release();
  }
}

void InstanceWatch::note(InstanceBeat beat, std::span<const Finding> findings) {
  auto watcher = std::make_unique<Watcher>(std::move(beat));
  watcher->found.assign(findings.begin(), findings.end());
  const InstanceBeat told = watcher->beat;
  put(std::move(watcher));
  on_change_(told, findings);
}

std::optional<std::pair<InstanceState, Finding>> InstanceWatch::objection(InstanceModel& model) {
  if (model.storage_changed()) {
    return std::pair(InstanceState::kViolated,
                     Finding{Finding::Kind::kChanged, {}, std::string(kStorageReplaced)});
  }
  if (model.over().stop_requested()) {
    return std::pair(InstanceState::kEnded,
                     trouble({ErrorCode::kCancelled, "its memory was let go", {}}));
  }
  return std::nullopt;
}

void InstanceWatch::note_look(Watcher& watcher) {
  const std::scoped_lock lock(mutex_);
  watcher.looked = now_();
}

void InstanceWatch::came(const Owner& owner) {
  const InstanceRegistration& registration = owner.registration();
  const std::scoped_lock lock(mutex_);
  present_[{owner.peer().pod, registration.instance}].insert_or_assign(
      registration.rank, Present{owner.id(), registration.artifact, owner.hints()});
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

bool InstanceWatch::is_current(const Watcher& watcher) const {
  const auto place = watchers_.find(watcher.beat.instance);
  return place != watchers_.end() && place->second.get() == &watcher;
}

std::shared_ptr<InstanceModel> InstanceWatch::settle(Watcher& watcher, InstanceState state,
                                                     std::span<const Finding> findings) {
  std::optional<InstanceBeat> told;
  std::shared_ptr<InstanceModel> model;
  bool asked = false;
  {
    const std::scoped_lock lock(mutex_);
    // What had the bytes of the model until its owner let go of it has ended. The rest stays open.
    if (state == InstanceState::kUnknown && watcher.model->over().stop_requested() &&
        !is_late(watcher)) {
      state = InstanceState::kEnded;
    }
    watcher.beat.state = state;
    watcher.found.assign(findings.begin(), findings.end());
    model = std::exchange(watcher.model, nullptr);  // from now on ask() answers itself
    asked = watcher.asked;
    if (is_current(watcher)) {
      told = watcher.beat;
    }
  }
  if (told) {
    on_change_(*told, findings);
  }
  if (asked) {
    model->begin_check();
  }
  model->tell(for_owners(state), findings);
  return model;
}

Result<std::vector<Finding>> InstanceWatch::full_pass(InstanceModel& model,
                                                      const std::vector<Entry>& entries,
                                                      const std::stop_token& stop) const {
  ASSAY_ASSIGN(const InstanceModel::Hashed hashed,
               model.hash(plan_.slices, stop, plan_.check != WatchCheck::kSha256));
  std::vector<Finding> findings;
  for (const NotCovered& item : hashed.not_covered) {
    if (item.reason != info(ErrorCode::kFileChanged).code) {
      return fail(ErrorCode::kFileUnreadable, "The memory could not be read: " + item.reason);
    }
    findings.push_back({Finding::Kind::kChanged, {}, "a replaced piece holds other bytes"});
  }
  for (std::size_t i = 0; findings.empty() && i < entries.size(); ++i) {
    if (i >= hashed.entries.size() || hashed.entries[i] != entries[i]) {
      findings.push_back({Finding::Kind::kChanged, std::get<TensorEntry>(entries[i]).name,
                          "its bytes are not what they were"});
    }
  }
  return findings;
}

Schedule InstanceWatch::new_schedule(unsigned slices) {
  return {plan_, slices, Steady::now(), draw_at_random};
}

Result<std::vector<Finding>> InstanceWatch::run_turns(Watcher& watcher, Look& look,
                                                      std::span<const Schedule::Turn> turns,
                                                      const std::stop_token& end) {
  InstanceModel& model = *watcher.model;
  const Steady::time_point begin = Steady::now();
  std::vector<unsigned> slices;
  std::ranges::transform(turns, std::back_inserter(slices), &Schedule::Turn::slice);
  const bool redraw = turns.back().redraw;
  ASSAY_ASSIGN(InstanceModel::Look found, model.look(slices, redraw ? plan_.redrawn : 0));
  const std::vector<Finding>& findings = found.findings;
  if (turns.size() == 1) {
    look.lengths.note(slices.front(), Steady::now() - begin);
  }
  look.replaced = found.replaced;
  look.drawn = look.drawn && !redraw;
  if (findings.empty() && turns.back().complete) {
    note_look(watcher);
  }
  if (findings.empty() && !look.locator.is_done()) {
    look.locator.learn(model, look.locator.bytes() / plan_.slices, end);
  }
  const Steady::time_point ended = Steady::now();
  for (std::size_t i = 0; i < turns.size(); ++i) {
    look.schedule.began(begin);
    look.schedule.done(ended);
  }
  return std::move(found.findings);
}

void InstanceWatch::learn(Watcher& watcher, Look& look, const std::stop_token& end) {
  const Steady::time_point until = Steady::now() + plan_.period / 4;
  while (!look.locator.is_done() && !end.stop_requested() && Steady::now() < until) {
    look.locator.learn(*watcher.model, look.locator.bytes() / plan_.slices, end);
  }
  look.schedule = new_schedule(watcher.model->slices());
}

Result<std::vector<Finding>> InstanceWatch::watch_on(Watcher& watcher, Look& look,
                                                     const std::stop_token& stop,
                                                     const std::stop_token& end) {
  InstanceModel& model = *watcher.model;
  std::vector<Finding> found;
  learn(watcher, look, end);
  while (found.empty()) {
    const Wake wake = wait(watcher, look, end);
    if (wake == Wake::kEnd) {
      return fail(ErrorCode::kCancelled, "The memory was let go");
    }
    if (wake == Wake::kSaid) {
      const std::scoped_lock lock(mutex_);
      return watcher.said;
    }
    if (wake == Wake::kAsked || look.schedule.full_pass_due(Steady::now())) {
      ASSAY_ASSIGN(found, full_pass(model, watcher.entries, stop));
      if (found.empty()) {
        note_look(watcher);
        model.tell(InstanceState::kVerified, {});
      }
      look.schedule = new_schedule(model.slices());
      look.lengths = {};
      look.drawn = false;
      continue;
    }
    if (wake == Wake::kDraw) {
      ASSAY_TRY(model.draw(plan_.redrawn));
      look.drawn = true;
      continue;
    }
    const bool offered = wake == Wake::kYield;
    const auto turns = offered ? due(watcher, look) : std::vector{look.schedule.next()};
    ASSAY_ASSIGN(found, run_turns(watcher, look, turns, end));
    if (offered) {
      look.offered = true;
      const std::scoped_lock lock(mutex_);
      std::ranges::for_each(watcher.yields, [&](Yield& yield) { yield.slices += turns.size(); });
    }
  }
  return found;
}

void InstanceWatch::locate(Watcher& watcher, InstanceModel& model, Look& look,
                           std::vector<Finding> findings, const std::stop_token& end) {
  if (look.replaced && !model.hash(plan_.slices, end, plan_.check != WatchCheck::kSha256)) {
    return;
  }
  bool located = false;
  for (std::size_t i = 0; i < std::min(findings.size(), kMaxFrameFindings); ++i) {
    const std::string where = text_of(look.locator.find(model, findings[i].tensor, end));
    located = located || !where.empty();
    findings[i].detail += where.empty() ? "" : ": " + where;
  }
  if (!located) {
    return;
  }
  model.tell(InstanceState::kViolated, findings);
  std::optional<InstanceBeat> told;
  {
    const std::scoped_lock lock(mutex_);
    watcher.found = findings;
    if (is_current(watcher)) {
      told = watcher.beat;
    }
  }
  if (told && on_located_) {
    on_located_(*told, findings);
  }
}

void InstanceWatch::run(Watcher& watcher, const std::stop_token& stop) {
  const std::shared_ptr<InstanceModel> model = watcher.model;
  std::stop_source end;
  const auto request_end = [&end] { end.request_stop(); };
  const std::stop_callback on_stop(stop, request_end);
  const std::stop_callback on_over(model->over(), request_end);
  Look look{new_schedule(model->slices()), Locator(model->artifact())};
  Result<std::vector<Finding>> found = fail(ErrorCode::kInternal, "The watch ended early");
  try {
    found = watch_on(watcher, look, stop, end.get_token());
  } catch (const std::exception& error) {
    found = fail(ErrorCode::kInternal, error.what());
  }
  if (!stop.stop_requested()) {
    const Finding why = found ? Finding{} : trouble(found.error());
    (void)settle(watcher, found ? InstanceState::kViolated : InstanceState::kUnknown,
                 found ? std::span<const Finding>(*found) : std::span(&why, 1));
  }
  std::vector<Yield> waiting;
  {
    const std::scoped_lock lock(mutex_);
    waiting.swap(watcher.yields);
  }
  answer(waiting, kNoYield);
  if (found) {
    try {
      locate(watcher, *model, look, *std::move(found), end.get_token());
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): what was found was told
    }
  }
  model->release();
}

void InstanceWatch::ask(Owner& owner) {
  std::vector<Finding> why = {{Finding::Kind::kError, {}, "no job has verified this instance"}};
  InstanceState state = InstanceState::kUnknown;
  {
    const std::scoped_lock lock(mutex_);
    const auto place = watchers_.find({owner.peer().pod, owner.registration().instance});
    if (place != watchers_.end() && place->second->model) {
      place->second->asked = true;
      place->second->news = true;
      place->second->changed.notify_all();
      return;
    }
    if (owner.storage_changed()) {
      why.front().detail = "its owner saw storage replaced; register anew";
      state = InstanceState::kViolated;
    } else if (place != watchers_.end() && place->second->beat.state == InstanceState::kViolated) {
      why.front().detail = "it was found changed; a new job will look again";
      why.insert(why.begin(), place->second->found.begin(), place->second->found.end());
      state = InstanceState::kViolated;
    }
  }
  owner.begin_check();
  owner.tell(state, why);
}

void InstanceWatch::violate(const Owner& owner, std::span<const std::string> tensors) {
  const InstanceRegistration& registration = owner.registration();
  const JobInstance instance{owner.peer().pod, registration.instance};
  const std::scoped_lock lock(mutex_);
  if (const auto ranks = present_.find(instance); ranks != present_.end()) {
    const auto rank = ranks->second.find(registration.rank);
    if (rank != ranks->second.end() && rank->second.id == owner.id()) {
      rank->second.changed = true;
    }
  }
  const auto place = watchers_.find(instance);
  if (place == watchers_.end()) {
    return;
  }
  if (!place->second->model) {
    if (place->second->beat.artifact == registration.artifact) {
      place->second->beat.state = InstanceState::kViolated;  // also when the registration has ended
      place->second->found = {{Finding::Kind::kChanged, {}, std::string(kStorageReplaced)}};
    }
    return;
  }
  for (const std::string& tensor : tensors) {
    place->second->said.push_back(
        {Finding::Kind::kChanged, tensor, "its owner saw its storage replaced"});
  }
  if (tensors.empty()) {
    place->second->said.push_back({Finding::Kind::kChanged, {}, std::string(kStorageReplaced)});
  }
  place->second->news = true;
  place->second->changed.notify_all();
}

}  // namespace assay::worker
