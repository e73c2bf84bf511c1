// SPDX-License-Identifier: Apache-2.0
#include "worker/memory_watch.h"

#include <utility>

#include "schemas/core/error_json.h"

namespace assay::worker {

MemoryWatch::MemoryWatch(std::string node, const Signer& signer, Events& events,
                         Heartbeats::Send send, const WatchPlan& plan,
                         std::chrono::milliseconds heartbeat_period)
    : events_(events),
      watch_(
          plan,
          [this](const InstanceBeat& beat, std::span<const Finding> findings) {
            tell("instance", beat, findings);
            hurry();
          },
          &Steady::now,
          [this](const InstanceBeat& beat, std::span<const Finding> findings) {
            tell("located", beat, findings);
            hurry();
          }),
      heartbeats_(
          std::move(node), signer, [this] { return watch_.beats(); }, std::move(send),
          [this](const Error* error) {
            events_.tell("heartbeat", {{"error", error != nullptr ? error_json(*error) : Json()}});
          },
          heartbeat_period) {
  const std::scoped_lock lock(mutex_);
  hurried_ = &heartbeats_;
}

MemoryWatch::~MemoryWatch() {
  const std::scoped_lock lock(mutex_);
  hurried_ = nullptr;
}

void MemoryWatch::tell(const std::string& event, const InstanceBeat& beat,
                       std::span<const Finding> findings) {
  Json list = Json::array();
  for (const Finding& finding : findings) {
    list.push_back(
        {{"kind", name(finding.kind)}, {"tensor", finding.tensor}, {"detail", finding.detail}});
  }
  events_.tell(event, {{"pod", beat.instance.pod},
                       {"instance", beat.instance.instance},
                       {"artifact", beat.artifact.text()},
                       {"state", name(beat.state)},
                       {"findings", std::move(list)}});
}

void MemoryWatch::hurry() {
  const std::scoped_lock lock(mutex_);
  if (hurried_ != nullptr) {
    hurried_->hurry();
  }
}

}  // namespace assay::worker
