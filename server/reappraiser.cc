// SPDX-License-Identifier: Apache-2.0
#include "server/reappraiser.h"

#include <algorithm>

#include "server/service/nodes/reappraise.h"

namespace assay::server {
namespace {

// Small, so that other writes come in between and a stop is heard.
constexpr std::size_t kBatch = 16;
// What a busy verifier leaves stale comes first each time: others lie behind it.
constexpr std::size_t kLargestBatch = 1'000;
constexpr std::chrono::seconds kPause{5};
// What evidence rests on ends without anybody saying so.
constexpr std::chrono::minutes kRound{1};

}  // namespace

Reappraiser::Reappraiser(Services& services, Log& log)
    : services_(services), log_(log), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Reappraiser::~Reappraiser() {
  thread_.request_stop();
  changed_.notify_all();
}

void Reappraiser::wake() {
  {
    const std::scoped_lock lock(mutex_);
    due_ = true;
  }
  changed_.notify_all();
}

bool Reappraiser::catch_up(const std::stop_token& stop) {
  std::size_t total = 0;
  std::size_t batch = kBatch;
  while (!stop.stop_requested()) {
    const auto done = reappraise(services_, batch);
    if (!done && batch < kLargestBatch) {
      batch = std::min(8 * batch, kLargestBatch);
      continue;
    }
    if (!done) {
      log_.error("reappraisal", {{"error", to_string(done.error())}});
      return false;
    }
    if (*done == 0) {
      break;
    }
    total += *done;
  }
  if (total > 0) {
    log_.info("reappraised", {{"count", total}});
  }
  return true;
}

void Reappraiser::run(const std::stop_token& stop) {
  bool failed = false;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      const auto is_due = [this] { return due_; };
      if (failed) {
        changed_.wait_for(lock, stop, kPause, [] { return false; });
      } else {
        changed_.wait_for(lock, stop, kRound, is_due);
      }
      if (stop.stop_requested()) {
        return;
      }
      due_ = false;
    }
    failed = !catch_up(stop);
  }
}

}  // namespace assay::server
