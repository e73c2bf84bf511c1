// SPDX-License-Identifier: Apache-2.0
// Which files belong to an artifact. Spec: schemas/tree.md section 4.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu_hash/source_file.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// Directories inside each other; a tree that is deeper is refused.
inline constexpr std::size_t kMaxWalkDepth = 256;

struct WalkOptions {
  std::vector<std::string> ignore;  // patterns of gpu_hash/files/ignore.h
  // Follow symlinks that stay below the directory; otherwise every symlink is refused.
  bool follow_symlinks = false;
};
// The rules that an artifact's root binds; there are no others.
[[nodiscard]] WalkOptions rules_of(const TreeParameters& parameters);

struct WalkedFile {
  std::string path;  // in the artifact, see check_path
  std::shared_ptr<const SourceFile> source;
};

// Lists every regular file below `path`, hidden ones too, except what is ignored; a `path` that is
// a file itself (or a symlink to one) is listed under its last part, and patterns do not apply.
// Ordered by path as bytes. Only looks at files, opens none. Directories are reached through their
// descriptors, so replacing one during the walk cannot lead outside. Errors (`where` is the path in
// the artifact): file-unreadable, unsupported-file-type (symlink, FIFO, socket, device),
// invalid-path (name is not UTF-8; symlink that is absolute or leads outside, nowhere or in a
// circle), invalid-parameter (pattern), limit-exceeded (depth, number of files).
[[nodiscard]] Result<std::vector<WalkedFile>> walk(const std::filesystem::path& path,
                                                   const WalkOptions& options = {});

// The files of a model that is expected to be `artifact`: walk() by the artifact's own rules. When
// `path` is a single file and all entries are of one file, it stands for that one, whatever its
// name is.
[[nodiscard]] Result<std::vector<WalkedFile>> find_model(const std::filesystem::path& path,
                                                         const Artifact& artifact);

// The anchored pattern that leaves out `output`, a file this run writes (a manifest, an outline),
// or nothing when it does not lie below `directory`. The file need not exist, its directory must.
// invalid-parameter when its path holds '*' or '?'; invalid-path; file-unreadable.
[[nodiscard]] Result<std::optional<std::string>> output_pattern(
    const std::filesystem::path& directory, const std::filesystem::path& output);

// Those of kUsualIgnore whose file or directory is there; none when `path` is no directory.
[[nodiscard]] std::vector<std::string> usual_patterns(const std::filesystem::path& path);

}  // namespace assay::gpu_hash
