// SPDX-License-Identifier: Apache-2.0
// Functions that the verbs which hash a model share: options, the engine, progress, and the
// fallback when a device fails.
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
// Adds --fallback, for verbs that use with_engine().
void add_fallback_option(const Command& verb, DeviceFlags& flags);
[[nodiscard]] Result<std::unique_ptr<gpu_hash::Engine>> make_engine(const DeviceFlags& flags);

// The fact that the CPU did the work of a device that failed.
struct Fallback {
  std::string device;  // in the form of --device
  Error error;         // error of the device
};

// Calls `work` with the engine that `flags` ask for. When a device fails, its error is returned,
// unless --fallback cpu was given. With --fallback cpu a message goes to stderr, and `work` is
// called again from its beginning with the CPU engine. Results of the failed device must then not
// be used. Only errors of the device count (device-failed, device-self-test-failed,
// device-not-found).
[[nodiscard]] Status with_engine(const DeviceFlags& flags,
                                 const std::function<Status(gpu_hash::Engine&)>& work,
                                 std::optional<Fallback>& fallback);
// Adds "fallback": {"device","error"} when `fallback` is present.
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

// Adds PATH, and the options for device, parameters and the objects to hash.
void add_hash_options(const Command& verb, HashFlags& flags);
// Makes the options of hashing from the flags. Adds each pattern of kUsualIgnore whose file or
// directory exists to the ignore patterns. Such files lie in a model without being a part of it.
// Prints each added pattern on stderr, because the user did not ask for it.
[[nodiscard]] Result<gpu_hash::ArtifactOptions> artifact_options(const Context& context,
                                                                 const HashFlags& flags);

// Hashes with a progress bar. `fallback` is as in with_engine().
[[nodiscard]] Result<gpu_hash::HashedArtifact> hash_with_progress(
    const Context& context, const std::string& path, const gpu_hash::ArtifactOptions& options,
    const DeviceFlags& device, std::optional<Fallback>& fallback);

// Returns
// {"root","artifact","parameters","objects","bytes","seconds","device","device_name","driver"}.
[[nodiscard]] Json hashed_json(const gpu_hash::HashedArtifact& hashed);
// Returns "12 files, 30 tensors, 1.20 GB hashed in 0.4 s (3.00 GB/s) on cpu (...)".
[[nodiscard]] std::string hashed_summary(const gpu_hash::HashedArtifact& hashed);
[[nodiscard]] std::string rate_summary(std::uint64_t bytes, double seconds,
                                       const gpu_hash::EngineInfo& engine);

[[nodiscard]] Json entries_json(const std::vector<Entry>& entries);
// Returns "3 files, 2 tensors".
[[nodiscard]] std::string count_entries(const std::vector<Entry>& entries);

}  // namespace assay::cli
