// SPDX-License-Identifier: Apache-2.0
// The part of a model that 'manifest verify' is asked about: one file, one tensor, some bytes of
// one.
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

// Entry and range that the flags name; the outline is left to the caller.
// usage; not-found when the manifest has no such file or tensor.
[[nodiscard]] Result<gpu_hash::PartOptions> part_options(const PartFlags& flags,
                                                         const Artifact& artifact);

// {"entry","begin","end"}: what was hashed of which entry.
[[nodiscard]] Json part_json(const Entry& entry, const gpu_hash::VerifiedPart& verified);
// "bytes [0, 16384) of model.safetensors#lm_head.weight".
[[nodiscard]] std::string part_label(const Entry& entry, const gpu_hash::VerifiedPart& verified);

}  // namespace assay::cli
