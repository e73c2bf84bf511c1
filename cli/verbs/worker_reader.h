// SPDX-License-Identifier: Apache-2.0
// The processes in which `assay worker run` has memory read, and their verb.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cli/command.h"
#include "cli/verbs/device_options.h"
#include "gpu_hash/drivers.h"
#include "worker/parts.h"
#include "worker/reader/readers.h"

namespace assay::cli {

// `assay worker reader`, which the help leaves out: the node agent starts it, with a socket.
void add_reader(const Command& group, Context& context);

// How `assay worker run` starts such processes; what becomes of them is told as events of `parts`,
// and counted. `threads` is that of DeviceFlags, `silent_seconds` is --reader-timeout.
[[nodiscard]] worker::ReadersSetup readers_of(const Context& context,
                                              std::optional<std::uint64_t> silent_seconds,
                                              std::uint64_t threads, const worker::Parts& parts);

// What hashes files.
struct WorkerEngines {
  std::vector<gpu_hash::DeviceInfo> devices;  // of the machine
  std::unique_ptr<gpu_hash::Engine> engine;
  // The CPU engine, where it takes over from a device that fails (falls_back()); null: it does not,
  // or `engine` is one.
  std::unique_ptr<gpu_hash::Engine> fallback;
};

// Where processes register memory (`registers`), other processes read that, each with a context of
// its own on the device: the engine keeps none there while it hashes no files. `context` must
// outlive the engines. Errors: of make_engine(), when the CPU does not take over.
[[nodiscard]] Result<WorkerEngines> make_worker_engines(const Context& context,
                                                        const DeviceFlags& flags, bool registers);

}  // namespace assay::cli
