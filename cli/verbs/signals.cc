// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/signals.h"

#include <csignal>
#include <ctime>

namespace assay::cli {

namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// How often the watching thread looks whether it may end.
constexpr std::timespec kLook{.tv_sec = 0, .tv_nsec = 100'000'000};

}  // namespace

SignalWatch::SignalWatch(std::chrono::seconds grace) : grace_(grace) {
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = std::jthread([this](const std::stop_token& end) { watch(end); });
}

SignalWatch::~SignalWatch() {
  // The signals stay blocked: one that comes this late must not change how the process ends.
  thread_.request_stop();
  thread_.join();
}

void SignalWatch::watch(const std::stop_token& end) {
  using Clock = std::chrono::steady_clock;
  const sigset_t set = watched_signals();
  Clock::time_point limit = Clock::time_point::max();
  while (!end.stop_requested()) {
    if (Clock::now() >= limit) {
      abandon_.request_stop();
    }
    if (sigtimedwait(&set, nullptr, &kLook) < 0) {
      continue;
    }
    if (drain_.stop_requested()) {
      abandon_.request_stop();
    } else {
      limit = Clock::now() + grace_;
      drain_.request_stop();
    }
  }
}

}  // namespace assay::cli
