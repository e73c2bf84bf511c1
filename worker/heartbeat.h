// SPDX-License-Identifier: Apache-2.0
// Heartbeats: while model instances are registered or watched (instances/watch.h), the agent tells
// the service every few seconds in what state they are. When the heartbeats stop, conditions with
// MemoryDemands::watched (schemas/policy_document.h) no longer pass for instances of this node
// after 10 s.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "schemas/core/signer.h"
#include "schemas/heartbeat.h"

namespace assay::worker {

inline constexpr std::chrono::milliseconds kHeartbeatPeriod{5'000};

class Heartbeats {
 public:
  // Sends a signed envelope; called by one thread.
  using Send = std::function<Result<HeartbeatAnswer>(ByteView envelope)>;
  using Beats = std::function<std::vector<InstanceBeat>()>;
  // Called with the error when sending begins to fail, and with null when sending works again.
  using OnTrouble = std::function<void(const Error* error)>;

  // `signer`, and what the functions use, must outlive this object.
  Heartbeats(std::string node, const Signer& signer, Beats beats, Send send, OnTrouble on_trouble,
             std::chrono::milliseconds period = kHeartbeatPeriod);

  // Makes the thread send a heartbeat at once, because a state changed. Never waits.
  void hurry();

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] std::optional<Status> try_beat();
  // Sends a heartbeat, and a second one when the service wants another session or sequence.
  [[nodiscard]] Status beat(std::vector<InstanceBeat> instances);
  [[nodiscard]] Result<HeartbeatAnswer> send_one(const std::vector<InstanceBeat>& instances);

  std::string node_;
  const Signer& signer_;
  Beats beats_;
  Send send_;
  OnTrouble on_trouble_;
  std::chrono::milliseconds period_;
  Nonce session_{};
  std::uint64_t sequence_ = 0;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool hurry_ = false;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace assay::worker
