// SPDX-License-Identifier: Apache-2.0
// Computes digests of leaves and subtrees over bytes of files or of host memory, on one core.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpu_hash/cpu/leaf_hasher.h"
#include "gpu_hash/engine.h"
#include "gpu_hash/files/piece_reader.h"
#include "gpu_hash/read_sink.h"
#include "schemas/core/artifact.h"
#include "schemas/core/bytes.h"
#include "schemas/core/digest.h"

namespace assay::gpu_hash {

// Bytes [offset, offset + size) of a region. `offset` is a multiple of the chunk size.
struct LeafRun {
  const Region* region;
  std::uint64_t offset;  // bytes
  std::uint64_t size;    // bytes
};

// Hashes runs of leaves. Used by one thread at a time. Memory: as many chunks as the hasher has
// lanes (LeafHasher::lanes()), at least 256 KiB and at most 1 MiB.
class CpuLeaves {
 public:
  // `sink` gets the bytes that are read from files (gpu_hash/read_sink.h); null: nobody does.
  CpuLeaves(std::unique_ptr<LeafHasher> hasher, HashAlgorithm algorithm, ReadSink* sink)
      : hasher_(std::move(hasher)), algorithm_(algorithm), sink_(sink), reader_(sink) {}

  // Cuts each run into parts of `grain` bytes and returns the digests of the parts. `grain` is the
  // chunk size times a power of two. The last part of a run may be shorter. Chunks of different
  // runs are hashed side by side. Errors: those of PieceReader and LeafHasher.
  [[nodiscard]] Result<std::vector<std::vector<Digest>>> hash(std::span<const LeafRun> runs,
                                                              std::uint64_t chunk_size,
                                                              std::uint64_t grain);
  // Closes the file that was read last.
  void close_files() { reader_ = PieceReader(sink_); }

 private:
  void prepare(std::uint64_t chunk_size);
  [[nodiscard]] std::uint8_t* slot(std::size_t index);
  [[nodiscard]] Status add(const LeafRun& run, std::uint64_t chunk_size, Bytes& leaves);
  [[nodiscard]] Status fetch(const LeafRun& run, std::uint64_t at, std::uint64_t size,
                             std::uint64_t chunk_size);
  [[nodiscard]] Status flush();
  [[nodiscard]] Status pair_up(Bytes& level);

  std::unique_ptr<LeafHasher> hasher_;
  HashAlgorithm algorithm_;
  ReadSink* sink_;
  PieceReader reader_;
  // Slots that hold a chunk each, with one byte before the chunk for the prefix.
  Bytes arena_;
  std::size_t slots_ = 0;
  std::size_t stride_ = 0;         // bytes from one slot to the next
  std::vector<Message> messages_;  // messages in the slots that are not hashed yet
  std::vector<std::span<std::uint8_t>> parts_;
  Bytes pairs_;
};

}  // namespace assay::gpu_hash
