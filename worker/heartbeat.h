// SPDX-License-Identifier: Apache-2.0
// Heartbeats: while instances are watched, the service hears every few seconds that this agent
// lives and what it sees. When they stop, nothing counts as verified any more.
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
  // Called when sending begins to fail, with the error, and when it works again, without one.
  using OnTrouble = std::function<void(const Error* error)>;

  // Everything outlives this.
  Heartbeats(std::string node, const Signer& signer, Beats beats, Send send, OnTrouble on_trouble,
             std::chrono::milliseconds period = kHeartbeatPeriod);

  // Sends one at once: a state changed. Never waits.
  void hurry();

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] std::optional<Status> try_beat();
  // One heartbeat, and a second one when the service wants another session or sequence.
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
