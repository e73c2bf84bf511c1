// SPDX-License-Identifier: Apache-2.0
// The times file beside a manifest: sizes and modification times of the model's files when it was
// hashed. The times file is not signed and not a part of the manifest. Only 'manifest create
// --reuse' reads the times file, because the user who gives this option vouches for the file.
#pragma once

#include <string>

#include "gpu_hash/artifact_hash.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::cli {

// Returns "llama.json.times" for the manifest "llama.json".
[[nodiscard]] std::string times_file(const std::string& manifest);

// Writes times_file(manifest). `began` is the time at which hashing began.
[[nodiscard]] Status write_times(const std::string& manifest,
                                 const gpu_hash::HashedArtifact& hashed, Timestamp began);

// Reads the manifest, its times file, and its outline (schemas/core/outline.h) unless `outline` is
// empty. Signatures are not checked. Errors: file-unreadable when a file is missing;
// schema-violation; malformed-json; subject-mismatch when the times belong to another artifact;
// malformed-outline, also for an outline of another artifact.
[[nodiscard]] Result<gpu_hash::Reuse> load_reuse(const std::string& manifest,
                                                 const std::string& outline);

}  // namespace assay::cli
