// SPDX-License-Identifier: Apache-2.0
#include "worker/recipe/recipe.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_hash/cast.h"
#include "schemas/core/merkle.h"
#include "schemas/layout_pieces.h"

namespace assay::worker {

namespace {

// A loop over elements of an entry, outermost first, in the order in which they stand there.
struct Loop {
  std::uint64_t count;
  std::uint64_t from;  // elements of the entry from one step to the next
  std::uint64_t to;    // elements of the tensor
};

// A piece of a tensor as loops. The innermost loop is the last; loops that go on where the one
// inside of them ends are one loop.
struct Walk {
  std::uint64_t entry;
  std::uint64_t from = 0;  // first element
  std::uint64_t to;
  bool cast;
  std::vector<Loop> loops{};
};

Walk walk_of(const LayoutPiece& piece, const std::vector<std::uint64_t>& shape) {
  Walk walk{piece.entry, 0, piece.to, piece.cast};
  std::uint64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const LayoutSpan& span = piece.axes[axis];
    walk.from += span.start * stride;
    if (span.size > 1) {
      Loop* const inner = walk.loops.empty() ? nullptr : &walk.loops.back();
      if (inner != nullptr && inner->from * inner->count == stride &&
          inner->to * inner->count == span.step) {
        inner->count *= span.size;
      } else {
        walk.loops.push_back({span.size, stride, span.step});
      }
    }
    stride *= shape[axis];
  }
  std::ranges::reverse(walk.loops);
  return walk;
}

// Fills blocks of one tensor.
class Filler {
 public:
  Filler(VerifiedEntries& entries, const LayoutEntries& manifest, const LayoutTensor& tensor,
         std::span<const LayoutPiece> pieces)
      : entries_(entries), width_(element_bytes(tensor.dtype).value_or(1)) {
    half_ = tensor.dtype == "BF16" ? gpu_hash::HalfType::kBf16 : gpu_hash::HalfType::kF16;
    for (const LayoutPiece& piece : pieces) {
      walks_.push_back(walk_of(piece, manifest.at(piece.entry).shape));
    }
  }

  // Fills `block` with the elements of the tensor from `first` on.
  Status fill(std::uint64_t first, std::span<std::uint8_t> block) {
    std::ranges::fill(block, std::uint8_t{0});
    block_ = block;
    begin_ = first;
    end_ = first + block.size() / width_;
    for (const Walk& walk : walks_) {
      ASSAY_TRY(go(walk, 0, walk.from, walk.to));
    }
    return {};
  }

 private:
  // Takes those steps of a loop that reach into the block.
  Status go(const Walk& walk, std::size_t level, std::uint64_t from, std::uint64_t to) {
    const auto loops = std::span(walk.loops).subspan(level);
    if (loops.empty()) {
      return to >= begin_ && to < end_ ? copy(walk, from, to, {1, 1, 1}) : Status();
    }
    std::uint64_t reach = 1;  // elements of the tensor that the loops inside span
    for (const Loop& inner : loops.subspan(1)) {
      reach += (inner.count - 1) * inner.to;
    }
    const Loop& loop = loops.front();
    const std::uint64_t skipped = to + reach > begin_ ? 0 : (begin_ - to - reach) / loop.to + 1;
    const std::uint64_t last = to < end_ ? (end_ - 1 - to) / loop.to + 1 : 0;
    const std::uint64_t count = std::min(loop.count, last);
    if (skipped >= count) {
      return {};
    }
    if (loops.size() == 1) {
      return copy(walk, from + skipped * loop.from, to + skipped * loop.to,
                  {count - skipped, loop.from, loop.to});
    }
    for (std::uint64_t i = skipped; i < count; ++i) {
      ASSAY_TRY(go(walk, level + 1, from + i * loop.from, to + i * loop.to));
    }
    return {};
  }

  // Copies elements, all of which lie in the block.
  Status copy(const Walk& walk, std::uint64_t from, std::uint64_t to, Loop loop) {
    const std::uint64_t wide = walk.cast ? 4 : width_;
    const std::uint64_t in_window = kEntryWindow / wide;
    while (loop.count > 0) {
      const std::uint64_t index = from / in_window;
      const std::uint64_t left = (index + 1) * in_window - from;
      const std::uint64_t count = std::min(loop.count, (left + loop.from - 1) / loop.from);
      ASSAY_ASSIGN(const ByteView window, entries_.window(walk.entry, index));
      put(walk.cast, window.subspan((from - index * in_window) * wide),
          block_.subspan((to - begin_) * width_), {count, loop.from, loop.to});
      from += count * loop.from;
      to += count * loop.to;
      loop.count -= count;
    }
    return {};
  }

  void put(bool cast, ByteView in, std::span<std::uint8_t> out, const Loop& loop) const {
    if (loop.from == 1 && loop.to == 1) {
      if (cast) {
        gpu_hash::cast_f32(in.first(4 * loop.count), half_, out.first(2 * loop.count));
      } else {
        std::memcpy(out.data(), in.data(), loop.count * width_);
      }
      return;
    }
    const std::uint64_t wide = cast ? 4 : width_;
    for (std::uint64_t i = 0; i < loop.count; ++i) {
      const ByteView one = in.subspan(i * loop.from * wide, wide);
      const auto place = out.subspan(i * loop.to * width_, width_);
      if (cast) {
        gpu_hash::cast_f32(one, half_, place);
      } else {
        std::memcpy(place.data(), one.data(), width_);
      }
    }
  }

  VerifiedEntries& entries_;
  std::uint64_t width_;  // bytes of an element of the tensor
  gpu_hash::HalfType half_;
  std::vector<Walk> walks_;
  std::span<std::uint8_t> block_;
  std::uint64_t begin_ = 0;  // elements of the tensor that block_ has
  std::uint64_t end_ = 0;
};

// The entry whose bytes a tensor has as they are; null: none.
const TensorEntry* unchanged(std::span<const LayoutPiece> pieces, const LayoutTensor& tensor,
                             const LayoutEntries& manifest) {
  if (pieces.size() != 1 || pieces.front().cast) {
    return nullptr;
  }
  const TensorEntry& entry = manifest.at(pieces.front().entry);
  const Walk walk = walk_of(pieces.front(), entry.shape);
  const bool in_order = walk.loops.empty() || (walk.loops.size() == 1 && walk.loops[0].to == 1 &&
                                               walk.loops[0].from == 1);
  const std::uint64_t count = walk.loops.empty() ? 1 : walk.loops[0].count;
  const auto all = [count](const std::vector<std::uint64_t>& shape) {
    std::uint64_t product = 1;
    for (const std::uint64_t length : shape) {
      product *= length;
    }
    return product == count;
  };
  return in_order && all(entry.shape) && all(tensor.shape) ? &entry : nullptr;
}

struct Recipe {
  const Artifact& artifact;
  LayoutEntries manifest;
  VerifiedEntries entries;
  gpu_hash::Engine& engine;
  std::stop_token stop;
  Bytes block;
  std::size_t steps = kMaxLayoutSteps;

  Result<Digest> root_of(const LayoutTensor& tensor) {
    ASSAY_ASSIGN(const std::vector<LayoutPiece> pieces, pieces_of(tensor, manifest, steps));
    if (const TensorEntry* const entry = unchanged(pieces, tensor, manifest); entry != nullptr) {
      return entry->root;
    }
    std::uint64_t size = element_bytes(tensor.dtype).value_or(0);
    for (const std::uint64_t length : tensor.shape) {
      size *= length;
    }
    Filler filler(entries, manifest, tensor, pieces);
    std::vector<Digest> digests;
    for (std::uint64_t at = 0; at < size; at += block.size()) {
      const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), size - at));
      ASSAY_TRY(filler.fill(at / element_bytes(tensor.dtype).value_or(1), part));
      ASSAY_TRY(hash(part, digests));
    }
    return merkle_root(artifact.parameters.hash, digests);
  }

  // Adds the digests of windows, which are nodes of the tree of the tensor.
  Status hash(ByteView part, std::vector<Digest>& digests) {
    std::vector<gpu_hash::Region> regions;
    for (std::uint64_t at = 0; at < part.size(); at += kEntryWindow) {
      regions.push_back(gpu_hash::host_region(
          part.subspan(at, std::min<std::uint64_t>(kEntryWindow, part.size() - at))));
    }
    ASSAY_ASSIGN(const std::vector<gpu_hash::ObjectDigests> hashed,
                 engine.hash(regions, {artifact.parameters, 0, {}, stop}));
    for (const gpu_hash::ObjectDigests& one : hashed) {
      digests.push_back(one.root);
    }
    return {};
  }
};

}  // namespace

Result<std::vector<std::vector<Digest>>> expected_roots(const Layout& layout,
                                                        const Artifact& artifact, EntryBytes& bytes,
                                                        gpu_hash::Engine& engine,
                                                        const std::stop_token& stop,
                                                        const RecipeLimits& limits) {
  Recipe recipe{artifact,
                LayoutEntries(artifact),
                VerifiedEntries(artifact, bytes, engine, limits.windows, stop),
                engine,
                stop,
                Bytes(limits.block)};
  std::vector<std::vector<Digest>> roots;
  for (const LayoutRank& rank : layout.ranks) {
    std::vector<Digest>& own = roots.emplace_back();
    for (const LayoutTensor& tensor : rank.tensors) {
      ASSAY_ASSIGN(Digest root, recipe.root_of(tensor));
      own.push_back(std::move(root));
    }
  }
  return roots;
}

}  // namespace assay::worker
