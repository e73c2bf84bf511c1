// SPDX-License-Identifier: Apache-2.0
// Waits for what is written in a folder, by another thread or another process.
#pragma once

#include <chrono>
#include <functional>
#include <poll.h>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace assay::test {

class FolderEvents {
 public:
  // From here on, whatever happens to the files of `folder` wakes await().
  explicit FolderEvents(const std::string& folder) : events_(::inotify_init1(IN_CLOEXEC)) {
    EXPECT_GE(::inotify_add_watch(events_, folder.c_str(),
                                  IN_CREATE | IN_MODIFY | IN_MOVED_TO | IN_CLOSE_WRITE | IN_DELETE),
              0);
  }
  ~FolderEvents() { ::close(events_); }
  FolderEvents(const FolderEvents&) = delete;
  FolderEvents& operator=(const FolderEvents&) = delete;

  // Returns whether `done` held within a minute. It is asked now, and after each event.
  [[nodiscard]] bool await(const std::function<bool()>& done) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!done()) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
      pollfd one{events_, POLLIN, 0};
      if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0) {
        return done();
      }
      char events[4096];  // which ones, does not matter
      (void)!::read(events_, events, sizeof events);
    }
    return true;
  }

 private:
  int events_;
};

}  // namespace assay::test
