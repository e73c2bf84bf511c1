// SPDX-License-Identifier: Apache-2.0
// Waits until a thread of this process waits: of the queue that it stands in then nobody is told.
#pragma once

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace assay::test {

class Asleep {
 public:
  // The thread calls this right before the call in which it waits.
  void about_to_wait() { thread_ = ::gettid(); }

  // Returns once that thread sleeps in the kernel; a failure after a minute. Only /proc says that,
  // and gives no event, so this looks again and again.
  void await() const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!sleeps()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the thread does not wait";
      std::this_thread::yield();
    }
  }

 private:
  [[nodiscard]] bool sleeps() const {
    std::ifstream file("/proc/self/task/" + std::to_string(thread_) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = text.rfind(") ");  // a name may hold anything
    return name_end != std::string::npos && text.at(name_end + 2) == 'S';
  }

  std::atomic<pid_t> thread_ = 0;
};

}  // namespace assay::test
