// SPDX-License-Identifier: Apache-2.0
// Copies a model and verifies it in the same pass: the bytes that are written are the bytes that
// were hashed, read once.
#pragma once

#include <filesystem>
#include <stop_token>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/artifact_verify.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

struct Copied {
  Verified verified;  // of the source; of the destination when `already_there` is set
  // The destination held something. It was verified where it lies, and nothing was written.
  bool already_there = false;
};

// Copies the files of `expected` from the directory or file `source` to the directory
// `destination`, and compares them as verify_artifact() does. Uses the CPU engine with `threads`
// threads; 0 means one for each core. With a difference nothing is left of the copy. Before the
// last byte was verified nothing has its final name. A destination that holds something is verified
// and never changed. Links in the source become files. Modes are 0644 and 0755; owners and times
// are those of the copy. Errors: those of verify_artifact() and of CopyTarget
// (gpu_hash/copy/copy_target.h); nothing is left of the copy then either.
[[nodiscard]] Result<Copied> copy_artifact(const std::filesystem::path& source,
                                           const Artifact& expected,
                                           const std::filesystem::path& destination,
                                           unsigned threads, const Progress& progress = {},
                                           const std::stop_token& stop = {});

}  // namespace assay::gpu_hash
