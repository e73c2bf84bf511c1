// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs/hashing.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

#include "cli/output.h"
#include "cli/progress.h"
#include "gpu_hash/dispatch.h"

namespace assay::cli {

namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%.*f", digits, value));
  return text.data();
}

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

Result<std::unique_ptr<gpu_hash::Engine>> make_engine(const DeviceFlags& flags) {
  constexpr std::uint64_t kMaxThreads = 1024;
  if (flags.threads > kMaxThreads) {
    return fail(ErrorCode::kUsage, "At most 1024 threads");
  }
  ASSAY_ASSIGN(const gpu_hash::DeviceChoice choice, gpu_hash::parse_device(flags.device));
  gpu_hash::EngineOptions options;
  options.threads = static_cast<unsigned>(flags.threads);
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

void add_hash_options(const Command& verb, HashFlags& flags) {
  verb.argument("PATH", flags.path, "directory or file to hash");
  add_device_options(verb, flags.device);
  add_fallback_option(verb, flags.device);
  verb.choice("--hash", flags.hash, {"sha256", "sha384"}, "hash algorithm (default sha256)");
  verb.option("--chunk-size", flags.chunk_size, "BYTES",
              "a power of two from 4096 to 1048576 (default 16384)");
  verb.choice("--objects", flags.objects, {"files", "tensors", "both"},
              "what gets an entry: whole files, the tensors in safetensors files, or both (default "
              "both)");
  verb.option("--ignore", flags.ignore, "PATTERN",
              "leave out what matches: '*.tmp' at any depth, '/cache' at the top. The root binds "
              "the patterns; may be given again");
  verb.flag("--follow-symlinks", flags.follow_symlinks,
            "follow symbolic links that stay inside PATH; without it they are refused");
}

Result<gpu_hash::ArtifactOptions> artifact_options(const Context& context, const HashFlags& flags) {
  gpu_hash::ArtifactOptions options;
  ASSAY_ASSIGN(options.parameters.hash, hash_algorithm_from(flags.hash));
  if (flags.chunk_size > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::kUsage, "The chunk size must be a power of two from 4096 to 1048576");
  }
  options.parameters.chunk_size = static_cast<std::uint32_t>(flags.chunk_size);
  options.parameters.follow_symlinks = flags.follow_symlinks;
  std::vector<std::string>& ignore = options.parameters.ignore;
  ignore = flags.ignore;
  for (std::string& pattern : gpu_hash::usual_patterns(flags.path)) {
    if (std::ranges::find(ignore, pattern) == ignore.end()) {
      message(context, "left out, and bound by the root: " + pattern);
      ignore.push_back(std::move(pattern));
    }
  }
  sort_ignore(ignore);
  ASSAY_TRY(check(options.parameters));
  ASSAY_ASSIGN(options.objects, parse_objects(flags.objects));
  return options;
}

Result<gpu_hash::HashedArtifact> hash_with_progress(const Context& context, const std::string& path,
                                                    const gpu_hash::ArtifactOptions& options,
                                                    const DeviceFlags& device,
                                                    std::optional<Fallback>& fallback) {
  std::optional<gpu_hash::HashedArtifact> hashed;
  const auto work = [&](gpu_hash::Engine& engine) -> Status {
    Progress progress(context, "hashing");
    ASSAY_ASSIGN(hashed, gpu_hash::hash_artifact(path, options, engine,
                                                 [&](std::uint64_t done, std::uint64_t total) {
                                                   progress.update(done, total);
                                                 }));
    return {};
  };
  ASSAY_TRY(with_engine(device, work, fallback));
  return *std::move(hashed);
}

Json entries_json(const std::vector<Entry>& entries) {
  Json list = Json::array();
  for (const Entry& entry : entries) {
    list.push_back(to_json(entry));
  }
  return list;
}

Json hashed_json(const gpu_hash::HashedArtifact& hashed) {
  return {{"root", hashed.id.root().hex()},
          {"artifact", hashed.id.text()},
          {"parameters", to_json(hashed.artifact.parameters)},
          {"objects", entries_json(hashed.artifact.entries)},
          {"bytes", hashed.bytes},
          {"seconds", hashed.seconds},
          {"device", hashed.engine.id},
          {"device_name", hashed.engine.device},
          {"driver", hashed.engine.driver}};
}

std::string count_entries(const std::vector<Entry>& entries) {
  std::uint64_t files = 0;
  for (const Entry& entry : entries) {
    files += std::holds_alternative<FileEntry>(entry) ? 1U : 0U;
  }
  const std::uint64_t tensors = entries.size() - files;
  std::string text = files > 0 ? counted(files, "file") : "";
  if (tensors > 0) {
    text += (text.empty() ? "" : ", ") + counted(tensors, "tensor");
  }
  return text;
}

std::string rate_summary(std::uint64_t bytes, double seconds, const gpu_hash::EngineInfo& engine) {
  const auto amount = static_cast<double>(bytes);
  std::string text = human_bytes(amount) + " in " + fixed(seconds, 2) + " s";
  if (seconds > 0) {
    text += " (" + human_bytes(amount / seconds) + "/s)";
  }
  return text + " on " + engine.id + " (" + engine.device + ", " + engine.driver + ")";
}

std::string hashed_summary(const gpu_hash::HashedArtifact& hashed) {
  return count_entries(hashed.artifact.entries) + ", " +
         rate_summary(hashed.bytes, hashed.seconds, hashed.engine);
}

}  // namespace assay::cli
