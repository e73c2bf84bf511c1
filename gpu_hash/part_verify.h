// SPDX-License-Identifier: Apache-2.0
// Verifies one file, one tensor or a byte range of one against a known artifact, without reading
// the rest.
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
  std::size_t entry = 0;             // index into the artifact's entries
  std::optional<ByteRange> range{};  // of the object; absent: the whole object
  // Outline of the artifact, checked against it when it was read. With it only the spans that hold
  // the range are read; without it the whole object is, because only its root is known.
  const Outline* outline = nullptr;
};

struct VerifiedPart {
  ByteRange checked{};  // of the object: what was hashed
  // Bytes of the object that differ, rounded out to spans; none: what was checked is as expected.
  std::vector<ByteRange> differing;
  // Why not, in one sentence; also set when no byte could be compared: the file is not there or has
  // another size, the tensor is at another place or of another type.
  std::string detail;
  bool missing = false;  // the file is not there
  double seconds = 0;
  EngineInfo engine;

  [[nodiscard]] bool same() const { return detail.empty(); }
};

// The model is the directory or file at `path`, found by the rules of verify_artifact(). Says
// nothing of bytes outside VerifiedPart::checked. Errors: those of hash_artifact();
// invalid-parameter for an entry that is not there or a range that is empty or not in the object.
[[nodiscard]] Result<VerifiedPart> verify_part(const std::filesystem::path& path,
                                               const Artifact& expected, const PartOptions& options,
                                               Engine& engine, const Progress& progress = {},
                                               const std::stop_token& stop = {});

}  // namespace assay::gpu_hash
