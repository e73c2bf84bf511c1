// SPDX-License-Identifier: Apache-2.0
// Plans how device memory is hashed in place: in which launches (starts of a kernel), over which
// buffers, and in which runs (tree/launch_tables.h). Does not depend on OpenCL.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "gpu_hash/tree/fold.h"
#include "gpu_hash/tree/launch_tables.h"

namespace assay::gpu_hash {

// Bytes of one buffer that are copied next to other bytes, so that a chunk lies in one piece.
struct ByteCopy {
  std::uint32_t buffer;  // index into PlannedCopies::memory
  std::uint32_t size;    // bytes
  std::uint64_t from;    // bytes in the buffer
  std::uint64_t to;      // offset in the side buffer, which collects copied bytes
};

// One launch over consecutive chunks. The buffer number of a run is an index into `memory`. A null
// element of `memory` stands for the side buffer of the batch. A slot is the place of one chunk's
// digest.
struct PlannedLaunch {
  std::vector<const DeviceMemory*> memory;
  std::vector<Run> runs;
  std::uint32_t first_slot = 0;
  std::uint32_t slots = 0;
  bool aligned = true;
};

struct PlannedCopies {
  std::vector<const DeviceMemory*> memory;
  std::vector<ByteCopy> copies;
};

// Segments (tree/fold.h) that are hashed together.
struct ResidentBatch {
  std::vector<Segment> segments;
  std::vector<std::uint32_t> first_slot{0};  // one element more than `segments` has
  std::vector<PlannedLaunch> launches;
  std::vector<PlannedCopies> copies;
  std::uint64_t side_bytes = 0;
  std::vector<Run> spare{};  // memory of an earlier batch, reused for the runs of the first launch

  // Empties the batch and keeps its memory for the next batch.
  void clear();
};

// Cuts regions of device memory into batches. Not thread-safe.
class ResidentPlan {
 public:
  struct Limits {
    std::uint32_t segment;  // chunks of a segment at most
    std::uint32_t slots;    // chunks of a batch at most; not fewer than of a segment
    std::uint32_t buffers;  // buffers of a launch
  };

  ResidentPlan(std::span<const Region> regions, std::span<const std::uint64_t> sizes,
               const HashRequest& request, const Limits& limits);

  // Returns the size of a segment in bytes. One digest covers one segment.
  [[nodiscard]] std::uint64_t segment_size() const { return segment_size_; }
  // Replaces `batch` with the next batch. Returns false when no batch is left.
  [[nodiscard]] bool next(ResidentBatch& batch);

 private:
  struct Place {
    std::size_t piece = 0;
    std::uint64_t offset = 0;  // bytes in the piece
  };

  [[nodiscard]] std::uint64_t chunks_of(std::uint64_t size) const {
    return (size + chunk_size_ - 1) >> log_chunk_;  // a division would double the time
  }
  // Adds consecutive objects that are a single piece each, in the same memory as the object before
  // them. Most objects are of this kind. Adding an object in this way takes a sixth of the time of
  // add_segment().
  void add_neighbours(ResidentBatch& batch);
  void add_segment(ResidentBatch& batch, const Segment& segment);
  void add_run(ResidentBatch& batch, const DeviceMemory* memory, std::uint64_t offset,
               std::uint64_t size);
  // Copies the next `size` bytes of the region to the side buffer and makes a run of the copy.
  void add_copied(ResidentBatch& batch, const Region& region, std::uint64_t size);
  void advance(const Region& region, std::uint64_t size);

  std::span<const Region> regions_;
  Limits limits_;
  std::uint32_t chunk_size_;
  unsigned log_chunk_;
  std::uint64_t segment_size_;
  SegmentCursor cursor_;
  std::optional<Segment> waiting_;
  std::size_t region_ = 0;
  Place place_;  // in regions_[region_]
};

}  // namespace assay::gpu_hash
