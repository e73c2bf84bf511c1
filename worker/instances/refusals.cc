// SPDX-License-Identifier: Apache-2.0
#include "worker/instances/refusals.h"

#include <algorithm>

namespace assay::worker {

bool Refusals::note(const Refusal& refusal, Steady::time_point now) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = pods_.try_emplace(refusal.pod);
  OfPod& own = place->second;
  // Of a process that could not be identified nobody knows the pod.
  if (refusal.pid != 0) {
    own.last = refusal;
  }
  own.at = now;
  if (is_new || now - own.minute >= std::chrono::minutes(1)) {
    own.minute = now;
    own.told = 0;
  }
  const bool tell = own.told < kToldAMinute;
  own.told += tell ? 1 : 0;
  if (pods_.size() > kPods) {
    pods_.erase(
        std::ranges::min_element(pods_, {}, [](const auto& item) { return item.second.at; }));
  }
  return tell;
}

std::optional<Refusal> Refusals::last(std::string_view pod, std::string_view instance) const {
  const std::lock_guard lock(mutex_);
  const auto own = pods_.find(pod);
  if (own == pods_.end() || !own->second.last) {
    return std::nullopt;
  }
  const Refusal& last = *own->second.last;
  return last.instance.empty() || last.instance == instance ? std::optional(last) : std::nullopt;
}

void Refusals::forget(std::string_view pod, std::string_view instance) {
  const std::lock_guard lock(mutex_);
  const auto own = pods_.find(pod);
  if (own == pods_.end() || !own->second.last) {
    return;
  }
  const std::string& refused = own->second.last->instance;
  if (refused.empty() || refused == instance) {
    own->second.last.reset();
  }
}

}  // namespace assay::worker
