// SPDX-License-Identifier: Apache-2.0
// How objects are cut so that several engines share them, and how the digests of the parts become
// roots and outlines again. Spec: schemas/tree.md sections 2 and 7.2. Knows nothing of engines.
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

// Whose memory it is, and how that engine knows it.
struct MemoryHome {
  std::size_t member;
  std::shared_ptr<const DeviceMemory> memory;
};
// invalid-parameter for memory of none of the engines.
using FindHome = std::function<Result<MemoryHome>(const std::shared_ptr<const DeviceMemory>&)>;

// Bytes [offset, offset + size) of an object: all of it, or a subtree of its tree, which is a power
// of two of chunks at a multiple of that and fewer only at the object's end.
struct SpreadPart {
  std::size_t region;
  std::uint64_t offset;               // bytes
  std::uint64_t size;                 // bytes, not 0
  std::optional<std::size_t> member;  // who must hash it; nothing: anyone
  Region bytes;                       // as that member knows its memory
};

// Cuts regions into parts, in order; empty objects have none. Host memory and files are cut at
// multiples of `unit` (a power of two from the chunk size on, larger for objects of more than
// 65,536 of them). Device memory is cut only where an object goes from one engine's to another's.
// invalid-parameter: a piece outside its memory, device memory and other pieces in one call, a
// chunk in the memory of two engines; errors of `find`.
[[nodiscard]] Result<std::vector<SpreadPart>> plan_parts(std::span<const Region> regions,
                                                         std::span<const std::uint64_t> sizes,
                                                         std::uint32_t chunk_size,
                                                         std::uint64_t unit, const FindHome& find);

// Folds digests of subtrees of different sizes, in order. ObjectFold takes one size only.
class SubtreeFold {
 public:
  // `chunks_per_span` is 0 for no outline.
  explicit SubtreeFold(std::uint64_t chunks_per_span) : chunks_per_span_(chunks_per_span) {}

  // The digest of the next `chunks` chunks: a subtree as SpreadPart describes it, and not across a
  // border of spans.
  void append(const Digest& digest, std::uint64_t chunks);
  // Root and outline of everything appended, which must not be nothing.
  [[nodiscard]] ObjectDigests finish();

 private:
  struct Peak {
    Digest digest;
    std::uint64_t chunks;
  };
  using Peaks = std::vector<Peak>;  // of trees without a common parent yet, largest first

  static void push(Peaks& peaks, Peak peak);
  static Peak join(const Peaks& peaks);
  void close_span();

  std::uint64_t chunks_per_span_;
  Peaks object_;
  Peaks span_;
  std::uint64_t in_span_ = 0;  // chunks
  std::vector<Digest> outline_;
};

// The results of one call, from digests of parts in any order. Not thread-safe.
class SpreadTable {
 public:
  // All three must outlive the table.
  SpreadTable(std::span<const SpreadPart> parts, std::span<const std::uint64_t> sizes,
              const HashRequest& request);

  // Takes what an engine said about parts[number], once. internal when it does not fit the part.
  [[nodiscard]] Status add(std::size_t number, ObjectDigests digests);
  // The results, in order of regions; internal when a part is missing.
  [[nodiscard]] Result<std::vector<ObjectDigests>> take();

 private:
  struct Work {
    SubtreeFold fold;
    std::uint64_t next = 0;  // offset of the part that fold needs next
  };

  // Appends parts[part]; true when it was the object's last.
  bool append(Work& work, const SpreadPart& part, const ObjectDigests& digests) const;

  std::span<const SpreadPart> parts_;
  std::span<const std::uint64_t> sizes_;
  std::uint32_t chunk_size_;
  std::uint64_t span_;
  std::vector<ObjectDigests> results_;
  std::map<std::size_t, Work> work_;              // cut objects without a result, by region
  std::map<std::size_t, ObjectDigests> waiting_;  // that came early, by part
  std::size_t missing_;                           // parts
};

}  // namespace assay::gpu_hash
