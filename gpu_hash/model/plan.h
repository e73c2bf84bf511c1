// SPDX-License-Identifier: Apache-2.0
// What hashing and verifying an artifact have in common: the list of objects before they are
// hashed, and the artifact after. Internal to this folder.
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

// A file, or a tensor in one.
struct PlannedObject {
  std::size_t file;  // index into ArtifactPlan::files
  std::optional<Tensor> tensor;
};

// A safetensors file that does not parse.
struct MalformedFile {
  std::size_t file;
  Error error;
};

struct ArtifactPlan {
  std::vector<WalkedFile> files;
  // In the order they are best read: each file, then its tensors while its bytes are in the page
  // cache.
  std::vector<PlannedObject> objects;
  std::vector<MalformedFile> malformed;
};

// Lists the objects of `files`. Malformed safetensors files are no error here.
[[nodiscard]] Result<ArtifactPlan> plan_artifact(std::vector<WalkedFile> files, Objects objects,
                                                 const std::stop_token& stop);

// The objects' digests as an artifact, not checked yet.
struct PlannedArtifact {
  Artifact artifact;
  std::vector<std::vector<Digest>> outlines;  // empty without a span
  std::uint64_t bytes = 0;
};

// Digests that are taken as known, by object of a plan; empty when there are none. With the outline
// when there is a span.
using KnownDigests = std::vector<std::optional<ObjectDigests>>;

// The files, by number, whose bytes are read past the page cache (SourceFile::read_once()). None
// when all that is to be read fits into `room`: then it stays there for whoever loads the model
// next. Else those that are read once, either as a file or as tensors, and those that are larger
// than `room` themselves.
[[nodiscard]] std::vector<bool> files_read_once(const ArtifactPlan& plan, const KnownDigests& known,
                                                std::uint64_t room);

// Hashes the objects without known digests and looks at every file once more.
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

// What `reuse` (may be null) knows of the plan's objects: nothing of another tree, or when
// there is a span that its outline does not have. A file counts as unchanged by its size and
// modification time, and an object only when its entry says the same of it but for the root.
// malformed-outline when reuse's outline is not one of its artifact.
[[nodiscard]] Result<KnownObjects> find_known(const ArtifactPlan& plan,
                                              const TreeParameters& parameters,
                                              std::uint64_t outline_span, const Reuse* reuse);

[[nodiscard]] std::map<std::string, KnownFile> known_files(const ArtifactPlan& plan);

}  // namespace assay::gpu_hash
