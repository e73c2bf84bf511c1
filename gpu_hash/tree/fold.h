// SPDX-License-Identifier: Apache-2.0
// How engines share out work and put it together again: objects are cut into segments, each segment
// gives digests at a fixed grain, and the digests of one object fold into its root and outline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/merkle.h"

namespace assay::gpu_hash {

// Bytes [offset, offset + size) of regions[region].
struct Segment {
  std::size_t region;
  std::uint64_t offset;  // bytes; a multiple of the segment size
  std::uint64_t size;    // bytes; below the segment size only at the end of an object
};

// Hands out the segments of all regions in order. Empty objects have none. Not thread-safe.
class SegmentCursor {
 public:
  // `sizes` are those of the regions; `segment_size` is a power of two.
  SegmentCursor(std::span<const std::uint64_t> sizes, std::uint64_t segment_size)
      : sizes_(sizes), segment_size_(segment_size) {}
  [[nodiscard]] std::optional<Segment> next();
  // The region of the next segment.
  [[nodiscard]] std::size_t region() const { return region_; }
  // True when `region`, region() or one after it, will be one segment.
  [[nodiscard]] bool is_one_segment(std::size_t region) const {
    return region < sizes_.size() && sizes_[region] > 0 && sizes_[region] <= segment_size_ &&
           (region > region_ || offset_ == 0);
  }
  // Steps over the regions before `region`, all of them one segment.
  void skip_to(std::size_t region) { region_ = region; }

 private:
  std::span<const std::uint64_t> sizes_;
  std::uint64_t segment_size_;
  std::size_t region_ = 0;
  std::uint64_t offset_ = 0;
};

// Folds the digests of one object, in order. Subtrees of a fixed number of chunks (a power of two)
// are complete subtrees of the object's tree, so they stand in for its leaves.
class ObjectFold {
 public:
  // A digest covers `grain` bytes, the last one of the object fewer; `span` is 0 or a multiple of
  // `grain` by a power of two.
  ObjectFold(HashAlgorithm algorithm, std::uint64_t grain, std::uint64_t span);
  void append(const Digest& digest);
  // Root and outline of everything appended.
  [[nodiscard]] ObjectDigests finish();

 private:
  void close_span();

  std::uint64_t digests_per_span_;  // 0: no outline
  MerkleAccumulator object_;
  MerkleAccumulator span_;
  HashAlgorithm algorithm_;
  std::vector<Digest> outline_;
};

// The results of one hash() call. Segments may arrive in any order; digests that arrive early wait,
// so memory follows the number of segments in work, not the size of the objects. Not thread-safe.
class ResultTable {
 public:
  // `sizes` are those of the regions and must outlive the table; `grain` as in ObjectFold.
  ResultTable(std::span<const std::uint64_t> sizes, const HashRequest& request,
              std::uint64_t grain);

  // Takes the digests of one segment. Each segment arrives once.
  void add(const Segment& segment, std::span<const Digest> digests);
  [[nodiscard]] std::uint64_t bytes_done() const { return bytes_done_; }
  // The results, in order of regions; internal when a segment is missing.
  [[nodiscard]] Result<std::vector<ObjectDigests>> take();

 private:
  struct Waiting {
    std::uint64_t size;
    std::vector<Digest> digests;
  };
  struct Work {
    ObjectFold fold;
    std::uint64_t next = 0;                    // offset of the segment that fold needs next
    std::map<std::uint64_t, Waiting> waiting;  // segments behind it, by offset
  };

  std::span<const std::uint64_t> sizes_;
  HashAlgorithm algorithm_;
  std::uint64_t grain_;
  std::uint64_t span_;
  std::vector<ObjectDigests> results_;
  std::map<std::size_t, Work> work_;  // objects that have begun and not ended, by region
  std::size_t open_ = 0;              // objects without a result
  std::uint64_t bytes_done_ = 0;
};

}  // namespace assay::gpu_hash
