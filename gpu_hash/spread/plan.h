// SPDX-License-Identifier: Apache-2.0
// Cuts objects so that several engines share them, and turns the digests of the parts into roots
// and outlines. Spec: schemas/tree.md sections 2 and 7.2. Does not depend on engines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpu_hash/engine.h"
#include "schemas/core/digest.h"
#include "schemas/core/error.h"

namespace assay::gpu_hash {

// The engine that owns a memory, and the memory as that engine knows it.
struct MemoryHome {
  std::size_t member;
  std::shared_ptr<const DeviceMemory> memory;
};
// Returns the home of a memory. Errors: invalid-parameter for memory of none of the engines.
using FindHome = std::function<Result<MemoryHome>(const std::shared_ptr<const DeviceMemory>&)>;

// Bytes [offset, offset + size) of an object: the whole object, or a subtree of its tree. A subtree
// has a power of two of chunks and begins at a multiple of that number. Only the subtree at the
// object's end may have fewer chunks.
struct SpreadPart {
  std::size_t region;
  std::uint64_t offset;               // bytes
  std::uint64_t size;                 // bytes, not 0
  std::optional<std::size_t> member;  // number of the engine that must hash it; absent: any
  Region bytes;                       // with memory as that engine knows it (MemoryHome::memory)
};

// Cuts regions into parts, in order. Empty objects have no parts. Host memory and files are cut at
// multiples of `unit`, a power of two that is at least the chunk size. The unit is larger for an
// object of more than 65,536 units. Device memory is cut only where an object continues in the
// memory of another engine.
// Errors: invalid-parameter for a piece outside its memory, for device memory and other pieces in
// one call, and for a chunk in the memory of two engines; those of `find`.
[[nodiscard]] Result<std::vector<SpreadPart>> plan_parts(std::span<const Region> regions,
                                                         std::span<const std::uint64_t> sizes,
                                                         std::uint32_t chunk_size,
                                                         std::uint64_t unit, const FindHome& find);

// Folds digests of subtrees of different sizes, in order. (ObjectFold of tree/fold.h needs subtrees
// of one size.)
class SubtreeFold {
 public:
  // `chunks_per_span` is 0 when no outline is wanted.
  explicit SubtreeFold(std::uint64_t chunks_per_span) : chunks_per_span_(chunks_per_span) {}

  // Appends the digest of the next `chunks` chunks. These chunks must be a subtree as described at
  // SpreadPart, and must not cross a border between spans of the outline.
  void append(const Digest& digest, std::uint64_t chunks);
  // Returns root and outline of all appended digests. At least one digest must have been appended.
  [[nodiscard]] ObjectDigests finish();

 private:
  struct Peak {
    Digest digest;
    std::uint64_t chunks;
  };
  using Peaks = std::vector<Peak>;  // roots of subtrees without a common parent yet, largest first

  static void push(Peaks& peaks, Peak peak);
  static Peak join(const Peaks& peaks);
  void close_span();

  std::uint64_t chunks_per_span_;
  Peaks object_;
  Peaks span_;
  std::uint64_t in_span_ = 0;  // chunks
  std::vector<Digest> outline_;
};

// Collects the results of one call from digests of parts in any order. Not thread-safe.
class SpreadTable {
 public:
  // All three arguments must outlive the table.
  SpreadTable(std::span<const SpreadPart> parts, std::span<const std::uint64_t> sizes,
              const HashRequest& request);

  // Takes an engine's digests of parts[number]. Called once for each part. Errors: internal when
  // the digests do not fit the part.
  [[nodiscard]] Status add(std::size_t number, ObjectDigests digests);
  // Returns the results, in order of regions. Errors: internal when a part is missing.
  [[nodiscard]] Result<std::vector<ObjectDigests>> take();

 private:
  struct Work {
    SubtreeFold fold;
    std::uint64_t next = 0;  // offset of the part that fold needs next
  };

  // Appends parts[part]. Returns true when it was the last part of the object.
  bool append(Work& work, const SpreadPart& part, const ObjectDigests& digests) const;

  std::span<const SpreadPart> parts_;
  std::span<const std::uint64_t> sizes_;
  std::uint32_t chunk_size_;
  std::uint64_t span_;
  std::vector<ObjectDigests> results_;
  std::map<std::size_t, Work> work_;              // unfinished objects of several parts, by region
  std::map<std::size_t, ObjectDigests> waiting_;  // parts that came early, by number
  std::size_t missing_;                           // number of parts without digests
};

}  // namespace assay::gpu_hash
