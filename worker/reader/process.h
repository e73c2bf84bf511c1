// SPDX-License-Identifier: Apache-2.0
// A child process that is connected with this process by one socket.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "worker/pace.h"

namespace assay::worker {

// The number of the socket's descriptor in the child.
inline constexpr int kReaderSocket = 3;

// Not thread-safe.
class ChildProcess {
 public:
  // Starts `program` (a path) with these arguments. In the child, `socket` has the number
  // kReaderSocket, standard input and output are /dev/null, and standard error is that of this
  // process. The child inherits no other descriptor, no blocked signal, and no environment variable
  // ASSAY_*. It has a process group of its own. Errors: internal.
  [[nodiscard]] static Result<ChildProcess> start(const std::string& program,
                                                  const std::vector<std::string>& arguments,
                                                  const Descriptor& socket);
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

}  // namespace assay::worker
