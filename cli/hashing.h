// SPDX-License-Identifier: Apache-2.0
// What the verbs that hash a model share: options, the engine, progress.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/engine.h"

namespace assay::cli {

struct DeviceFlags {
  std::string device = "auto";
  std::uint64_t threads = 0;
};

void add_device_options(const Command& verb, DeviceFlags& flags);
[[nodiscard]] Result<std::unique_ptr<gpu_hash::Engine>> make_engine(const DeviceFlags& flags);

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
[[nodiscard]] Result<gpu_hash::ArtifactOptions> artifact_options(const HashFlags& flags);

// Hashes with a progress bar.
[[nodiscard]] Result<gpu_hash::HashedArtifact> hash_with_progress(
    const Context& context, const std::string& path, const gpu_hash::ArtifactOptions& options,
    const DeviceFlags& device);

// {"root","artifact","parameters","objects","bytes","seconds","device","device_name","driver"}.
[[nodiscard]] Json hashed_json(const gpu_hash::HashedArtifact& hashed);
// "12 files, 30 tensors, 1.20 GB hashed in 0.4 s (3.00 GB/s) on cpu (...)".
[[nodiscard]] std::string hashed_summary(const gpu_hash::HashedArtifact& hashed);
[[nodiscard]] std::string rate_summary(std::uint64_t bytes, double seconds,
                                       const gpu_hash::EngineInfo& engine);

[[nodiscard]] Json entries_json(const std::vector<Entry>& entries);
// "3 files, 2 tensors".
[[nodiscard]] std::string count_entries(const std::vector<Entry>& entries);
// "model.safetensors", or "model.safetensors#layer.0.weight".
[[nodiscard]] std::string entry_label(const Entry& entry);

}  // namespace assay::cli
