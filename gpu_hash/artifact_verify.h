// SPDX-License-Identifier: Apache-2.0
// Holds what is on disk against an artifact that is known: what is missing, extra or changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"
#include "schemas/core/outline.h"

namespace assay::gpu_hash {

struct Difference {
  enum class Kind : std::uint8_t {
    kMissing,  // expected, not on disk
    kExtra,    // on disk, not expected; a file that no file entry covers
    kChanged,  // other bytes, size, place or type
  };
  Kind kind;
  std::string file;                   // path in the artifact
  std::optional<std::string> tensor;  // absent for a file entry
  // For kChanged: bytes that differ, from the start of the object; the whole object when no outline
  // tells more. Rounded out to the outline's span.
  std::vector<ByteRange> ranges;
  std::string detail;  // one sentence for people
  bool operator==(const Difference&) const = default;
};

// "missing", "extra", "changed".
[[nodiscard]] std::string_view name(Difference::Kind kind);

struct VerifyOptions {
  // Outline of the expected artifact; it has been checked against the artifact when it was read.
  const Outline* outline = nullptr;
};

struct Verified {
  std::vector<Difference> differences;  // none: the bytes are those of the artifact
  std::uint64_t bytes = 0;              // hashed
  double seconds = 0;
  EngineInfo engine;
};

// Hashes the directory or file at `path` as `expected` was hashed and compares. Differences are a
// result, not an error; a safetensors file that no longer parses counts as changed tensors. A
// single file may have another name than in `expected` when both consist of one file. Files that
// `expected` has no file entry of and its parameters do not leave out are extra, without being
// hashed: an artifact of tensors alone is never found to be the same.
// Errors: those of hash_artifact().
[[nodiscard]] Result<Verified> verify_artifact(const std::filesystem::path& path,
                                               const Artifact& expected,
                                               const VerifyOptions& options, Engine& engine,
                                               const Progress& progress = {},
                                               const std::stop_token& stop = {});

// Compares two artifacts with the same parameters, in order of entries. The outlines (digests per
// entry, in order of entries, at `span`) may be null.
[[nodiscard]] std::vector<Difference> compare_artifacts(
    const Artifact& expected, const std::vector<std::vector<Digest>>* expected_outlines,
    const Artifact& actual, const std::vector<std::vector<Digest>>* actual_outlines,
    std::uint64_t span);

}  // namespace assay::gpu_hash
