// SPDX-License-Identifier: Apache-2.0
// The work for model instances in memory that is not part of a job: the watch over verified
// instances, heartbeats, and events about changes.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "schemas/core/signer.h"
#include "worker/events.h"
#include "worker/heartbeat.h"
#include "worker/instances/registry.h"
#include "worker/instances/watch.h"

namespace assay::worker {

class MemoryWatch final : public InstanceWatcher {
 public:
  // `send` must have a connection of its own, such as that of a second Service, because it is
  // called while jobs run. `signer`, `events`, and what `send` uses must outlive this object.
  MemoryWatch(std::string node, const Signer& signer, Events& events, Heartbeats::Send send,
              const WatchPlan& plan = {},
              std::chrono::milliseconds heartbeat_period = kHeartbeatPeriod);
  ~MemoryWatch() override;
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // For Parts::watch.
  [[nodiscard]] InstanceWatch& watch() { return watch_; }

  // The Registry calls these functions (Registry::watch()). gone() releases no memory, because
  // those who hold memory release it when a stop of Owner::ended() is requested.
  void came(const std::shared_ptr<Owner>& owner) override { watch_.came(*owner); }
  void asked(const std::shared_ptr<Owner>& owner) override { watch_.ask(*owner); }
  void changed(const std::shared_ptr<Owner>& owner, std::span<const std::string> tensors) override {
    watch_.violate(*owner, tensors);
  }
  void yields(const std::shared_ptr<Owner>& owner, std::chrono::milliseconds max) override {
    watch_.yield(owner, max);
  }
  void gone(const Owner& owner) override { watch_.gone(owner); }

 private:
  void tell(const std::string& event, const InstanceBeat& beat, std::span<const Finding> findings);
  void hurry();  // sends a heartbeat at once, because a state changed

  Events& events_;
  std::mutex mutex_;
  Heartbeats* hurried_ = nullptr;  // guarded by mutex_; set while heartbeats_ lives
  InstanceWatch watch_;
  Heartbeats heartbeats_;
};

}  // namespace assay::worker
