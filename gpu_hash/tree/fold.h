// SPDX-License-Identifier: Apache-2.0
// Splits the work of engines and joins the results. Objects are cut into segments. An engine
// computes digests of the parts of a segment, which all have the same size (the grain). The digests
// of one object fold into its root and outline.
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

// Hands out the segments of all regions in order. Empty objects have no segments. Not thread-safe.
class SegmentCursor {
 public:
  // `sizes` are the sizes of the regions in bytes. `segment_size` is a power of two, in bytes.
  SegmentCursor(std::span<const std::uint64_t> sizes, std::uint64_t segment_size)
      : sizes_(sizes), segment_size_(segment_size) {}
  [[nodiscard]] std::optional<Segment> next();
  // Returns the region of the next segment.
  [[nodiscard]] std::size_t region() const { return region_; }
  // Returns true when `region` will be a single segment. `region` must be region() or a later one.
  [[nodiscard]] bool is_one_segment(std::size_t region) const {
    return region < sizes_.size() && sizes_[region] > 0 && sizes_[region] <= segment_size_ &&
           (region > region_ || offset_ == 0);
  }
  // Skips the regions before `region`. Each of them must be a single segment.
  void skip_to(std::size_t region) { region_ = region; }

 private:
  std::span<const std::uint64_t> sizes_;
  std::uint64_t segment_size_;
  std::size_t region_ = 0;
  std::uint64_t offset_ = 0;
};

// Folds the digests of one object, in order. Each digest is the root of a complete subtree with a
// fixed number of chunks (a power of two), and can therefore be treated as a leaf. Only the last
// subtree of the object may have fewer chunks.
class ObjectFold {
 public:
  // A digest covers `grain` bytes; the last digest of the object may cover fewer. `span` is 0 (no
  // outline) or `grain` times a power of two.
  ObjectFold(HashAlgorithm algorithm, std::uint64_t grain, std::uint64_t span);
  void append(const Digest& digest);
  // Returns root and outline of all appended digests.
  [[nodiscard]] ObjectDigests finish();

 private:
  void close_span();

  std::uint64_t digests_per_span_;  // 0: no outline
  MerkleAccumulator object_;
  MerkleAccumulator span_;
  HashAlgorithm algorithm_;
  std::vector<Digest> outline_;
};

// Collects the results of one hash() call. Segments may arrive in any order. Digests that arrive
// early are stored until the earlier digests of the object have arrived. Memory therefore grows
// with the number of segments that are being hashed, not with the size of the objects. Not
// thread-safe.
class ResultTable {
 public:
  // `sizes` are the sizes of the regions in bytes and must outlive the table. `grain` is as in
  // ObjectFold.
  ResultTable(std::span<const std::uint64_t> sizes, const HashRequest& request,
              std::uint64_t grain);

  // Takes the digests of one segment. Called once for each segment.
  void add(const Segment& segment, std::span<const Digest> digests);
  [[nodiscard]] std::uint64_t bytes_done() const { return bytes_done_; }
  // Returns the results, in order of regions. Errors: internal when a segment is missing.
  [[nodiscard]] Result<std::vector<ObjectDigests>> take();

 private:
  struct Waiting {
    std::uint64_t size;
    std::vector<Digest> digests;
  };
  struct Work {
    ObjectFold fold;
    std::uint64_t next = 0;                    // offset of the segment that fold needs next
    std::map<std::uint64_t, Waiting> waiting;  // later segments, by offset
  };

  std::span<const std::uint64_t> sizes_;
  HashAlgorithm algorithm_;
  std::uint64_t grain_;
  std::uint64_t span_;
  std::vector<ObjectDigests> results_;
  std::map<std::size_t, Work> work_;  // objects that have begun and not ended, by region
  std::size_t open_ = 0;              // number of objects without a result
  std::uint64_t bytes_done_ = 0;
};

}  // namespace assay::gpu_hash
