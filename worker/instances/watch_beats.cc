// SPDX-License-Identifier: Apache-2.0
// What heartbeats say of instances, and what is kept to say it.
#include <algorithm>
#include <utility>

#include "schemas/core/bytes.h"
#include "worker/instances/watch.h"

namespace assay::worker {
namespace {

std::string for_a_beat(std::string text) {
  text.resize(std::min(text.size(), kMaxBeatText));
  while (!is_utf8(text)) {  // as is a text that was cut inside of a character
    text.pop_back();
  }
  return text;
}

}  // namespace

bool InstanceWatch::is_late(const Watcher& watcher) const {
  return now_() - watcher.looked > 2 * cycle(plan_) + kLateBy;
}

// While its owner is waited for, nobody looks at an instance: what was seen before counts no more.
InstanceBeat InstanceWatch::said_of(const Watcher& watcher) const {
  InstanceBeat beat = watcher.beat;
  const bool held = watcher.model && !watcher.model->over().stop_requested();
  if (beat.state == InstanceState::kVerified && (!held || is_late(watcher))) {
    beat.state = InstanceState::kUnknown;
  }
  if (beat.state == InstanceState::kVerified) {
    beat.watch = watched_by(plan_);
  }
  if (beat.state == InstanceState::kViolated) {
    for (const Finding& finding :
         std::span(watcher.found).first(std::min(watcher.found.size(), kMaxBeatFindings))) {
      beat.findings.push_back({for_a_beat(finding.tensor), for_a_beat(finding.detail)});
    }
  }
  return beat;
}

// Of what is registered. What no job was about, nobody looks at.
InstanceBeat InstanceWatch::said_of(const JobInstance& instance, const Ranks& ranks) const {
  const auto place = watchers_.find(instance);
  const auto is_known = [&](const auto& rank) {
    return rank.second.artifact == place->second->beat.artifact;
  };
  const bool changed =
      std::ranges::any_of(ranks, [](const auto& rank) { return rank.second.changed; });
  const BeatFinding replaced{"", std::string(kStorageReplaced)};
  if (place == watchers_.end() || std::ranges::none_of(ranks, is_known)) {
    return {instance, ranks.begin()->second.artifact,
            changed ? InstanceState::kViolated : InstanceState::kUnknown, std::nullopt,
            changed ? std::vector{replaced} : std::vector<BeatFinding>()};
  }
  const Watcher& watcher = *place->second;
  InstanceBeat beat = said_of(watcher);
  const bool all = std::ranges::all_of(ranks, is_known) && watcher.model &&
                   watcher.model->processes() == ranks.size();
  const bool ended = beat.state == InstanceState::kEnded;  // and a process of it is there
  if (ended || (beat.state == InstanceState::kVerified && !all)) {
    beat.state = InstanceState::kUnknown;
  }
  if (changed && beat.state != InstanceState::kViolated) {
    beat.state = InstanceState::kViolated;
    beat.findings = {replaced};
  }
  if (beat.state != InstanceState::kVerified) {
    beat.watch.reset();
  }
  return beat;
}

bool InstanceWatch::has_registration(const std::string& pod) const {
  const auto first = present_.lower_bound({pod, {}});
  return first != present_.end() && first->first.pod == pod;
}

// Of a pod that is there, what has ended must be said on. So the pods that are not there come
// first, then the pod of which most is kept.
InstanceWatch::Watchers::iterator InstanceWatch::one_too_many(const Watcher& added) {
  const auto is_idle = [&](const auto& item) {
    return item.second.get() != &added && !item.second->model;
  };
  std::map<std::string, std::size_t> kept;
  for (const auto& [instance, watcher] : watchers_) {
    ++kept[instance.pod];
  }
  auto found = watchers_.end();
  std::pair<bool, std::size_t> most;
  for (auto it = watchers_.begin(); watchers_.size() > kMaxBeatInstances && it != watchers_.end();
       ++it) {
    const std::string& pod = it->first.pod;
    const std::pair rank{!has_registration(pod), kept[pod]};
    if (is_idle(*it) && (found == watchers_.end() || rank > most)) {
      found = it;
      most = rank;
    }
  }
  return found;
}

std::vector<InstanceBeat> InstanceWatch::beats() const {
  const std::scoped_lock lock(mutex_);
  std::vector<InstanceBeat> beats;
  for (const auto& [instance, ranks] : present_) {
    if (beats.size() < kMaxBeatInstances) {
      beats.push_back(said_of(instance, ranks));
    }
  }
  for (const bool there : {true, false}) {
    for (const auto& [instance, watcher] : watchers_) {
      if (beats.size() < kMaxBeatInstances && !present_.contains(instance) &&
          has_registration(instance.pod) == there) {
        beats.push_back(said_of(*watcher));
      }
    }
  }
  std::ranges::sort(beats, {}, &InstanceBeat::instance);
  return beats;
}

}  // namespace assay::worker
