// SPDX-License-Identifier: Apache-2.0
// The thread that looks, after each revocation, which admitted pods would be denied now, and has
// the log record them (service/impact/note_affected.h). At its start it looks when there were
// revocations that no record is about: the service may have stopped before it wrote one.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "server/operational_log.h"
#include "server/service/services.h"

namespace assay::server {

class AffectedWatch {
 public:
  // Starts the thread. `services` and `log` must outlive the watch.
  AffectedWatch(Services& services, Log& log);
  AffectedWatch(const AffectedWatch&) = delete;
  AffectedWatch& operator=(const AffectedWatch&) = delete;
  // Waits until the pods under way are judged, then ends the thread.
  ~AffectedWatch();

  // Wakes the thread because trust changed. Never waits.
  void wake();

 private:
  void run(const std::stop_token& stop);
  // Looks at the pods if there was a revocation since the last time. Returns false when the thread
  // must try again.
  bool look();

  Services& services_;
  Log& log_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool due_ = true;
  // Revocations up to which pods were looked at; unset: the log was not asked yet.
  std::optional<std::uint64_t> noted_;
  std::jthread thread_;
};

}  // namespace assay::server
