// SPDX-License-Identifier: Apache-2.0
// The main function of a process that reads memory: does what the node agent asks for through one
// socket, until the socket is closed. Several checks run at the same time, each in a thread of its
// own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpu_hash/engine.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"
#include "schemas/posix/child_process.h"
#include "schemas/posix/descriptor.h"
#include "worker/reader/wire.h"

namespace assay::worker {

// Where the kernel must end a process of this container for want of memory, it ends the calling one
// first, and not the node agent. A no-op where the system does not allow it.
void end_first_without_memory();

// The number of the socket's descriptor in that process.
inline constexpr int kReaderSocket = kFirstChildDescriptor;

struct ServeSetup {
  std::string build{};
  // Makes the engine; called once.
  std::function<Result<std::unique_ptr<gpu_hash::Engine>>()> make_engine{};
  // For tests: called before each message is sent, and after each message is received.
  std::function<void(const wire::FromReader&)> before_sending = [](const wire::FromReader&) {};
  std::function<void(const wire::ToReader&)> on_message = [](const wire::ToReader&) {};
};

// Returns only when it cannot begin: with the error of `make_engine`, or with usage when `socket`
// is no socket. Otherwise the whole process ends when the socket is closed, when the node agent
// violates the protocol, or when the thread that started this process ends. Running threads are not
// waited for, because a driver may block them.
[[nodiscard]] Status serve_reader(Descriptor socket, const ServeSetup& setup, Random& random);

}  // namespace assay::worker
