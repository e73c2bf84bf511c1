// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/spread/plan.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "schemas/core/merkle.h"

namespace assay::gpu_hash {
namespace {

// More parts than this of one object would only cost memory.
constexpr std::uint64_t kMaxParts = 65536;

Piece sub_piece(Piece piece, std::uint64_t offset, std::uint64_t size) {
  if (auto* host = std::get_if<HostPiece>(&piece)) {
    host->bytes = host->bytes.subspan(offset, size);
  } else if (auto* file = std::get_if<FilePiece>(&piece)) {
    file->offset += offset;
    file->size = size;
  } else {
    auto& device = std::get<DevicePiece>(piece);
    device.offset += offset;
    device.size = size;
  }
  return piece;
}

// Hands out a region from its beginning, so that cutting takes time in proportion to pieces and
// parts, not to their product.
class RegionCursor {
 public:
  explicit RegionCursor(const Region& region) : region_(region) {}

  Region take(std::uint64_t size) {
    Region result;
    while (size > 0) {
      const Piece& piece = region_.pieces[piece_];
      const std::uint64_t length = piece_size(piece);
      const std::uint64_t bytes = std::min(size, length - offset_);
      if (bytes > 0) {
        result.pieces.push_back(sub_piece(piece, offset_, bytes));
      }
      size -= bytes;
      offset_ += bytes;
      if (offset_ == length) {
        ++piece_;
        offset_ = 0;
      }
    }
    return result;
  }

 private:
  const Region& region_;
  std::size_t piece_ = 0;
  std::uint64_t offset_ = 0;  // bytes in the piece
};

// Size of the largest part that begins at `begin`: a subtree of at most `most` bytes that ends at
// `end` at the latest. Sizes that are no power of two are left to the end of the object.
std::uint64_t part_size(std::uint64_t begin, std::uint64_t end, std::uint64_t object,
                        std::uint64_t most) {
  const std::uint64_t aligned = begin == 0 ? most : std::min(most, begin & (~begin + 1));
  if (aligned <= end - begin) {
    return aligned;
  }
  return end == object ? end - begin : std::bit_floor(end - begin);
}

// A region as the engines know its memory, with the runs of bytes that belong together.
struct Homed {
  struct Run {
    std::uint64_t end;  // bytes in the object
    std::optional<std::size_t> member;
  };
  Region region;
  std::vector<Run> runs;
};

class Planner {
 public:
  Planner(std::uint32_t chunk_size, std::uint64_t unit, const FindHome& find)
      : chunk_size_(chunk_size), unit_(unit), find_(find) {}

  Status add(std::size_t number, const Region& region, std::uint64_t size) {
    ASSAY_ASSIGN(Homed homed, find_homes(region));
    if (device_ && other_) {
      return fail(ErrorCode::kInvalidParameter,
                  "device memory and other pieces cannot be hashed in one call");
    }
    if (size == 0) {
      return {};
    }
    const std::uint64_t most =
        device_ ? std::uint64_t{1} << 63 : std::max(unit_, std::bit_ceil(size / kMaxParts));
    if (homed.runs.size() == 1 && size <= most) {
      parts_.push_back({number, 0, size, homed.runs[0].member, std::move(homed.region)});
      return {};
    }
    RegionCursor cursor(homed.region);
    std::uint64_t at = 0;
    for (const Homed::Run& run : homed.runs) {
      if (run.end != size && run.end % chunk_size_ != 0) {
        return fail(ErrorCode::kInvalidParameter,
                    "a chunk lies in the memory of two devices: an object may go from one to the "
                    "other only at a multiple of the chunk size");
      }
      while (at < run.end) {
        const std::uint64_t bytes = part_size(at, run.end, size, most);
        parts_.push_back({number, at, bytes, run.member, cursor.take(bytes)});
        at += bytes;
      }
    }
    return {};
  }

  [[nodiscard]] std::vector<SpreadPart> take() { return std::move(parts_); }

 private:
  Result<Homed> find_homes(const Region& region) {
    Homed homed;
    homed.region.pieces.reserve(region.pieces.size());
    std::uint64_t end = 0;
    for (const Piece& piece : region.pieces) {
      std::optional<std::size_t> member;
      homed.region.pieces.push_back(piece);
      if (std::holds_alternative<DevicePiece>(piece)) {
        device_ = true;
        ASSAY_ASSIGN(member, find_home(std::get<DevicePiece>(homed.region.pieces.back())));
      } else {
        other_ = true;
      }
      if (piece_size(piece) == 0) {
        homed.region.pieces.pop_back();
        continue;
      }
      end += piece_size(piece);
      if (homed.runs.empty() || homed.runs.back().member != member) {
        homed.runs.push_back({end, member});
      }
      homed.runs.back().end = end;
    }
    return homed;
  }

  Result<std::size_t> find_home(DevicePiece& piece) {
    if (piece.memory == nullptr || piece.offset > piece.memory->size() ||
        piece.size > piece.memory->size() - piece.offset) {
      return fail(ErrorCode::kInvalidParameter, "a piece lies outside its device memory");
    }
    ASSAY_ASSIGN(MemoryHome home, find_(piece.memory));
    piece.memory = std::move(home.memory);
    return home.member;
  }

  std::uint32_t chunk_size_;
  std::uint64_t unit_;
  const FindHome& find_;
  bool device_ = false;
  bool other_ = false;
  std::vector<SpreadPart> parts_;
};

}  // namespace

Result<std::vector<SpreadPart>> plan_parts(std::span<const Region> regions,
                                           std::span<const std::uint64_t> sizes,
                                           std::uint32_t chunk_size, std::uint64_t unit,
                                           const FindHome& find) {
  Planner planner(chunk_size, unit, find);
  for (std::size_t i = 0; i < regions.size(); ++i) {
    ASSAY_TRY(planner.add(i, regions[i], sizes[i]));
  }
  return planner.take();
}

void SubtreeFold::push(Peaks& peaks, Peak peak) {
  // The only subtree whose chunks are no power of two is the last, and no peak is like it.
  while (!peaks.empty() && peaks.back().chunks == peak.chunks) {
    peak = {merkle_node(peaks.back().digest, peak.digest), 2 * peak.chunks};
    peaks.pop_back();
  }
  peaks.push_back(std::move(peak));
}

SubtreeFold::Peak SubtreeFold::join(const Peaks& peaks) {
  Peak root = peaks.back();
  for (std::size_t i = peaks.size() - 1; i-- > 0;) {
    root = {merkle_node(peaks[i].digest, root.digest), peaks[i].chunks + root.chunks};
  }
  return root;
}

void SubtreeFold::append(const Digest& digest, std::uint64_t chunks) {
  if (chunks_per_span_ == 0) {
    push(object_, {digest, chunks});
    return;
  }
  push(span_, {digest, chunks});
  in_span_ += chunks;
  if (in_span_ == chunks_per_span_) {
    close_span();
  }
}

void SubtreeFold::close_span() {
  Peak span = join(span_);
  outline_.push_back(span.digest);
  push(object_, std::move(span));
  span_.clear();
  in_span_ = 0;
}

ObjectDigests SubtreeFold::finish() {
  if (in_span_ > 0) {
    close_span();
  }
  return {join(object_).digest, std::move(outline_)};
}

SpreadTable::SpreadTable(std::span<const SpreadPart> parts, std::span<const std::uint64_t> sizes,
                         const HashRequest& request)
    : parts_(parts),
      sizes_(sizes),
      chunk_size_(request.parameters.chunk_size),
      span_(request.outline_span),
      results_(sizes.size(), ObjectDigests{merkle_empty(request.parameters.hash), {}}),
      missing_(parts.size()) {}

Status SpreadTable::add(std::size_t number, ObjectDigests digests) {
  const SpreadPart& part = parts_[number];
  const std::uint64_t expected = span_ == 0 ? 0 : (part.size - 1) / span_ + 1;
  if (missing_ == 0 || digests.outline.size() != expected) {
    return fail(ErrorCode::kInternal, "an engine gave more or fewer digests than it was asked for");
  }
  --missing_;
  if (part.size == sizes_[part.region]) {
    results_[part.region] = std::move(digests);
    return {};
  }
  const auto found =
      work_.try_emplace(part.region, Work{SubtreeFold(span_ / chunk_size_), 0}).first;
  Work& work = found->second;
  if (part.offset != work.next) {
    waiting_.emplace(number, std::move(digests));
    return {};
  }
  bool last = append(work, part, digests);
  // Parts of an object follow one another.
  for (auto next = waiting_.find(++number); !last && next != waiting_.end();
       next = waiting_.find(++number)) {
    last = append(work, parts_[number], next->second);
    waiting_.erase(next);
  }
  if (last) {
    results_[part.region] = work.fold.finish();
    work_.erase(found);
  }
  return {};
}

bool SpreadTable::append(Work& work, const SpreadPart& part, const ObjectDigests& digests) const {
  const auto chunks = [this](std::uint64_t bytes) { return (bytes - 1) / chunk_size_ + 1; };
  if (span_ == 0) {
    work.fold.append(digests.root, chunks(part.size));
  }
  std::uint64_t at = 0;
  for (const Digest& digest : digests.outline) {
    const std::uint64_t bytes = std::min(span_, part.size - at);
    work.fold.append(digest, chunks(bytes));
    at += bytes;
  }
  work.next += part.size;
  return work.next == sizes_[part.region];
}

Result<std::vector<ObjectDigests>> SpreadTable::take() {
  if (missing_ != 0 || !work_.empty()) {
    return fail(ErrorCode::kInternal, "an engine ended without the digests of every object");
  }
  return std::move(results_);
}

}  // namespace assay::gpu_hash
