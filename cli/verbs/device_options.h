// SPDX-License-Identifier: Apache-2.0
// Options of verbs that hash on a device: which device, and the fallback when the device fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "gpu_hash/drivers.h"
#include "gpu_hash/engine.h"

namespace assay::cli {

struct DeviceFlags {
  std::string device = "auto";
  std::uint64_t threads = 0;
  std::uint64_t timeout_seconds = 300;  // --device-timeout
  std::string fallback = "none";
};

void add_device_options(const Command& verb, DeviceFlags& flags);
// Adds --fallback, for verbs that use with_engine().
void add_fallback_option(const Command& verb, DeviceFlags& flags);
// Adds --device-timeout alone.
void add_timeout_option(const Command& verb, std::uint64_t& seconds);

// Returns the access to drivers in processes of this program. Errors: usage for --device-timeout.
[[nodiscard]] Result<std::unique_ptr<gpu_hash::Drivers>> make_drivers(
    const Context& context, std::uint64_t timeout_seconds);
// Makes the engine that `flags` ask for. `batch_bytes` is EngineOptions::batch_bytes
// (gpu_hash/dispatch.h).
[[nodiscard]] Result<std::unique_ptr<gpu_hash::Engine>> make_engine(gpu_hash::Drivers& drivers,
                                                                    const DeviceFlags& flags,
                                                                    std::uint64_t batch_bytes = 0);
// Returns whether an error is about a device, so that another device may do better: device-failed,
// device-self-test-failed, device-not-found.
[[nodiscard]] bool is_about_device(ErrorCode code);
// Returns whether the CPU takes over from a device that fails: with --fallback cpu, and with
// --device auto, which names no device.
[[nodiscard]] bool falls_back(const DeviceFlags& flags);

// `assay device driver`, which the help leaves out: the process in which drivers run.
void add_driver(const Command& group, Context& context);

// The fact that the CPU did the work of a device that failed.
struct Fallback {
  std::string device;  // in the form of --device
  Error error;         // error of the device
};

// Calls `work` with the engine that `flags` ask for. When a device fails (is_about_device()),
// returns its error, unless falls_back(). Then prints a message to stderr and calls `work` a second
// time, with the CPU engine. `work` must then start from its beginning, and must not use results of
// the failed device.
[[nodiscard]] Status with_engine(const Context& context, const DeviceFlags& flags,
                                 const std::function<Status(gpu_hash::Engine&)>& work,
                                 std::optional<Fallback>& fallback);
// Adds "fallback": {"device","error"} when `fallback` is present.
void add_fallback(Json& json, const std::optional<Fallback>& fallback);

}  // namespace assay::cli
