// SPDX-License-Identifier: Apache-2.0
// From a path on disk to an artifact: walk, entries, roots. Spec: schemas/tree.md sections 3 to 6.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/walk.h"
#include "schemas/core/artifact.h"
#include "schemas/core/error.h"
#include "schemas/core/ids.h"
#include "schemas/core/outline.h"

namespace assay::gpu_hash {

// What was known of a model when it was hashed before, for a caller who vouches that files whose
// size and modification time are the same have the same bytes.
struct KnownFile {
  std::uint64_t size;     // bytes
  std::int64_t mtime_ns;  // since 1970
  bool operator==(const KnownFile&) const = default;
};
struct Reuse {
  Artifact artifact;
  std::map<std::string, KnownFile> files;  // by path
  // When that hashing began, by the clock of the file system's machine. A file changed later, or so
  // shortly before that a later change could have left the same time, is hashed again.
  std::int64_t hashed_at_ns;  // since 1970
  // Of the artifact. Without it, or with another span, nothing is reused when outlines are wanted.
  std::optional<Outline> outline{};
};

struct ArtifactOptions {
  TreeParameters parameters{};  // with the rules which files count
  Objects objects = Objects::kBoth;
  std::uint64_t outline_span = 0;  // bytes; 0 asks for no outlines
  // Entries of files that did not change since are taken from here. Used only when its hash and
  // chunk size are the same, and with outlines only when its outline has the same span.
  const Reuse* reuse = nullptr;
};

// Bytes hashed so far and in total; a byte that is part of a file and of a tensor counts twice.
// Same rules as BytesDone.
using Progress = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

struct HashedArtifact {
  Artifact artifact;
  ArtifactId id;
  // Outline digests of each entry, in the order of artifact.entries; empty without a span.
  std::vector<std::vector<Digest>> outlines;
  std::uint64_t bytes = 0;  // hashed
  double seconds = 0;       // wall clock, from the walk to the root
  EngineInfo engine;
  std::map<std::string, KnownFile> files{};  // every file that was looked at, by path
  std::vector<std::string> reused{};         // paths of files that were not read, entries of whom
                                             // come from ArtifactOptions::reuse
  std::uint64_t reused_bytes = 0;            // of entries that were not hashed
};

// Hashes the directory or file at `path`. Every file whose name ends in ".safetensors" must be one
// when tensors are asked for: a file that claims to be and does not parse fails the artifact.
// Errors: those of walk(), read_safetensors() and Engine::hash(), naming the file in `where`;
// file-changed also when a file changed before the whole artifact was done; invalid-parameter when
// there is nothing to hash; limit-exceeded above kMaxEntries entries.
[[nodiscard]] Result<HashedArtifact> hash_artifact(const std::filesystem::path& path,
                                                   const ArtifactOptions& options, Engine& engine,
                                                   const Progress& progress = {},
                                                   const std::stop_token& stop = {});

}  // namespace assay::gpu_hash
