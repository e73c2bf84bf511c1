// SPDX-License-Identifier: Apache-2.0
// The picture of a lineage. Columns are the longest ways to the newest things; within a column,
// nodes stand near those that they are joined with.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "cli/verbs/lineage_graph.h"

namespace assay::cli {
namespace {

using Kind = LineageGraph::Kind;

constexpr int kBoxWidth = 236;
constexpr int kBoxHeight = 64;
constexpr int kColumn = kBoxWidth + 110;
constexpr int kRow = kBoxHeight + 30;
constexpr int kMargin = 36;
constexpr int kLegend = 64;
constexpr std::size_t kNameShown = 30;
constexpr std::size_t kLineShown = 38;

struct Look {
  Kind kind;
  const char* name;
  const char* fill;
  const char* line;
};
constexpr std::array<Look, 5> kLooks = {{{Kind::kModel, "model", "#e7efff", "#4263eb"},
                                         {Kind::kDataset, "dataset", "#e3f9ea", "#2b8a3e"},
                                         {Kind::kCode, "code", "#fff1de", "#e8590c"},
                                         {Kind::kConfig, "config", "#f6eaff", "#9c36b5"},
                                         {Kind::kOther, "other", "#f1f3f5", "#868e96"}}};
constexpr const char* kAlarm = "#e03131";

const Look& look_of(Kind kind) {
  return *std::find_if(kLooks.begin(), kLooks.end() - 1,
                       [kind](const Look& look) { return look.kind == kind; });
}

// At most `limit` characters, cut between them.
std::string cut(const std::string& text, std::size_t limit) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U && ++characters > limit) {
      return text.substr(0, i) + "...";
    }
  }
  return text;
}

// Text as XML has it: without control characters, which XML cannot say.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return out;
}

std::string number(int value) { return std::to_string(value); }

struct Point {
  int x;
  int y;
};

class Picture {
 public:
  explicit Picture(const LineageGraph& graph) : graph_(graph), column_(graph.nodes.size()) {
    choose_columns();
    choose_rows();
  }

  std::string draw() {
    const int width = kMargin * 2 + (columns_ - 1) * kColumn + kBoxWidth;
    const int height = kMargin * 2 + (rows_ - 1) * kRow + kBoxHeight + kLegend;
    const int wide = std::max(width, kMargin * 2 + 5 * 110 + 120);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(wide) + "\" height=\"" +
           number(height) + "\" viewBox=\"0 0 " + number(wide) + " " + number(height) +
           "\" font-family=\"Inter, 'Segoe UI', Helvetica, Arial, sans-serif\" role=\"img\">\n";
    out_ += "<title>Lineage of " + escaped(graph_.nodes.front().name) + "</title>\n";
    out_ +=
        "<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 1 L9 5 L0 9 Z\" fill=\"#868e96\"/>"
        "</marker></defs>\n";
    out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#fbfcfe\"/>\n";
    for (const LineageGraph::Edge& edge : graph_.edges) {
      draw_edge(edge);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      draw_node(i);
    }
    draw_legend(height - kLegend + 8);
    return out_ + "</svg>\n";
  }

 private:
  // The longest way counts, so that every arrow goes to the right. On a cycle nothing does: rounds
  // are limited.
  void choose_columns() {
    for (std::size_t round = 0; round < std::min<std::size_t>(graph_.nodes.size(), 65); ++round) {
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
    for (int& column : column_) {
      column = graph_.down ? column : last - column;
    }
    // Columns that a cycle left empty are taken out.
    std::map<int, int> used;
    for (const int column : column_) {
      used[column] = 0;
    }
    for (auto& [column, place] : used) {
      place = columns_++;
    }
    for (int& column : column_) {
      column = used.at(column);
    }
  }

  // Each column in the order of the mean height of what its nodes are joined with, from the side of
  // the node that was asked about.
  void choose_rows() {
    std::vector<std::vector<std::size_t>> columns(static_cast<std::size_t>(columns_));
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      columns[static_cast<std::size_t>(column_[i])].push_back(i);
    }
    for (const auto& column : columns) {
      rows_ = std::max(rows_, static_cast<int>(column.size()));
    }
    height_.assign(graph_.nodes.size(), 0.0);
    for (int step = 0; step < columns_; ++step) {
      auto& column = columns[static_cast<std::size_t>(graph_.down ? step : columns_ - 1 - step)];
      std::map<std::size_t, double> wish;
      for (const std::size_t node : column) {
        wish[node] = mean_height(node);
      }
      std::stable_sort(column.begin(), column.end(),
                       [&](std::size_t a, std::size_t b) { return wish[a] < wish[b]; });
      const double top = (rows_ - static_cast<double>(column.size())) / 2;
      for (std::size_t i = 0; i < column.size(); ++i) {
        height_[column[i]] = top + static_cast<double>(i);
      }
    }
  }

  double mean_height(std::size_t node) const {
    double sum = 0;
    int count = 0;
    for (const LineageGraph::Edge& edge : graph_.edges) {
      if ((graph_.down ? edge.to : edge.from) == node) {
        sum += height_[graph_.down ? edge.from : edge.to];
        ++count;
      }
    }
    return count == 0 ? 0 : sum / count;
  }

  Point corner(std::size_t node) const {
    return {kMargin + column_[node] * kColumn, kMargin + static_cast<int>(height_[node] * kRow)};
  }

  void draw_edge(const LineageGraph::Edge& edge) {
    const Point from = corner(edge.from);
    const Point to = corner(edge.to);
    const int y1 = from.y + kBoxHeight / 2;
    const int y2 = to.y + kBoxHeight / 2;
    const int x1 = from.x + kBoxWidth;
    const int bend = (kColumn - kBoxWidth) * 2 / 3;
    const bool back = column_[edge.from] >= column_[edge.to];  // only on a cycle
    out_ += "<path d=\"M" + number(x1) + " " + number(y1) + " C" + number(x1 + bend) + " " +
            number(back ? y1 + kRow : y1) + " " + number(to.x - bend) + " " +
            number(back ? y2 + kRow : y2) + " " + number(to.x - 2) + " " + number(y2) +
            "\" fill=\"none\" stroke=\"" + (back ? kAlarm : "#adb5bd") +
            "\" stroke-width=\"1.6\" marker-end=\"url(#arrow)\"/>\n";
    const int middle = (x1 + (back ? x1 : to.x)) / 2;
    const int height = (y1 + y2) / 2 - 6;
    text({middle, height}, escaped(cut(edge.role, 18)), "middle", "11", "#495057", "");
  }

  void draw_node(std::size_t i) {
    const LineageGraph::Node& node = graph_.nodes[i];
    const Look& look = look_of(node.kind);
    const Point at = corner(i);
    const bool alarm = node.missing || node.cycle;
    out_ += "<g><title>" + escaped(node.digest) + "</title>";
    out_ += "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" +
            number(kBoxWidth) + "\" height=\"" + number(kBoxHeight) + "\" rx=\"12\" fill=\"" +
            look.fill + "\" stroke=\"" + (alarm ? kAlarm : look.line) + "\" stroke-width=\"" +
            (i == 0 ? "2.6" : "1.4") + "\"" + (node.missing ? " stroke-dasharray=\"6 4\"" : "") +
            "/>";
    text({at.x + 14, at.y + 22}, escaped(cut(node.name, kNameShown)), "start", "13", "#212529",
         "600");
    const std::string made = node.cycle     ? "made from itself"
                             : node.missing ? "nobody says where it comes from"
                                            : node.made;
    text({at.x + 14, at.y + 39}, escaped(cut(made, kLineShown)), "start", "11",
         alarm ? kAlarm : "#495057", "");
    const std::string last =
        cut(node.digest, 30) + (node.licence.empty() ? "" : "  " + cut(node.licence, 14));
    text({at.x + 14, at.y + 54}, escaped(last), "start", "10", "#868e96", "");
    out_ += "</g>\n";
  }

  void draw_legend(int y) {
    int x = kMargin;
    for (const Look& look : kLooks) {
      out_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) +
              "\" width=\"18\" height=\"18\" rx=\"5\" fill=\"" + look.fill + "\" stroke=\"" +
              look.line + "\"/>";
      text({x + 26, y + 14}, look.name, "start", "12", "#495057", "");
      x += 110;
    }
    out_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) +
            "\" width=\"18\" height=\"18\" rx=\"5\" fill=\"none\" stroke=\"" + kAlarm +
            "\" stroke-dasharray=\"4 3\"/>";
    text({x + 26, y + 14}, "missing", "start", "12", "#495057", "");
    if (!graph_.reached.empty()) {
      text({kMargin, y + 38}, "The search ended at a limit: something may be missing.", "start",
           "12", kAlarm, "");
    }
    out_ += "\n";
  }

  // `content` is escaped.
  void text(Point at, const std::string& content, const char* anchor, const char* size,
            const char* fill, std::string_view weight) {
    out_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" font-size=\"" + size +
            "\" text-anchor=\"" + anchor + "\" fill=\"" + fill + "\"" +
            (weight.empty() ? "" : " font-weight=\"" + std::string(weight) + "\"") + ">" + content +
            "</text>";
  }

  const LineageGraph& graph_;
  std::vector<int> column_;
  std::vector<double> height_;
  int columns_ = 0;
  int rows_ = 1;
  std::string out_;
};

}  // namespace

std::string lineage_svg(const LineageGraph& graph) { return Picture(graph).draw(); }

}  // namespace assay::cli
