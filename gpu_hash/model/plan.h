// SPDX-License-Identifier: Apache-2.0
// Steps that hashing and verifying an artifact share: the list of objects to hash, and the artifact
// made from their digests. Internal to this folder.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/safetensors.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// A file, or a tensor in a file.
struct PlannedObject {
  std::size_t file;  // index into ArtifactPlan::files
  std::optional<Tensor> tensor;
};

// A safetensors or GGUF file that does not parse.
struct MalformedFile {
  std::size_t file;
  Error error;
};

struct ArtifactPlan {
  std::vector<WalkedFile> files;
  // In the order in which reading is fastest: each file, then its tensors while the file's bytes
  // are still in the page cache.
  std::vector<PlannedObject> objects;
  std::vector<MalformedFile> malformed;
};

// Lists the objects of `files`. A malformed safetensors or GGUF file is listed in `malformed` and
// is not an error.
[[nodiscard]] Result<ArtifactPlan> plan_artifact(std::vector<WalkedFile> files, Objects objects,
                                                 const std::stop_token& stop);

// The artifact made from the objects' digests. Its validity as an artifact has not been checked.
struct PlannedArtifact {
  Artifact artifact;
  std::vector<std::vector<Digest>> outlines;  // empty when no outline was asked for
  std::uint64_t bytes = 0;
};

// Digests that are already known: one element for each object of a plan. Empty when no digest is
// known. When an outline is wanted, known digests contain it too.
using KnownDigests = std::vector<std::optional<ObjectDigests>>;

// Returns for each file of `plan`, by index, whether its bytes should bypass the page cache
// (SourceFile::read_once()). `room` is the number of bytes that the cache can keep. When all bytes
// to read fit into `room`, the result is false for every file, because the program that loads the
// model next will find the bytes in the cache. Otherwise it is true for files that are read only
// once (as a file or as tensors, not both), and for files larger than `room`.
[[nodiscard]] std::vector<bool> files_read_once(const ArtifactPlan& plan, const KnownDigests& known,
                                                std::uint64_t room);

// Hashes the objects that have no known digest. Checks every file for changes after hashing.
[[nodiscard]] Result<PlannedArtifact> hash_plan(const ArtifactPlan& plan,
                                                const TreeParameters& parameters,
                                                std::uint64_t outline_span, Engine& engine,
                                                const Progress& progress,
                                                const std::stop_token& stop,
                                                const KnownDigests& known = {});

struct KnownObjects {
  KnownDigests digests;
  std::vector<std::string> files;  // paths of files that need not be read
  std::uint64_t bytes = 0;         // of objects with known digests
};

// Finds the plan's objects whose digests can be taken from `reuse`; `reuse` may be null. Finds no
// object when hash algorithm or chunk size of `reuse` differ from `parameters`, or when an outline
// is wanted and `reuse` has no outline with this span. An object is found when its file did not
// change since `reuse` was made (see Reuse in gpu_hash/artifact_hash.h), and when its entry in
// `reuse` is the same as in the plan, apart from the root. Errors: malformed-outline when the
// outline does not belong to the artifact of `reuse`.
[[nodiscard]] Result<KnownObjects> find_known(const ArtifactPlan& plan,
                                              const TreeParameters& parameters,
                                              std::uint64_t outline_span, const Reuse* reuse);

// Counts the files of `plan` that were opened, by their protection.
[[nodiscard]] ReadProtection read_protection(const ArtifactPlan& plan);

[[nodiscard]] std::map<std::string, KnownFile> known_files(const ArtifactPlan& plan);

}  // namespace assay::gpu_hash
