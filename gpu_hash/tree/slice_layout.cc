// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/tree/slice_layout.h"

#include <algorithm>
#include <ranges>

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

std::vector<TreeLevel> tree_levels(std::span<const std::uint32_t> first_slot) {
  std::vector<TreeLevel> result;
  for (std::uint32_t level = 0;; ++level) {
    TreeLevel table{level, 0, std::vector<std::uint32_t>(first_slot.size())};
    std::uint32_t* first_pair = table.first_pair.data();
    for (std::size_t s = 0; s + 1 < first_slot.size(); ++s) {
      *first_pair++ = table.pairs;
      // Nodes of this level: the chunks divided by 2^level, rounded up.
      const std::uint64_t chunks = first_slot[s + 1] - first_slot[s];
      const std::uint64_t nodes = (chunks + (std::uint64_t{1} << level) - 1) >> level;
      table.pairs += static_cast<std::uint32_t>(nodes / 2);
    }
    *first_pair = table.pairs;
    if (table.pairs == 0) {
      return result;
    }
    result.push_back(std::move(table));
  }
}

}  // namespace assay::gpu_hash
