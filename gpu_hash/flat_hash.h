// SPDX-License-Identifier: Apache-2.0
// Flat digests of files and of ranges of files (schemas/core/flat_hash.h), as other tools sign
// them, and an engine that computes them in the same pass as the trees. A flat digest is computed
// by one core from the beginning of its range to the end, so cores work on different ranges.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/source_file.h"
#include "schemas/core/bytes.h"
#include "schemas/core/error.h"
#include "schemas/core/flat_hash.h"

namespace assay::gpu_hash {

// Bytes [begin, end) of a file.
struct FlatRange {
  std::shared_ptr<const SourceFile> file;
  std::uint64_t begin;
  std::uint64_t end;
};

struct FlatOptions {
  FlatHash hash = FlatHash::kSha256;
  unsigned threads = 0;  // 0: every core
  // The rules of BytesDone (engine.h) apply.
  BytesDone progress{};
  std::stop_token stop{};
};

// Returns the digest of each range, in order. Ranges of several files are hashed side by side, the
// longest ones first; while a core is idle, one reads ahead for another. Files that are larger in
// all than the page cache can keep are read past it. Checks at the end that no file has changed.
// Errors: those of SourceFile and OpenFile; cancelled.
[[nodiscard]] Result<std::vector<Bytes>> hash_flat(std::span<const FlatRange> ranges,
                                                   const FlatOptions& options);

// The flat digests of one file: one for each `shard_size` bytes; of a file without bytes none, or
// with whole files (`shard_size` 0) one.
struct FlatFile {
  std::string path;    // SourceFile::label(): the path in the artifact
  std::uint64_t size;  // bytes
  std::vector<Bytes> digests;
};

// Where an engine puts the flat digests of the files that it hashed, in the order of its regions.
struct FlatResults {
  FlatHash hash = FlatHash::kSha256;
  std::uint64_t shard_size = 0;  // bytes; 0: whole files
  std::vector<FlatFile> files{};
};

// Makes an engine that computes the digests of the CPU engine (gpu_hash/cpu_engine.h) and reads
// each file once for both. The regions of one call must be those of whole files: segments that
// follow each other from byte 0 to the end, file after file, as hash_artifact()
// (gpu_hash/artifact_hash.h) asks for entries of files. `results` is borrowed; it holds the files
// of the last call of hash() that succeeded. Each file is read by one thread: with `threads` 0, by
// one for each core. hash() fails with invalid-parameter for other regions.
[[nodiscard]] std::unique_ptr<Engine> make_flat_engine(unsigned threads, FlatResults& results);

}  // namespace assay::gpu_hash
