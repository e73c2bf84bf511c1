// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/tree/slice_layout.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <utility>

namespace assay::gpu_hash {

void SliceLayout::clear() {
  segments_.clear();
  extents_.clear();
  first_slot_.assign(1, 0);
  bytes_ = 0;
  payload_ = 0;
}

bool SliceLayout::add(const Segment& segment) {
  const std::uint64_t mask = limits_.alignment - 1;
  const std::uint64_t begin = (bytes_ + mask) & ~mask;
  const std::uint64_t chunks = (segment.size + chunk_size_ - 1) / chunk_size_;
  if (begin > limits_.bytes || segment.size > limits_.bytes - begin ||
      chunks > limits_.slots - slots()) {
    return false;
  }
  segments_.push_back(segment);
  extents_.push_back(begin);
  extents_.push_back(segment.size);
  first_slot_.push_back(slots() + static_cast<std::uint32_t>(chunks));
  bytes_ = begin + segment.size;
  payload_ += segment.size;
  return true;
}

std::size_t SliceLayout::find(std::uint64_t offset) const {
  const auto index = std::views::iota(std::size_t{0}, segments_.size());
  return static_cast<std::size_t>(*std::ranges::partition_point(
      index, [&](std::size_t i) { return extents_[2 * i] + extents_[2 * i + 1] <= offset; }));
}

std::vector<TreeLevels> tree_levels(std::span<const std::uint32_t> first_slot) {
  std::uint32_t most = 0;  // chunks of a segment
  for (std::size_t s = 0; s + 1 < first_slot.size(); ++s) {
    most = std::max(most, first_slot[s + 1] - first_slot[s]);
  }
  const auto height = static_cast<std::uint32_t>(most > 1 ? std::bit_width(most - 1) : 0);
  std::vector<TreeLevels> result;
  for (std::uint32_t level = 0; level < height; level += kLevelsAtOnce) {
    TreeLevels table{level, std::min(kLevelsAtOnce, height - level), 0,
                     std::vector<std::uint32_t>(first_slot.size())};
    const std::uint64_t block = std::uint64_t{1} << (level + table.levels);  // chunks
    std::uint32_t* first_block = table.first_block.data();
    for (std::size_t s = 0; s + 1 < first_slot.size(); ++s) {
      *first_block++ = table.blocks;
      const std::uint64_t chunks = first_slot[s + 1] - first_slot[s];
      const bool joined = chunks <= std::uint64_t{1} << level;
      table.blocks += joined ? 0 : static_cast<std::uint32_t>((chunks + block - 1) / block);
    }
    *first_block = table.blocks;
    result.push_back(std::move(table));
  }
  return result;
}

}  // namespace assay::gpu_hash
