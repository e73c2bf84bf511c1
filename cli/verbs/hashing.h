// SPDX-License-Identifier: Apache-2.0
// What the verbs that hash a model share: options, the engine, progress, what happens when a device
// fails.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/engine.h"

namespace assay::cli {

struct DeviceFlags {
  std::string device = "auto";
  std::uint64_t threads = 0;
  std::string fallback = "none";
};

void add_device_options(const Command& verb, DeviceFlags& flags);
// For verbs that use with_engine().
void add_fallback_option(const Command& verb, DeviceFlags& flags);
[[nodiscard]] Result<std::unique_ptr<gpu_hash::Engine>> make_engine(const DeviceFlags& flags);

// That the CPU did what a device was asked to do.
struct Fallback {
  std::string device;  // as --device named it
  Error error;         // of the device
};

// Calls `work` with the engine that `flags` ask for. A device that fails is an error, unless
// --fallback cpu was given: then stderr says so, and `work` is called again, from its beginning and
// with the CPU engine. Nothing that the device computed may be used after that. Only errors of the
// device count (device-failed, device-self-test-failed, device-not-found).
[[nodiscard]] Status with_engine(const DeviceFlags& flags,
                                 const std::function<Status(gpu_hash::Engine&)>& work,
                                 std::optional<Fallback>& fallback);
// Adds "fallback": {"device","error"} when there was one.
void add_fallback(Json& json, const std::optional<Fallback>& fallback);

struct HashFlags {
  std::string path;
  DeviceFlags device;
  std::string hash = "sha256";
  std::uint64_t chunk_size = kDefaultChunkSize;
  std::string objects = "both";
  std::vector<std::string> ignore;
  bool follow_symlinks = false;
};

// PATH, device, parameters and what to look at.
void add_hash_options(const Command& verb, HashFlags& flags);
// With what lies in a model without being a part of it (kUsualIgnore) among the ignore patterns,
// where it is there. Says on stderr what is left out that nobody asked for.
[[nodiscard]] Result<gpu_hash::ArtifactOptions> artifact_options(const Context& context,
                                                                 const HashFlags& flags);

// Hashes with a progress bar. `fallback` as with_engine() says.
[[nodiscard]] Result<gpu_hash::HashedArtifact> hash_with_progress(
    const Context& context, const std::string& path, const gpu_hash::ArtifactOptions& options,
    const DeviceFlags& device, std::optional<Fallback>& fallback);

// {"root","artifact","parameters","objects","bytes","seconds","device","device_name","driver"}.
[[nodiscard]] Json hashed_json(const gpu_hash::HashedArtifact& hashed);
// "12 files, 30 tensors, 1.20 GB hashed in 0.4 s (3.00 GB/s) on cpu (...)".
[[nodiscard]] std::string hashed_summary(const gpu_hash::HashedArtifact& hashed);
[[nodiscard]] std::string rate_summary(std::uint64_t bytes, double seconds,
                                       const gpu_hash::EngineInfo& engine);

[[nodiscard]] Json entries_json(const std::vector<Entry>& entries);
// "3 files, 2 tensors".
[[nodiscard]] std::string count_entries(const std::vector<Entry>& entries);

}  // namespace assay::cli
