// SPDX-License-Identifier: Apache-2.0
// Whether boxes cover a grid: which elements of an entry the pieces of a layout use
// (schemas/layout_check.h). Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/core/error.h"

namespace assay {

// Indexes [start, start + size) of one axis; `size` is not 0.
struct GridSpan {
  std::uint64_t start;
  std::uint64_t size;
  auto operator<=>(const GridSpan&) const = default;
};
// The same number of axes in each box of a grid.
using GridBox = std::vector<GridSpan>;

struct GridCover {
  bool repeated = false;  // two equal boxes
  bool overlaps = false;  // two boxes that share elements and are not equal
  bool whole = false;     // every element is in a box; false when boxes overlap
};

// `shape` has less than 2^53 elements, and every box lies inside of it. `steps` is the number of
// pairs of boxes that may be compared; those that were are taken off. Errors: limit-exceeded when
// there are more.
[[nodiscard]] Result<GridCover> cover_of(const std::vector<std::uint64_t>& shape,
                                         std::vector<GridBox> boxes, std::uint64_t& steps);

}  // namespace assay
