// SPDX-License-Identifier: Apache-2.0
// A child process that shares with this process the descriptors that it is given, and no others.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"

namespace assay {

// The number that the first given descriptor has in the child; the others follow.
inline constexpr int kFirstChildDescriptor = 3;

struct ChildProgram {
  std::string path;
  std::vector<std::string> words;    // of its command line, beginning with its name
  bool inherits_environment = true;  // never variables that begin with ASSAY_; false: none at all
  bool inherits_errors = true;       // standard error; false: /dev/null
  int errors = -1;  // becomes standard error (borrowed); -1: as `inherits_errors` says
  int output = -1;  // becomes standard output (borrowed); -1: /dev/null
};

// Not thread-safe.
class ChildProcess {
 public:
  using Steady = std::chrono::steady_clock;

  // Starts a program. In the child, `descriptors` (borrowed) have the numbers from
  // kFirstChildDescriptor on, and standard input is /dev/null. The child inherits no other
  // descriptor and no blocked signal, and has a process group of its own. Errors: internal.
  [[nodiscard]] static Result<ChildProcess> start(const ChildProgram& program,
                                                  std::span<const int> descriptors);
  ChildProcess(ChildProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  // Kills the process and waits for its end.
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const { return pid_; }
  void kill() const;
  // Waits until the process has ended and the kernel has released its memory and descriptors.
  // Returns words that say how it ended, such as "exit status 1". Empty when it has not ended at
  // `deadline`.
  [[nodiscard]] std::string wait(Steady::time_point deadline);

 private:
  ChildProcess(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;  // -1: wait() has returned how it ended
  Descriptor pidfd_;
};

}  // namespace assay
