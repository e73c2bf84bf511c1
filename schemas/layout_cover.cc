// SPDX-License-Identifier: Apache-2.0
#include "schemas/layout_cover.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace assay {
namespace {

std::uint64_t end_of(const GridSpan& span) { return span.start + span.size; }

bool share(const GridBox& a, const GridBox& b) {
  return std::ranges::equal(a, b, [](const GridSpan& left, const GridSpan& right) {
    return left.start < end_of(right) && right.start < end_of(left);
  });
}

// The axis along which the boxes have the most different starts: few of them meet there.
std::size_t best_axis(const std::vector<GridBox>& boxes) {
  std::size_t best = 0;
  std::size_t most = 0;
  for (std::size_t axis = 0; axis < boxes.front().size(); ++axis) {
    std::vector<std::uint64_t> starts;
    for (const GridBox& box : boxes) {
      starts.push_back(box[axis].start);
    }
    std::ranges::sort(starts);
    const auto rest = std::ranges::unique(starts);
    const std::size_t different = starts.size() - rest.size();
    if (different > most) {
      most = different;
      best = axis;
    }
  }
  return best;
}

// Whether two boxes share elements: boxes in the order of their starts along one axis, each
// compared with those before it that have not ended.
Result<bool> overlap(std::vector<GridBox>& boxes, std::uint64_t& steps) {
  if (boxes.size() < 2 || boxes.front().empty()) {
    return boxes.size() > 1;
  }
  const std::size_t axis = best_axis(boxes);
  std::ranges::sort(boxes, {}, [axis](const GridBox& box) { return box[axis].start; });
  std::vector<const GridBox*> open;
  for (const GridBox& box : boxes) {
    std::erase_if(open,
                  [&](const GridBox* other) { return end_of((*other)[axis]) <= box[axis].start; });
    if (open.size() >= steps) {
      return fail(ErrorCode::kLimitExceeded, "too many parts of an entry lie side by side");
    }
    steps -= open.size() + 1;
    if (std::ranges::any_of(open, [&](const GridBox* other) { return share(*other, box); })) {
      return true;
    }
    open.push_back(&box);
  }
  return false;
}

std::uint64_t volume(const GridBox& box) {
  return std::accumulate(
      box.begin(), box.end(), std::uint64_t{1},
      [](std::uint64_t product, const GridSpan& span) { return product * span.size; });
}

}  // namespace

Result<GridCover> cover_of(const std::vector<std::uint64_t>& shape, std::vector<GridBox> boxes,
                           std::uint64_t& steps) {
  GridCover cover;
  std::ranges::sort(boxes);
  const auto again = std::ranges::unique(boxes);
  cover.repeated = !again.empty();
  boxes.erase(again.begin(), again.end());
  ASSAY_ASSIGN(cover.overlaps, overlap(boxes, steps));
  if (!cover.overlaps) {
    // Disjoint boxes have no more elements than the grid.
    const std::uint64_t used =
        std::transform_reduce(boxes.begin(), boxes.end(), std::uint64_t{0}, std::plus<>(), volume);
    cover.whole =
        used == std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
  }
  return cover;
}

}  // namespace assay
