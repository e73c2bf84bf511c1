// SPDX-License-Identifier: Apache-2.0
// The file beside a manifest that says how the model's files looked when it was hashed: sizes and
// modification times. It is not signed and no part of the manifest; only 'manifest create --reuse'
// reads it, for a caller who vouches for it.
#pragma once

#include <string>

#include "gpu_hash/artifact_hash.h"
#include "schemas/core/clock.h"
#include "schemas/core/error.h"

namespace assay::cli {

// "llama.json.times" for the manifest "llama.json".
[[nodiscard]] std::string times_file(const std::string& manifest);

// Writes times_file(manifest); hashing began at `began`.
[[nodiscard]] Status write_times(const std::string& manifest,
                                 const gpu_hash::HashedArtifact& hashed, Timestamp began);

// The manifest, its times file, and its outline unless that is "". file-unreadable when one of them
// is missing; schema-violation, malformed-json; subject-mismatch when the times are those of
// another artifact; malformed-outline, also for an outline of another artifact. Signatures are not
// checked.
[[nodiscard]] Result<gpu_hash::Reuse> load_reuse(const std::string& manifest,
                                                 const std::string& outline);

}  // namespace assay::cli
