// SPDX-License-Identifier: Apache-2.0
// A process that reads memory: does what the node agent asks for through one socket, until that
// ends. Several checks run at the same time, each in a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpu_hash/engine.h"
#include "schemas/core/error.h"
#include "schemas/core/random.h"
#include "schemas/posix/descriptor.h"
#include "worker/reader/wire.h"

namespace assay::worker {

struct ServeSetup {
  std::string build{};
  // Makes the engine; called once.
  std::function<Result<std::unique_ptr<gpu_hash::Engine>>()> make_engine{};
  // For tests: called before each message goes out, and after each one has come.
  std::function<void(const wire::FromReader&)> before_sending = [](const wire::FromReader&) {};
  std::function<void(const wire::ToReader&)> on_message = [](const wire::ToReader&) {};
};

// Returns only when there is no engine, with its error, and when there is no socket (usage). At the
// end of the socket, when the node agent says what makes no sense, and when the thread ends that
// started this process, the whole process ends, without waiting for threads that a driver holds.
[[nodiscard]] Status serve_reader(Descriptor socket, const ServeSetup& setup, Random& random);

}  // namespace assay::worker
