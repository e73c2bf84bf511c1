// SPDX-License-Identifier: Apache-2.0
// A child process with one socket.
#pragma once

#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/posix/descriptor.h"
#include "worker/pace.h"

namespace assay::worker {

// The descriptor that a child finds its socket at.
inline constexpr int kReaderSocket = 3;

// Not thread-safe.
class ChildProcess {
 public:
  // Starts `program` (a path) with these arguments. The child has `socket` as kReaderSocket,
  // nothing to read as its input and nowhere to write to but the standard error of this process; it
  // inherits no other descriptor, no blocked signal, and no variable ASSAY_*. It is a process group
  // of its own. Errors: internal.
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
  // Waits for the end of the process; its memory and descriptors are gone by then. Returns how it
  // ended, in words; an empty text at `deadline`.
  [[nodiscard]] std::string wait(Steady::time_point deadline);

 private:
  ChildProcess(pid_t pid, Descriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;  // -1: its end was seen
  Descriptor pidfd_;
};

}  // namespace assay::worker
