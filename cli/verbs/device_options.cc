// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/device_options.h"

#include <utility>

#include "cli/output.h"
#include "gpu_hash/dispatch.h"

namespace assay::cli {
namespace {

bool is_about_device(ErrorCode code) {
  return code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceSelfTestFailed ||
         code == ErrorCode::kDeviceNotFound;
}

Status try_engine(const DeviceFlags& flags, const std::function<Status(gpu_hash::Engine&)>& work,
                  bool& on_cpu) {
  ASSAY_ASSIGN(const std::unique_ptr<gpu_hash::Engine> engine, make_engine(flags));
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
}

Result<std::unique_ptr<gpu_hash::Engine>> make_engine(const DeviceFlags& flags,
                                                      std::uint64_t batch_bytes) {
  constexpr std::uint64_t kMaxThreads = 1024;
  if (flags.threads > kMaxThreads) {
    return fail(ErrorCode::kUsage, "At most 1024 threads");
  }
  ASSAY_ASSIGN(const gpu_hash::DeviceChoice choice, gpu_hash::parse_device(flags.device));
  gpu_hash::EngineOptions options;
  options.threads = static_cast<unsigned>(flags.threads);
  options.batch_bytes = batch_bytes;
  return gpu_hash::make_engine(choice, options);
}

void add_fallback_option(const Command& verb, DeviceFlags& flags) {
  verb.choice("--fallback", flags.fallback, {"none", "cpu"},
              "when the device fails: end with an error, or hash everything again on the CPU and "
              "say so in the output (default none)");
}

Status with_engine(const DeviceFlags& flags, const std::function<Status(gpu_hash::Engine&)>& work,
                   std::optional<Fallback>& fallback) {
  bool on_cpu = flags.device == "cpu";
  Status result = try_engine(flags, work, on_cpu);
  if (result || on_cpu || flags.fallback != "cpu" || !is_about_device(result.error().code)) {
    return result;
  }
  warning("the device failed, so the CPU hashes everything (--fallback cpu): " +
          to_string(result.error()));
  fallback = Fallback{flags.device, std::move(result).error()};
  DeviceFlags cpu = flags;
  cpu.device = "cpu";
  return try_engine(cpu, work, on_cpu);
}

void add_fallback(Json& json, const std::optional<Fallback>& fallback) {
  if (fallback) {
    json["fallback"] = {{"device", fallback->device}, {"error", error_json(fallback->error)}};
  }
}

}  // namespace assay::cli
