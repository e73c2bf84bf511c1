// SPDX-License-Identifier: Apache-2.0
// Options of verbs that hash on a device: which device, and the fallback when the device fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "gpu_hash/engine.h"

namespace assay::cli {

struct DeviceFlags {
  std::string device = "auto";
  std::uint64_t threads = 0;
  std::string fallback = "none";
};

void add_device_options(const Command& verb, DeviceFlags& flags);
// Adds --fallback, for verbs that use with_engine().
void add_fallback_option(const Command& verb, DeviceFlags& flags);
// `batch_bytes` is EngineOptions::batch_bytes (gpu_hash/dispatch.h).
[[nodiscard]] Result<std::unique_ptr<gpu_hash::Engine>> make_engine(const DeviceFlags& flags,
                                                                    std::uint64_t batch_bytes = 0);

// The fact that the CPU did the work of a device that failed.
struct Fallback {
  std::string device;  // in the form of --device
  Error error;         // error of the device
};

// Calls `work` with the engine that `flags` ask for. When a device fails, returns its error, unless
// --fallback cpu was given. With --fallback cpu prints a message to stderr and calls `work` a
// second time, with the CPU engine. `work` must then start from its beginning, and must not use
// results of the failed device. The fallback is used only for the errors device-failed,
// device-self-test-failed and device-not-found.
[[nodiscard]] Status with_engine(const DeviceFlags& flags,
                                 const std::function<Status(gpu_hash::Engine&)>& work,
                                 std::optional<Fallback>& fallback);
// Adds "fallback": {"device","error"} when `fallback` is present.
void add_fallback(Json& json, const std::optional<Fallback>& fallback);

}  // namespace assay::cli
