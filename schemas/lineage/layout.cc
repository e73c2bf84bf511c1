// SPDX-License-Identifier: Apache-2.0
// Columns are the longest ways to the newest things. An arrow that crosses columns gets a passage
// in each of them, which is laid out as a low box. Boxes of a column are ordered, and then moved,
// towards the middle of what they are joined with.
#include "schemas/lineage/layout.h"

#include <algorithm>
#include <map>
#include <utility>

namespace assay {
namespace {

constexpr int kColumn = kLineageBoxWidth + kLineageGap;
constexpr int kBetween = 30;            // free height between boxes
constexpr int kPassage = 10;            // height of a passage
constexpr int kSweeps = 6;              // in each direction
constexpr std::size_t kMaxRounds = 65;  // no lineage is deeper
constexpr std::size_t kMaxPassages = 20'000;

// A box, or a passage, in a column.
struct Item {
  int height = 0;
  double middle = 0;
  std::vector<std::size_t> left;  // items in the column to the left that it is joined with
  std::vector<std::size_t> right;
};

class Layout {
 public:
  Layout(const LineageGraph& graph, std::span<const int> heights) : graph_(graph) {
    choose_columns();
    items_.resize(graph.nodes.size());
    columns_.resize(static_cast<std::size_t>(count_));
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      items_[i].height = heights[i];
      columns_[column_of(i)].push_back(i);
    }
    join_edges();
    make_passages();
    stack();
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      sweep_all(true);
      sweep_all(false);
    }
    sweep_all(graph.down);
  }

  LineageLayout result() {
    double top = items_.front().middle;
    double bottom = top;
    for (const Item& item : items_) {
      top = std::min(top, item.middle - item.height / 2.0);
      bottom = std::max(bottom, item.middle + item.height / 2.0);
    }
    const auto place = [&](std::size_t item, std::size_t column) {
      return LineagePoint{kLineageMargin + static_cast<int>(column) * kColumn,
                          kLineageMargin + static_cast<int>(items_[item].middle - top)};
    };
    LineageLayout made;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      LineagePoint corner = place(i, column_of(i));
      corner.y -= items_[i].height / 2;
      made.corners.push_back(corner);
    }
    for (std::size_t i = 0; i < arrows_.size(); ++i) {
      for (std::size_t k = 0; k < passages_[i].size(); ++k) {
        LineagePoint point = place(passages_[i][k], column_of(arrows_[i].from) + 1 + k);
        point.x += kLineageBoxWidth / 2;
        arrows_[i].passages.push_back(point);
      }
    }
    made.arrows = std::move(arrows_);
    made.width = kLineageMargin * 2 + (count_ - 1) * kColumn + kLineageBoxWidth;
    made.height = kLineageMargin * 2 + static_cast<int>(bottom - top);
    return made;
  }

 private:
  std::size_t column_of(std::size_t node) const { return static_cast<std::size_t>(column_[node]); }

  // The longest way counts, so that every arrow goes to the right. On a cycle nothing does: rounds
  // are limited.
  void choose_columns() {
    column_.assign(graph_.nodes.size(), 0);
    for (std::size_t round = 0; round < std::min(graph_.nodes.size(), kMaxRounds); ++round) {
      bool changed = false;
      for (const LineageGraph::Edge& edge : graph_.edges) {
        int& near = column_[graph_.down ? edge.to : edge.from];
        const int far = column_[graph_.down ? edge.from : edge.to] + 1;
        if (edge.from != edge.to && near < far) {
          near = far;
          changed = true;
        }
      }
      if (!changed) {
        break;
      }
    }
    const int last = *std::max_element(column_.begin(), column_.end());
    std::map<int, int> used;  // columns that a cycle left empty are taken out
    for (int& column : column_) {
      column = graph_.down ? column : last - column;
      used[column] = 0;
    }
    for (auto& [column, place] : used) {
      place = count_++;
    }
    for (int& column : column_) {
      column = used.at(column);
    }
  }

  void join_edges() {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> known;
    for (const LineageGraph::Edge& edge : graph_.edges) {
      const auto [found, made] = known.emplace(std::pair(edge.from, edge.to), arrows_.size());
      if (made) {
        const bool back = column_of(edge.from) >= column_of(edge.to);
        arrows_.push_back({edge.from, edge.to, edge.role, {}, back});
      } else if (std::string& label = arrows_[found->second].label;
                 (", " + label + ",").find(", " + edge.role + ",") == std::string::npos) {
        label += ", " + edge.role;
      }
    }
  }

  void make_passages() {
    passages_.resize(arrows_.size());
    std::size_t needed = 0;
    for (const LineageArrow& arrow : arrows_) {
      needed += arrow.back ? 0 : column_of(arrow.to) - column_of(arrow.from) - 1;
    }
    for (std::size_t i = 0; i < arrows_.size(); ++i) {
      const LineageArrow& arrow = arrows_[i];
      if (arrow.back) {
        continue;
      }
      std::size_t before = arrow.from;
      if (needed <= kMaxPassages) {
        for (std::size_t c = column_of(arrow.from) + 1; c < column_of(arrow.to); ++c) {
          const std::size_t passage = items_.size();
          items_.push_back({kPassage, 0, {}, {}});
          columns_[c].push_back(passage);
          passages_[i].push_back(passage);
          join(before, passage);
          before = passage;
        }
      }
      if (needed <= kMaxPassages || column_of(arrow.to) == column_of(arrow.from) + 1) {
        join(before, arrow.to);
      }
    }
  }

  void join(std::size_t left, std::size_t right) {
    items_[left].right.push_back(right);
    items_[right].left.push_back(left);
  }

  void stack() {
    for (const auto& column : columns_) {
      double y = 0;
      for (const std::size_t i : column) {
        items_[i].middle = y + items_[i].height / 2.0;
        y += items_[i].height + kBetween;
      }
      for (const std::size_t i : column) {
        items_[i].middle -= y / 2;
      }
    }
  }

  // Moves the items of each column towards what they are joined with on one side.
  void sweep_all(bool rightwards) {
    for (std::size_t step = 0; step < columns_.size(); ++step) {
      settle(columns_[rightwards ? step : columns_.size() - 1 - step], rightwards);
    }
  }

  double wish_of(const Item& item, bool rightwards) const {
    const std::vector<std::size_t>& joined = rightwards ? item.left : item.right;
    double sum = 0;
    for (const std::size_t other : joined) {
      sum += items_[other].middle;
    }
    return joined.empty() ? item.middle : sum / static_cast<double>(joined.size());
  }

  void settle(std::vector<std::size_t>& column, bool rightwards) {
    std::map<std::size_t, double> wish;
    for (const std::size_t i : column) {
      wish[i] = wish_of(items_[i], rightwards);
    }
    std::stable_sort(column.begin(), column.end(),
                     [&](std::size_t a, std::size_t b) { return wish.at(a) < wish.at(b); });
    double end = 0;
    double moved = 0;
    bool first = true;
    for (const std::size_t i : column) {
      Item& item = items_[i];
      const double least = end + kBetween + item.height / 2.0;
      item.middle = first ? wish.at(i) : std::max(wish.at(i), least);
      end = item.middle + item.height / 2.0;
      moved += item.middle - wish.at(i);
      first = false;
    }
    // Boxes in the way pushed others down: the column goes up again by the mean of that.
    for (const std::size_t i : column) {
      items_[i].middle -= moved / static_cast<double>(column.size());
    }
  }

  const LineageGraph& graph_;
  std::vector<int> column_;  // of each node
  int count_ = 0;
  std::vector<Item> items_;  // the nodes first
  std::vector<std::vector<std::size_t>> columns_;
  std::vector<LineageArrow> arrows_;
  std::vector<std::vector<std::size_t>> passages_;  // of each arrow, items
};

}  // namespace

LineageLayout lay_out(const LineageGraph& graph, std::span<const int> heights) {
  return Layout(graph, heights).result();
}

}  // namespace assay
