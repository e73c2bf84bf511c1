// SPDX-License-Identifier: Apache-2.0
// Steps that hashing and verifying an artifact share: the list of segments to hash, and the
// artifact made from their digests. Internal to this folder.
#pragma once

#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/artifact_hash.h"
#include "gpu_hash/cut_file.h"
#include "gpu_hash/walk.h"

namespace assay::gpu_hash {

// A segment of a file (schemas/tree.md section 2.2), or a tensor without bytes.
struct PlannedObject {
  std::size_t file;  // index into ArtifactPlan::files
  FileSegment segment;
  std::optional<Tensor> tensor;  // for FileSegment::Kind::kTensor
};

// How one file is hashed.
struct PlannedFile {
  std::optional<CutFormat> cut;  // absent: one segment
  std::size_t first;             // its objects are [first, end) of ArtifactPlan::objects
  std::size_t end;
};

// A file that is to be cut, and does not parse. It is planned as one segment.
struct MalformedFile {
  std::size_t file;
  CutFormat format;
  Error error;
};

struct ArtifactPlan {
  Objects objects_listed = Objects::kBoth;  // kinds of entries
  std::vector<WalkedFile> files;
  std::vector<PlannedFile> planned;  // one for each file
  // What is hashed, in the order of files and of offsets: each byte once.
  std::vector<PlannedObject> objects;
  std::vector<MalformedFile> malformed;
};

// Lists what is hashed of `files` for entries of the kinds `objects`: with files, every byte; with
// tensors alone, only theirs. A malformed file is listed in `malformed` and is not an error.
// Errors: those of read_cut(); limit-exceeded; cancelled.
[[nodiscard]] Result<ArtifactPlan> plan_artifact(std::vector<WalkedFile> files, const CutRule& rule,
                                                 Objects objects, const std::stop_token& stop);
// Returns how many entries the plan gives.
[[nodiscard]] std::size_t entry_count(const ArtifactPlan& plan);

// An entry with the outline of its own bytes; empty when no outline is wanted.
struct HashedEntry {
  Entry entry;
  std::vector<Digest> outline;
};
// The entries of one file that are listed: the file's, then those of its tensors by name.
using EntriesOfFile = std::vector<HashedEntry>;

// Entries that are already known, one element for each file of a plan. Empty when none is known.
using KnownEntries = std::vector<std::optional<EntriesOfFile>>;

// Returns true when the bytes to read should bypass the page cache (SourceFile::read_once()),
// because there are more of them than `room`, the bytes that the cache can keep. Otherwise the
// program that loads the model next will find them in the cache.
[[nodiscard]] bool reads_once(const ArtifactPlan& plan, const KnownEntries& known,
                              std::uint64_t room);

// The artifact made from the segments' digests. Its validity as an artifact has not been checked.
struct PlannedArtifact {
  Artifact artifact;
  std::vector<std::vector<Digest>> outlines;  // empty when no outline was asked for
  std::uint64_t bytes = 0;
};

// Hashes the files that have no known entries. Checks every file for changes after hashing.
[[nodiscard]] Result<PlannedArtifact> hash_plan(
    const ArtifactPlan& plan, const TreeParameters& parameters, std::uint64_t outline_span,
    Engine& engine, const Progress& progress, const std::stop_token& stop, KnownEntries known = {});

struct KnownFiles {
  KnownEntries entries;
  std::vector<std::string> files;  // paths of files that need not be read
  std::uint64_t bytes = 0;         // of them that are not hashed
};

// Finds the plan's files whose entries can be taken from `reuse`; `reuse` may be null. Finds no
// file when hash algorithm or chunk size of `reuse` differ from `parameters`, or when an outline is
// wanted and `reuse` has no outline with this span. A file is found when it did not change since
// `reuse` was made (see Reuse in gpu_hash/artifact_hash.h), and when all its entries in the plan
// are in `reuse` and the same there, apart from roots. Errors: malformed-outline when the outline
// does not belong to the artifact of `reuse`.
[[nodiscard]] Result<KnownFiles> find_known(const ArtifactPlan& plan,
                                            const TreeParameters& parameters,
                                            std::uint64_t outline_span, const Reuse* reuse);

// Counts the files of `plan` that were opened, by their protection.
[[nodiscard]] ReadProtection read_protection(const ArtifactPlan& plan);

[[nodiscard]] std::map<std::string, KnownFile> known_files(const ArtifactPlan& plan);

}  // namespace assay::gpu_hash
