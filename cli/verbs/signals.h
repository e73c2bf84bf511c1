// SPDX-License-Identifier: Apache-2.0
// SIGTERM and SIGINT as requests to stop, for verbs that run until they are told to end.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "schemas/core/error.h"

namespace assay::cli {

// Blocks both signals in the calling thread and in those it starts from here on, so it is made
// before any other thread. There is one at a time.
class SignalWatch {
 public:
  // After the first signal there are `grace` until the second request is made.
  explicit SignalWatch(std::chrono::seconds grace);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Requested by the first signal: begin nothing new.
  [[nodiscard]] std::stop_token drain() const { return drain_.get_token(); }
  // Requested by a second signal, or when the time is over: give up.
  [[nodiscard]] std::stop_token abandon() const { return abandon_.get_token(); }

 private:
  void watch(const std::stop_token& end);

  std::chrono::seconds grace_;
  std::stop_source drain_;
  std::stop_source abandon_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace assay::cli
