// SPDX-License-Identifier: Apache-2.0
// The part of a model that 'manifest verify' checks: one file, one tensor, or a byte range of one.
#pragma once

#include <string>

#include "cli/command.h"
#include "gpu_hash/part_verify.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay::cli {

struct PartFlags {
  std::string file;
  std::string tensor;
  std::string range;

  [[nodiscard]] bool given() const { return !file.empty() || !tensor.empty() || !range.empty(); }
};

void add_part_options(const Command& verb, PartFlags& flags);

// Finds the entry and range that the flags name. The caller sets PartOptions::outline
// (gpu_hash/part_verify.h). Errors: usage; not-found when the manifest has no such file or tensor.
[[nodiscard]] Result<gpu_hash::PartOptions> part_options(const PartFlags& flags,
                                                         const Artifact& artifact);

// Returns {"entry","begin","end"}: the bytes that were hashed, and their entry.
[[nodiscard]] Json part_json(const Entry& entry, const gpu_hash::VerifiedPart& verified);
// Returns "bytes [0, 16384) of model.safetensors#lm_head.weight".
[[nodiscard]] std::string part_label(const Entry& entry, const gpu_hash::VerifiedPart& verified);

}  // namespace assay::cli
