// SPDX-License-Identifier: Apache-2.0
// The thread that appraises stored evidence again when something moved: at start, after changes of
// trust, and when newer collateral came in.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/log.h"
#include "server/service/services.h"

namespace assay::server {

class Reappraiser {
 public:
  // Begins at once. `services` and `log` must outlive it.
  Reappraiser(Services& services, Log& log);
  Reappraiser(const Reappraiser&) = delete;
  Reappraiser& operator=(const Reappraiser&) = delete;
  // Ends after the batch under way.
  ~Reappraiser();

  // There may be something to do. Never waits.
  void wake();

 private:
  void run(const std::stop_token& stop);
  // Everything that is stale now, in batches. False when it must be tried again.
  bool catch_up(const std::stop_token& stop);

  Services& services_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool due_ = true;
  std::jthread thread_;
};

}  // namespace assay::server
