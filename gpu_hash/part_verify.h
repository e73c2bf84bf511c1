// SPDX-License-Identifier: Apache-2.0
// Verifies one file, one tensor, or a byte range of one of them against a known artifact,
// without reading the rest of the model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"
#include "schemas/core/outline.h"

namespace assay::gpu_hash {

struct PartOptions {
  std::size_t entry = 0;  // index into the artifact's entries
  // Of the entry's own bytes (own_size() in schemas/core/artifact.h); absent: all of the file or
  // tensor.
  std::optional<ByteRange> range{};
  // Outline (schemas/core/outline.h) of the artifact. The caller must have checked that this
  // outline belongs to the artifact. With an outline only the spans that contain the range are
  // read. Without an outline all own bytes are read, because only their root is known. May be null.
  const Outline* outline = nullptr;
};

struct VerifiedPart {
  ByteRange checked{};  // bytes of the file or tensor that were hashed
  // Bytes of the file or tensor that differ, rounded out to spans. Empty when all bytes that were
  // checked are as expected.
  std::vector<ByteRange> differing;
  // One sentence about the difference; empty when the part is as expected. Also set when no byte
  // could be compared, because the file is missing or does not have the expected size, or because
  // the tensor does not have the expected offset or type.
  std::string detail;
  bool missing = false;  // true when the file does not exist
  double seconds = 0;
  EngineInfo engine;
  ReadProtection read_protection{};  // of the file; empty when it was not read

  [[nodiscard]] bool same() const { return detail.empty(); }
};

// Verifies one part of the model at `path`. `path` is a directory or a file, and is interpreted as
// verify_artifact() does. The result says nothing about bytes outside VerifiedPart::checked.
// Errors: those of hash_artifact(); invalid-parameter for an entry that does not exist, or for a
// range that is empty or not inside the own bytes.
[[nodiscard]] Result<VerifiedPart> verify_part(const std::filesystem::path& path,
                                               const Artifact& expected, const PartOptions& options,
                                               Engine& engine, const Progress& progress = {},
                                               const std::stop_token& stop = {});

}  // namespace assay::gpu_hash
