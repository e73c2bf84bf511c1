// SPDX-License-Identifier: Apache-2.0
#include "tests/support/killed_calls.h"

#include <atomic>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace assay::test {
namespace {

constexpr int kKilled = 99;
// The process ends before the call with this number; none is counted while it is negative.
std::atomic<int> calls_left = -1;

void count_call() {
  if (calls_left >= 0 && calls_left-- == 0) {
    ::_exit(kKilled);
  }
}

}  // namespace

bool killed_at(int call, const std::function<bool()>& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    calls_left = call;
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_NE(WEXITSTATUS(status), 1) << "it failed";
  return WEXITSTATUS(status) == kKilled;
}

}  // namespace assay::test

// What the store and SQLite make durable goes through these.
#pragma GCC visibility push(default)
extern "C" {
int rename(const char* from, const char* to) noexcept {
  assay::test::count_call();
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
int fsync(int file) {
  assay::test::count_call();
  return static_cast<int>(::syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  assay::test::count_call();
  return static_cast<int>(::syscall(SYS_fdatasync, file));
}
}
#pragma GCC visibility pop
