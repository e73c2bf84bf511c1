// SPDX-License-Identifier: Apache-2.0
// Finds the files that belong to an artifact. Spec: schemas/tree.md section 4.
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

// Largest depth of nested directories. A deeper tree is refused.
inline constexpr std::size_t kMaxWalkDepth = 256;

struct WalkOptions {
  std::vector<std::string> ignore;  // patterns of gpu_hash/files/ignore.h
  // Whether to follow symlinks that stay below the directory. When false, every symlink is refused.
  bool follow_symlinks = false;
  // Whether a directory .../models--ORG--NAME/snapshots/REVISION of a Hugging Face cache may hold
  // links to blobs of its repository (schemas/tree.md section 4.2). Has no effect with
  // `follow_symlinks`. Such links lead out of the directory: whoever says what is seen where only
  // this directory is mounted must refuse them.
  bool snapshots = false;
};
// Returns the options that `parameters` fix, for somebody who reads the directory where it lies.
// The artifact's root covers these options, and no other options affect which files belong to an
// artifact.
[[nodiscard]] WalkOptions rules_of(const TreeParameters& parameters);

struct WalkedFile {
  std::string path;  // path in the artifact (check_path() in schemas/core/artifact.h)
  std::shared_ptr<const SourceFile> source;
};

// Lists every regular file below `path`, including hidden ones, except ignored files. When `path`
// is a file, or a symlink to a file, the list has only this file, under the last part of `path`;
// patterns do not apply to it. The list is ordered by path as bytes. Inspects files without opening
// them. Directories are reached through their descriptors, so replacing a directory during the walk
// cannot lead outside of `path`. Errors, with the path in the artifact in `where`: file-unreadable;
// unsupported-file-type for a symlink, FIFO, socket or device; invalid-path for a name that is not
// UTF-8, and for a symlink that is absolute, leads outside (even when it leads in again), leads
// nowhere, leads in a circle, or is none of those of a snapshot;
// invalid-parameter for a bad pattern; limit-exceeded for depth or number of files.
[[nodiscard]] Result<std::vector<WalkedFile>> walk(const std::filesystem::path& path,
                                                   const WalkOptions& options = {});

// Lists the files of a model that is expected to be `artifact`, by walk() with the artifact's own
// rules. When `path` is a single file and all entries of `artifact` are of one file, the name of
// the file at `path` does not matter. `snapshots`: see WalkOptions. Errors: those of walk().
[[nodiscard]] Result<std::vector<WalkedFile>> find_model(const std::filesystem::path& path,
                                                         const Artifact& artifact,
                                                         bool snapshots = true);

// The files of a repository of a Hugging Face cache.
struct RepositoryFiles {
  std::vector<WalkedFile> model;   // those of one revision, by the artifact's own rules
  std::vector<WalkedFile> others;  // paths below the repository
};
// Lists everything below `path`, the directory models--ORG--NAME of a cache. The model is the
// revision that has most of the files of `artifact`. Others are all files but those of this
// revision, the blobs that its links lead to, and files in `refs` that hold the name of this
// revision and nothing else. A directory without the directories `snapshots` and `blobs` is the
// model itself, as find_model() finds it without `snapshots`. No link may lead out of `path`, to
// the store of the whole cache for example. Errors: those of walk(), file-changed.
[[nodiscard]] Result<RepositoryFiles> find_in_repository(const std::filesystem::path& path,
                                                         const Artifact& artifact);

// Returns the pattern that ignores `output`, a file that this run writes (a manifest or an
// outline). The pattern begins with '/', so it matches only this file. Returns nullopt when
// `output` does not lie below `directory`. The file need not exist, but its directory must. Errors:
// invalid-parameter when the path contains '*' or '?'; invalid-path; file-unreadable.
[[nodiscard]] Result<std::optional<std::string>> output_pattern(
    const std::filesystem::path& directory, const std::filesystem::path& output);

// Returns the patterns of kUsualIgnore (schemas/core/artifact.h) whose file or directory exists
// below `path`. Empty when `path` is not a directory.
[[nodiscard]] std::vector<std::string> usual_patterns(const std::filesystem::path& path);
// Does the same for the patterns of `preset`.
[[nodiscard]] std::vector<std::string> preset_patterns(const std::filesystem::path& path,
                                                       const IgnorePreset& preset);

}  // namespace assay::gpu_hash
