// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/resident/plan.h"

#include <algorithm>
#include <bit>

namespace assay::gpu_hash {
namespace {

// Where chunks start in the side buffer, and where the fast kernel wants them.
constexpr std::uint64_t kAlignment = 16;
// A run at an odd address is copied when it is no longer than this; longer ones are hashed where
// they are, by the slower kernel.
constexpr std::uint64_t kMaxCopiedRun = std::uint64_t{4} << 20;
constexpr std::uint64_t kMaxSideBytes = std::uint64_t{64} << 20;  // of such copies in a batch
// Bytes of one buffer that are worth a launch of their own, which need not look for the buffer.
constexpr std::uint64_t kLargeLaunch = std::uint64_t{4} << 30;

std::uint64_t choose_segment(const HashRequest& request, std::uint32_t slots) {
  const std::uint64_t most = std::uint64_t{std::bit_floor(slots)} * request.parameters.chunk_size;
  return request.outline_span == 0 ? most : std::min(most, request.outline_span);
}

// Number of `memory` among `known`, which grows when it is new.
std::uint32_t number_of(std::vector<const DeviceMemory*>& known, const DeviceMemory* memory) {
  // Runs follow one another in memory, so it is mostly the last one.
  for (std::size_t i = known.size(); i > 0; --i) {
    if (known[i - 1] == memory) {
      return static_cast<std::uint32_t>(i - 1);
    }
  }
  known.push_back(memory);
  return static_cast<std::uint32_t>(known.size() - 1);
}

bool fits(const std::vector<const DeviceMemory*>& known, const DeviceMemory* memory,
          std::uint32_t limit) {
  return known.size() < limit || known.back() == memory ||
         std::ranges::find(known, memory) != known.end();
}

}  // namespace

ResidentPlan::ResidentPlan(std::span<const Region> regions, std::span<const std::uint64_t> sizes,
                           const HashRequest& request, const Limits& limits)
    : regions_(regions),
      limits_(limits),
      chunk_size_(request.parameters.chunk_size),
      log_chunk_(static_cast<unsigned>(std::countr_zero(chunk_size_))),
      segment_size_(choose_segment(request, limits.segment)),
      cursor_(sizes, segment_size_) {}

void ResidentBatch::clear() {
  if (!launches.empty()) {
    spare = std::move(launches.front().runs);
    spare.clear();
  }
  segments.clear();
  first_slot.assign(1, 0);
  launches.clear();
  copies.clear();
  side_bytes = 0;
}

bool ResidentPlan::next(ResidentBatch& batch) {
  batch.clear();
  // Most objects are one segment and one run.
  const std::size_t likely =
      std::min<std::size_t>(regions_.size() - cursor_.region() + 1, limits_.slots);
  batch.segments.reserve(likely);
  batch.first_slot.reserve(likely + 1);
  for (;;) {
    if (!waiting_) {
      add_neighbours(batch);
      waiting_ = cursor_.next();
    }
    if (!waiting_) {
      break;
    }
    const std::uint64_t chunks = chunks_of(waiting_->size);
    const std::uint32_t first = batch.first_slot.back();
    if (chunks > limits_.slots - first) {
      break;
    }
    add_segment(batch, *waiting_);
    batch.segments.push_back(*waiting_);
    batch.first_slot.push_back(first + static_cast<std::uint32_t>(chunks));
    waiting_.reset();
  }
  return !batch.segments.empty();
}

void ResidentPlan::advance(const Region& region, std::uint64_t size) {
  place_.offset += size;
  while (place_.piece < region.pieces.size() &&
         place_.offset >= piece_size(region.pieces[place_.piece])) {
    place_.offset -= piece_size(region.pieces[place_.piece]);
    ++place_.piece;
  }
}

void ResidentPlan::add_neighbours(ResidentBatch& batch) {
  if (batch.launches.empty() || batch.launches.back().memory.size() != 1 ||
      !batch.launches.back().aligned) {
    return;
  }
  PlannedLaunch& launch = batch.launches.back();
  const DeviceMemory* const memory = launch.memory.front();
  const std::uint32_t begin = batch.first_slot.back();
  std::uint32_t slot = begin;
  std::size_t at = cursor_.region();
  for (; cursor_.is_one_segment(at) && regions_[at].pieces.size() == 1; ++at) {
    const auto& piece = std::get<DevicePiece>(regions_[at].pieces.front());
    const std::uint64_t chunks = chunks_of(piece.size);
    if (piece.memory.get() != memory || piece.offset % kAlignment != 0 ||
        chunks > limits_.slots - slot) {
      break;
    }
    slot += static_cast<std::uint32_t>(chunks);
    launch.runs.push_back({piece.offset, piece.size, 0});
    batch.segments.push_back({at, 0, piece.size});
    batch.first_slot.push_back(slot);
  }
  launch.slots += slot - begin;
  cursor_.skip_to(at);
}

void ResidentPlan::add_segment(ResidentBatch& batch, const Segment& segment) {
  if (segment.region != region_) {
    region_ = segment.region;
    place_ = {};
  }
  const Region& region = regions_[segment.region];
  advance(region, 0);  // over empty pieces
  std::uint64_t rest = segment.size;
  while (rest > 0) {
    const auto& piece = std::get<DevicePiece>(region.pieces[place_.piece]);
    const std::uint64_t here = std::min(rest, piece.size - place_.offset);
    const std::uint64_t begin = piece.offset + place_.offset;
    // Whole chunks, or the end of the segment.
    const std::uint64_t whole = here == rest ? here : here / chunk_size_ * chunk_size_;
    const bool copy = begin % kAlignment != 0 && whole <= kMaxCopiedRun &&
                      batch.side_bytes + whole <= kMaxSideBytes;
    if (whole > 0 && !copy) {
      add_run(batch, piece.memory.get(), begin, whole);
      advance(region, whole);
      rest -= whole;
    } else {
      const std::uint64_t size =
          std::min<std::uint64_t>(rest, std::max<std::uint64_t>(whole, chunk_size_));
      add_copied(batch, region, size);
      rest -= size;
    }
  }
}

void ResidentPlan::add_run(ResidentBatch& batch, const DeviceMemory* memory, std::uint64_t offset,
                           std::uint64_t size) {
  const bool aligned = offset % kAlignment == 0;
  const auto large = [&](const PlannedLaunch& launch) {
    return launch.memory.size() == 1 && launch.memory.front() != memory &&
           std::uint64_t{launch.slots} * chunk_size_ >= kLargeLaunch;
  };
  if (batch.launches.empty() || batch.launches.back().aligned != aligned ||
      large(batch.launches.back()) ||
      !fits(batch.launches.back().memory, memory, limits_.buffers)) {
    PlannedLaunch launch;
    launch.first_slot =
        batch.launches.empty() ? 0 : batch.launches.back().first_slot + batch.launches.back().slots;
    launch.aligned = aligned;
    if (batch.launches.empty()) {
      launch.runs = std::move(batch.spare);
      launch.runs.reserve(batch.segments.capacity());
    }
    batch.launches.push_back(std::move(launch));
  }
  PlannedLaunch& launch = batch.launches.back();
  launch.runs.push_back({offset, size, number_of(launch.memory, memory)});
  launch.slots += static_cast<std::uint32_t>(chunks_of(size));
}

void ResidentPlan::add_copied(ResidentBatch& batch, const Region& region, std::uint64_t size) {
  const std::uint64_t begin = (batch.side_bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::uint64_t to = begin;
  for (std::uint64_t rest = size; rest > 0;) {
    const auto& piece = std::get<DevicePiece>(region.pieces[place_.piece]);
    // Parts of at most a chunk, so that many work-groups share the work.
    const std::uint64_t take =
        std::min<std::uint64_t>({rest, piece.size - place_.offset, chunk_size_});
    if (batch.copies.empty() ||
        !fits(batch.copies.back().memory, piece.memory.get(), limits_.buffers)) {
      batch.copies.emplace_back();
    }
    PlannedCopies& copies = batch.copies.back();
    copies.copies.push_back({number_of(copies.memory, piece.memory.get()),
                             static_cast<std::uint32_t>(take), piece.offset + place_.offset, to});
    advance(region, take);
    to += take;
    rest -= take;
  }
  batch.side_bytes = to;
  add_run(batch, nullptr, begin, size);
}

}  // namespace assay::gpu_hash
