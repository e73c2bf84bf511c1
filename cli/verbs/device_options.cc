// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/device_options.h"

#include <utility>

#include "cli/output.h"
#include "client/files.h"
#include "gpu_hash/dispatch.h"
#include "gpu_hash/driver_process.h"

namespace assay::cli {
namespace {

// The verb of the processes in which drivers run, and its option.
constexpr const char* kDriverVerb = "driver";
constexpr const char* kVendorsOption = "--vendors";

Status try_engine(const Context& context, const DeviceFlags& flags,
                  const std::function<Status(gpu_hash::Engine&)>& work, bool& on_cpu) {
  ASSAY_ASSIGN(const auto drivers, make_drivers(context, flags.timeout_seconds));
  ASSAY_ASSIGN(const std::unique_ptr<gpu_hash::Engine> engine, make_engine(*drivers, flags));
  on_cpu = engine->info().id == "cpu";
  return work(*engine);
}

}  // namespace

void add_device_options(const Command& verb, DeviceFlags& flags) {
  verb.option(
      "--device", flags.device, "DEVICE",
      "auto, cpu, opencl, opencl:N, opencl:NAME, or several that share the work: opencl:all, "
      "opencl:0,2; see 'assay device list' (default auto)");
  verb.option("--threads", flags.threads, "N", "CPU threads (default: one per core)");
  add_timeout_option(verb, flags.timeout_seconds);
}

void add_timeout_option(const Command& verb, std::uint64_t& seconds) {
  verb.option("--device-timeout", seconds, "SECONDS",
              "how long the driver of a device may say nothing before it counts as failed "
              "(default 300)");
}

Result<std::unique_ptr<gpu_hash::Drivers>> make_drivers(const Context& context,
                                                        std::uint64_t timeout_seconds) {
  if (timeout_seconds == 0 || timeout_seconds > 86'400) {
    return fail(ErrorCode::kUsage, "--device-timeout is 1 to 86400 seconds");
  }
  gpu_hash::DriverProgram program{.words = {"assay", "device", kDriverVerb},
                                  .vendors_option = kVendorsOption,
                                  .build = context.version};
  program.times.silent = std::chrono::seconds(timeout_seconds);
  return gpu_hash::make_driver_processes(std::move(program));
}

Result<std::unique_ptr<gpu_hash::Engine>> make_engine(gpu_hash::Drivers& drivers,
                                                      const DeviceFlags& flags,
                                                      std::uint64_t batch_bytes) {
  constexpr std::uint64_t kMaxThreads = 1024;
  if (flags.threads > kMaxThreads) {
    return fail(ErrorCode::kUsage, "At most 1024 threads");
  }
  ASSAY_ASSIGN(const gpu_hash::DeviceChoice choice, gpu_hash::parse_device(flags.device));
  gpu_hash::EngineOptions options;
  options.threads = static_cast<unsigned>(flags.threads);
  options.batch_bytes = batch_bytes;
  return gpu_hash::make_engine(drivers, choice, options);
}

bool is_about_device(ErrorCode code) {
  return code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceSelfTestFailed ||
         code == ErrorCode::kDeviceNotFound;
}

bool falls_back(const DeviceFlags& flags) {
  return flags.fallback == "cpu" || flags.device == "auto";
}

void add_driver(const Command& group, Context& context) {
  auto vendors = std::make_shared<std::string>();
  const Command verb = group.add(kDriverVerb, "Call drivers for the program that starts this");
  verb.hide();
  verb.option(kVendorsOption, *vendors, "FILE", "take the driver of this .icd file alone");
  verb.action([vendors, &context]() -> Result<Exit> {
    client::protect_process();
    ASSAY_TRY(
        gpu_hash::serve_driver(Descriptor(gpu_hash::kDriverSocket), context.version, *vendors));
    return Exit::kYes;
  });
}

void add_fallback_option(const Command& verb, DeviceFlags& flags) {
  verb.choice("--fallback", flags.fallback, {"none", "cpu"},
              "when the device fails: end with an error, or hash everything again on the CPU and "
              "say so in the output (default none; --device auto always does)");
}

Status with_engine(const Context& context, const DeviceFlags& flags,
                   const std::function<Status(gpu_hash::Engine&)>& work,
                   std::optional<Fallback>& fallback) {
  bool on_cpu = flags.device == "cpu";
  Status result = try_engine(context, flags, work, on_cpu);
  if (result || on_cpu || !falls_back(flags) || !is_about_device(result.error().code)) {
    return result;
  }
  warning("the device failed, so the CPU hashes everything: " + to_string(result.error()));
  fallback = Fallback{flags.device, std::move(result).error()};
  DeviceFlags cpu = flags;
  cpu.device = "cpu";
  return try_engine(context, cpu, work, on_cpu);
}

void add_fallback(Json& json, const std::optional<Fallback>& fallback) {
  if (fallback) {
    json["fallback"] = {{"device", fallback->device}, {"error", error_json(fallback->error)}};
  }
}

}  // namespace assay::cli
