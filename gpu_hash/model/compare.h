// SPDX-License-Identifier: Apache-2.0
// Compares files on disk with the entries of an artifact. Internal to this folder.
#pragma once

#include <stop_token>
#include <vector>

#include "gpu_hash/artifact_verify.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// What verify_files() compares with.
struct Expected {
  const Artifact& artifact;
  const std::vector<std::vector<Digest>>* outlines;  // null: none
  std::uint64_t span;                                // of the outlines, in bytes; 0: none
};

// Hashes `files` as the cuts in `expected` say and returns the differences, without those that the
// names of files show. `expected` must be checked; the names of `files` are those of its entries.
// Errors: those of plan_artifact() and hash_plan().
[[nodiscard]] Result<Verified> verify_files(std::vector<WalkedFile> files, const Expected& expected,
                                            Engine& engine, const Progress& progress,
                                            const std::stop_token& stop);

}  // namespace assay::gpu_hash
