// SPDX-License-Identifier: Apache-2.0
// The thread that appraises stored evidence again (service/nodes/reappraise.h): at start, after
// changes of trust, and when newer collateral arrived (certificates and revocation lists for
// evidence), and every minute what evidence rests on that is about to end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/operational_log.h"
#include "server/service/services.h"

namespace assay::server {

class Reappraiser {
 public:
  // Starts the thread. `services` and `log` must outlive the reappraiser.
  Reappraiser(Services& services, Log& log);
  Reappraiser(const Reappraiser&) = delete;
  Reappraiser& operator=(const Reappraiser&) = delete;
  // Waits for the batch under way, then ends the thread.
  ~Reappraiser();

  // Wakes the thread because evidence may be stale. Never waits.
  void wake();

 private:
  void run(const std::stop_token& stop);
  // Appraises all stale evidence, in batches. Returns false when some is left and the thread must
  // try again.
  bool catch_up(const std::stop_token& stop);

  Services& services_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool due_ = true;
  std::jthread thread_;
};

}  // namespace assay::server
