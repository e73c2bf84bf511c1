// SPDX-License-Identifier: Apache-2.0
// Limits of this process, lowered for as long as these objects live: how the system says no.
#pragma once

#include <csignal>
#include <fcntl.h>
#include <stdexcept>
#include <sys/resource.h>

namespace assay::test {

class LoweredLimit {
 public:
  LoweredLimit(__rlimit_resource_t what, rlim_t value) : what_(what) {
    if (::getrlimit(what_, &before_) != 0) {
      throw std::runtime_error("getrlimit");
    }
    rlimit lowered = before_;
    lowered.rlim_cur = value;
    if (::setrlimit(what_, &lowered) != 0) {
      throw std::runtime_error("setrlimit");
    }
  }
  ~LoweredLimit() { (void)::setrlimit(what_, &before_); }
  LoweredLimit(const LoweredLimit&) = delete;
  LoweredLimit& operator=(const LoweredLimit&) = delete;

 private:
  __rlimit_resource_t what_;
  rlimit before_{};
};

// Files, also those in memory, have at most this many bytes; a write beyond that is cut short.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes)
      : handler_(std::signal(SIGXFSZ, SIG_IGN)), limit_(RLIMIT_FSIZE, bytes) {}
  ~FileSizeLimit() { (void)std::signal(SIGXFSZ, handler_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  LoweredLimit limit_;
};

// Returns a limit of descriptors that leaves room for exactly `more` new ones.
inline rlim_t descriptors_and(int more) {
  int limit = 0;
  for (int left = more; left > 0 || ::fcntl(limit, F_GETFD) >= 0; ++limit) {
    left -= ::fcntl(limit, F_GETFD) < 0 ? 1 : 0;
  }
  return static_cast<rlim_t>(limit);
}

}  // namespace assay::test
