// SPDX-License-Identifier: Apache-2.0
// Hashes a path on disk into an artifact: finds the files, hashes the entries, computes the roots.
// Spec: schemas/tree.md sections 3 to 6.
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
#include "schemas/core/read_protection.h"

namespace assay::gpu_hash {

// Size and modification time that a file had when it was hashed. A caller who reuses entries must
// be sure that a file with the same size and modification time has the same bytes.
struct KnownFile {
  std::uint64_t size;     // bytes
  std::int64_t mtime_ns;  // nanoseconds since 1970
  bool operator==(const KnownFile&) const = default;
};
// The result of an earlier hashing, from which entries of unchanged files can be taken.
struct Reuse {
  Artifact artifact;
  std::map<std::string, KnownFile> files;  // by path
  // When the earlier hashing began, by the clock of the file system's machine. A file that changed
  // after this time is hashed again. A file that changed shortly before this time is hashed again
  // too, because a later change could have left the same modification time.
  std::int64_t hashed_at_ns;  // nanoseconds since 1970
  // Outline (schemas/core/outline.h) of `artifact`. When outlines are wanted, entries are reused
  // only if this outline is present and has the same span.
  std::optional<Outline> outline{};
};

struct ArtifactOptions {
  TreeParameters parameters{};       // they also decide which files are part of the model
  Objects objects = Objects::kBoth;  // what is listed; bytes of files are hashed once in any case
  // Paths in the artifact of files that are not cut into segments, whatever their names are.
  std::vector<std::string> whole{};
  std::uint64_t outline_span = 0;  // bytes; 0 asks for no outlines
  // More entries are an error before anything is read of them.
  std::size_t max_entries = kMaxEntries;
  // Entries of unchanged files are taken from `reuse`, which may be null. `reuse` is used only when
  // its hash algorithm and chunk size are those of `parameters`. When outlines are wanted, the
  // outline of `reuse` must also have the span `outline_span`.
  const Reuse* reuse = nullptr;
  // Refuse a model that lacks something, before its files are hashed.
  bool refuse_lacks = false;
};

// A file that shows that the model is not whole, or that its files do not fit each other: a pointer
// of Git LFS, an index of shards, a part of a GGUF model, or an ONNX model with external data.
struct Lack {
  std::string file;    // path in the artifact
  std::string detail;  // what is wrong, and what to do, for people
  bool operator==(const Lack&) const = default;
};

// Receives the bytes hashed so far and in total. The rules of BytesDone (engine.h) apply.
using Progress = std::function<void(std::uint64_t bytes_done, std::uint64_t bytes_total)>;

struct HashedArtifact {
  Artifact artifact;
  ArtifactId id;
  // Outline digests of the own bytes of each entry, in the order of artifact.entries. Empty when
  // `outline_span` is 0.
  std::vector<std::vector<Digest>> outlines;
  std::uint64_t bytes = 0;  // number of bytes hashed
  double seconds = 0;       // wall clock, from the listing of files to the root
  EngineInfo engine;
  std::map<std::string, KnownFile> files{};  // every file that was found, by path
  std::vector<std::string> reused{};         // paths of files that were not read; their
                                             // entries come from ArtifactOptions::reuse
  std::uint64_t reused_bytes = 0;            // bytes that were not hashed
  std::vector<Lack> lacks{};                 // in the order of files
  std::vector<std::string> pickles{};        // paths of files that run code when they are loaded
  ReadProtection read_protection{};          // of the files that were read
};

// Hashes the directory or file at `path`. Cuts each file by the format that its name says
// (cut_by_name() in gpu_hash/cut_file.h); hashing fails for the whole artifact when such a file is
// not of this format. Errors: those of walk(), read_cut() and Engine::hash(), with the file in
// `where`; file-changed also when a file changed after it was hashed, but before the last file was
// hashed; invalid-parameter when there is nothing to hash, and for a path in `whole` that no file
// has; limit-exceeded for more than ArtifactOptions::max_entries entries; incomplete-model when
// ArtifactOptions::refuse_lacks is set and the model lacks something.
[[nodiscard]] Result<HashedArtifact> hash_artifact(const std::filesystem::path& path,
                                                   const ArtifactOptions& options, Engine& engine,
                                                   const Progress& progress = {},
                                                   const std::stop_token& stop = {});

}  // namespace assay::gpu_hash
