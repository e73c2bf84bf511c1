// SPDX-License-Identifier: Apache-2.0
// Turns SIGTERM and SIGINT into requests to stop, for verbs that run until somebody ends them.
#pragma once

#include <chrono>
#include <stop_token>
#include <thread>

#include "schemas/core/error.h"

namespace assay::cli {

// Watches both signals. Blocks them in the calling thread and in the threads that it starts later.
// A SignalWatch must therefore be made before any other thread. Only one SignalWatch may exist at a
// time.
class SignalWatch {
 public:
  // abandon() is stopped `grace` after the first signal, or earlier at a second signal.
  explicit SignalWatch(std::chrono::seconds grace);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  // Returns the token that is stopped at the first signal. After that, the verb must begin no new
  // work.
  [[nodiscard]] std::stop_token drain() const { return drain_.get_token(); }
  // Returns the token that is stopped at a second signal or at the end of `grace`. After that, the
  // verb must give up running work.
  [[nodiscard]] std::stop_token abandon() const { return abandon_.get_token(); }

 private:
  void watch(const std::stop_token& end);

  std::chrono::seconds grace_;
  std::stop_source drain_;
  std::stop_source abandon_;
  std::jthread thread_;  // last, because the thread uses the others
};

}  // namespace assay::cli
