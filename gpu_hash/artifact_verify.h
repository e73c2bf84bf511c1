// SPDX-License-Identifier: Apache-2.0
// Compares the files on disk with a known artifact: what is missing, extra or changed.
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

// One entry or file that differs from the expected artifact.
struct Difference {
  enum class Kind : std::uint8_t {
    kMissing,  // expected, not on disk
    kExtra,    // on disk, not expected: no file entry covers the file
    kChanged,  // other bytes, size, offset or type than expected
  };
  Kind kind;
  std::string file;                   // path in the artifact
  std::optional<std::string> tensor;  // absent for a file entry
  // For kChanged: the bytes that differ, counted from the start of the file or tensor. Without an
  // outline this is all of it, or of the header of a cut file. With an outline
  // (schemas/core/outline.h) the ranges are extended to whole spans of the outline. Empty when only
  // offset or type differ, and for the tensors of a file that does not parse.
  std::vector<ByteRange> ranges;
  std::string detail;  // one sentence for people
  bool operator==(const Difference&) const = default;
};

// Returns "missing", "extra" or "changed".
[[nodiscard]] std::string_view name(Difference::Kind kind);

struct VerifyOptions {
  // Outline of the expected artifact. The caller must have checked that this outline belongs to the
  // artifact. May be null.
  const Outline* outline = nullptr;
};

struct Verified {
  std::vector<Difference> differences;  // empty: the bytes are those of the artifact
  std::uint64_t bytes = 0;              // number of bytes hashed
  double seconds = 0;
  EngineInfo engine;
  ReadProtection read_protection{};  // of the files that were read
};

// Hashes the directory or file at `path` with the parameters and the cuts of `expected` and
// compares the results. Differences are a result, not an error. A file that is cut in `expected`
// and no longer parses is reported as changed, and so are its tensors. Bytes of a tensor that
// differ are reported at the tensor when it is listed, and at their file otherwise. When the model
// at `path` and `expected` each consist of one file, the name of the file may differ. A file is
// extra when `expected` has no file entry for it and the parameters of `expected` do not ignore it.
// Extra files are not hashed. When `expected` has only tensor entries, every file is therefore
// extra. Errors: those of hash_artifact().
[[nodiscard]] Result<Verified> verify_artifact(const std::filesystem::path& path,
                                               const Artifact& expected,
                                               const VerifyOptions& options, Engine& engine,
                                               const Progress& progress = {},
                                               const std::stop_token& stop = {});

// Compares two artifacts that have the same parameters and kinds of entries. Returns the
// differences in the order of the entries. A file whose header is the same is reported only if its
// tensors do not say what differs. The two lists of outlines contain the outline digests of each
// entry for the span `span` (bytes), in the order of entries. Either list may be null.
[[nodiscard]] std::vector<Difference> compare_artifacts(
    const Artifact& expected, const std::vector<std::vector<Digest>>* expected_outlines,
    const Artifact& actual, const std::vector<std::vector<Digest>>* actual_outlines,
    std::uint64_t span);

}  // namespace assay::gpu_hash
