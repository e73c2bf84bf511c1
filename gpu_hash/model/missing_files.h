// SPDX-License-Identifier: Apache-2.0
// Signs that a directory does not hold the whole model. Internal to this folder.
#pragma once

#include <string_view>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// What `git lfs pull` puts the file in place of.
inline constexpr std::string_view kLfsPointer =
    "this is a Git LFS pointer and not the file itself; run git lfs pull";

// Returns whether the file is a pointer of Git LFS. Reads files of the size of a pointer, and no
// others. Errors: those of SourceFile::open() and OpenFile::read().
[[nodiscard]] Result<bool> is_lfs_pointer(const SourceFile& file);

// Looks for pointers of Git LFS; for indexes of safetensors files (*.safetensors.index*.json) that
// do not fit their shards; for parts of a GGUF model that do not fit each other; and for ONNX
// models whose external data are not among `files`. `files` are ordered by path. An index or an
// ONNX model that cannot be read is a lack. Any other file that cannot be read is none: to hash it
// is an error.
[[nodiscard]] std::vector<Lack> find_lacks(const std::vector<WalkedFile>& files);

}  // namespace assay::gpu_hash
