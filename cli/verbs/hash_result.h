// SPDX-License-Identifier: Apache-2.0
// Hashes a model with a progress bar, and shows the result as JSON and as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/verbs/device_options.h"
#include "gpu_hash/artifact_hash.h"

namespace assay::cli {

// Hashes with a progress bar. `fallback` is as in with_engine().
[[nodiscard]] Result<gpu_hash::HashedArtifact> hash_with_progress(
    const Context& context, const std::string& path, const gpu_hash::ArtifactOptions& options,
    const DeviceFlags& device, std::optional<Fallback>& fallback);

// Prints on stderr what the model lacks, which files are pickles, names that some file systems take
// for one, and what kept its files from being written meanwhile.
void tell_findings(const Context& context, const gpu_hash::HashedArtifact& hashed);
// Prints on stderr how many files were protected by what. Prints nothing when no file was read.
void tell_protection(const Context& context, const ReadProtection& protection);
// Adds "read_protection" when a file was read.
void add_protection(Json& json, const ReadProtection& protection);

// Adds "executable_format", the paths of files that run code when they are loaded, when there are
// any.
void add_pickles(Json& json, const std::vector<std::string>& pickles);
// Returns the first names, and how many more there are.
[[nodiscard]] std::string few_names(const std::vector<std::string>& names);

// Returns
// {"root","artifact","parameters","objects","bytes","seconds","device","device_name","driver"},
// "read_protection" when a file was read, and "lacks" and "executable_format" when there are any.
[[nodiscard]] Json hashed_json(const gpu_hash::HashedArtifact& hashed);
// Returns "12 files, 30 tensors, 1.20 GB hashed in 0.4 s (3.00 GB/s) on cpu (...)".
[[nodiscard]] std::string hashed_summary(const gpu_hash::HashedArtifact& hashed);
[[nodiscard]] std::string rate_summary(std::uint64_t bytes, double seconds,
                                       const gpu_hash::EngineInfo& engine);

[[nodiscard]] Json entries_json(const std::vector<Entry>& entries);
// Returns "3 files, 2 tensors".
[[nodiscard]] std::string count_entries(const std::vector<Entry>& entries);

}  // namespace assay::cli
