// SPDX-License-Identifier: Apache-2.0
// Where the boxes and arrows of a lineage's picture go.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "schemas/lineage/graph.h"

namespace assay {

inline constexpr int kLineageMargin = 36;  // around the whole picture
inline constexpr int kLineageBoxWidth = 312;
inline constexpr int kLineageGap = 128;  // between columns, where arrows and their labels are

struct LineagePoint {
  int x = 0;
  int y = 0;
};

// One arrow for all edges between the same two nodes.
struct LineageArrow {
  std::size_t from = 0;
  std::size_t to = 0;
  std::string label;  // roles, in order, distinct
  // The middles of the passages between boxes that it goes through, from left to right. Empty: its
  // ends are in neighbouring columns, or it goes back.
  std::vector<LineagePoint> passages;
  bool back = false;  // part of a cycle: it does not go to the right
};

struct LineageLayout {
  std::vector<LineagePoint> corners;  // of the nodes: left, top
  std::vector<LineageArrow> arrows;
  int width = 0;
  int height = 0;
};

// Lays the graph out in columns, origins left: boxes of the heights in `heights`, one for each
// node, never overlap, and an arrow passes beside the boxes in the columns that it crosses, unless
// there are too many arrows. A pure function: the same graph gives the same layout.
[[nodiscard]] LineageLayout lay_out(const LineageGraph& graph, std::span<const int> heights);

}  // namespace assay
