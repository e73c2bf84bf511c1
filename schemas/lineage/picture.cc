// SPDX-License-Identifier: Apache-2.0
// The picture of a lineage: a box for each thing with who says what of it, an arrow for what went
// into what. The layout is that of lineage_layout.h.
#include <algorithm>
#include <array>

#include "schemas/core/printable.h"
#include "schemas/lineage/graph.h"
#include "schemas/lineage/layout.h"

namespace assay {
namespace {

using Kind = LineageGraph::Kind;

constexpr int kHeadHeight = 32;  // of a box: its name
constexpr int kLineHeight = 16;  // each line below the name
constexpr int kFootHeight = 24;  // digest and licence
constexpr int kBadgeWidth = 46;
constexpr int kLegendHeight = 56;
constexpr int kLegendStep = 112;
constexpr std::size_t kNameShown = 32;
constexpr std::size_t kNameBesideBadge = 27;
constexpr std::size_t kLineShown = 45;
constexpr std::size_t kLinesShown = 8;
constexpr std::string_view kIndent = "\u00a0\u00a0\u00a0";  // no-break spaces: SVG keeps them
constexpr std::size_t kLabelShown = 20;

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
constexpr const char* kAlarmFill = "#fff0f0";
constexpr const char* kProof = "#0b7285";
constexpr const char* kPaper = "#fbfcfe";
constexpr const char* kText = "#212529";
constexpr const char* kSoft = "#495057";
constexpr const char* kFaint = "#868e96";

const Look& look_of(Kind kind) {
  return *std::find_if(kLooks.begin(), kLooks.end() - 1,
                       [kind](const Look& look) { return look.kind == kind; });
}

// At most `limit` characters of the text made printable, cut between them.
std::string cut(std::string_view said, std::size_t limit) {
  std::string text = printable(said);
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U && ++characters > limit) {
      return text.substr(0, i) + "...";
    }
  }
  return text;
}

// Printable text as XML has it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
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
        out += c;
    }
  }
  return out;
}

std::string number(int value) { return std::to_string(value); }

// Breaks a line that is too long for a box behind a comma or before a bracket.
std::vector<LineageGraph::Said> wrapped(LineageGraph::Said said) {
  std::vector<LineageGraph::Said> lines;
  while (said.text.size() > kLineShown) {
    const std::size_t comma = said.text.rfind(", ", kLineShown);
    const std::size_t bracket = said.text.rfind(" (", kLineShown);
    std::size_t end = comma == std::string::npos ? 0 : comma + 1;
    end = bracket == std::string::npos ? end : std::max(end, bracket);
    if (end < kIndent.size() + 2) {
      break;
    }
    lines.push_back({said.text.substr(0, end), said.alarm});
    said.text = std::string(kIndent) + said.text.substr(end + 1);
  }
  lines.push_back(std::move(said));
  return lines;
}

// The lines of a box below its name.
std::vector<LineageGraph::Said> lines_of(const LineageGraph::Node& node) {
  std::vector<LineageGraph::Said> lines;
  if (node.cycle) {
    lines.push_back({"made from itself", true});
  }
  if (node.missing) {
    lines.push_back({"nobody says where it comes from", true});
  }
  if (node.unread) {
    lines.push_back({std::string(kLineageUnread), true});
  }
  for (const std::vector<LineageGraph::Said>* list : {&node.made, &node.stated}) {
    for (const LineageGraph::Said& said : *list) {
      const std::vector<LineageGraph::Said> broken = wrapped(said);
      lines.insert(lines.end(), broken.begin(), broken.end());
    }
  }
  if (lines.size() > kLinesShown) {
    const std::size_t more = lines.size() - kLinesShown + 1;
    const bool alarm = std::any_of(lines.begin() + kLinesShown - 1, lines.end(),
                                   [](const LineageGraph::Said& line) { return line.alarm; });
    lines.resize(kLinesShown - 1);
    lines.push_back({"and " + std::to_string(more) + " more", alarm});
  }
  return lines;
}

int height_of(const LineageGraph::Node& node) {
  return kHeadHeight + kFootHeight + kLineHeight * static_cast<int>(lines_of(node).size());
}

std::vector<int> heights_of(const LineageGraph& graph) {
  std::vector<int> heights;
  for (const LineageGraph::Node& node : graph.nodes) {
    heights.push_back(height_of(node));
  }
  return heights;
}

class Picture {
 public:
  explicit Picture(const LineageGraph& graph)
      : graph_(graph), heights_(heights_of(graph)), layout_(lay_out(graph, heights_)) {}

  std::string draw() {
    const int height = layout_.height + kLegendHeight;
    const int width = std::max(layout_.width, kLineageMargin * 2 + 8 * kLegendStep);
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
           "\" font-family=\"Inter, 'Segoe UI', Helvetica, Arial, sans-serif\" role=\"img\">\n";
    out_ += "<title>Lineage of " + escaped(graph_.nodes.front().name) + "</title>\n<defs>";
    marker("arrow", "#868e96");
    marker("alarm", kAlarm);
    out_ +=
        "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"" + std::string(kPaper) + "\"/>\n";
    for (const LineageArrow& arrow : layout_.arrows) {
      draw_arrow(arrow);
    }
    for (const LineageArrow& arrow : layout_.arrows) {
      draw_label(arrow);
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      draw_node(i);
    }
    draw_legend(layout_.height + 8);
    return out_ + "</svg>\n";
  }

 private:
  void marker(const char* id, const char* fill) {
    out_ += std::string("<marker id=\"") + id +
            "\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" "
            "orient=\"auto\"><path d=\"M0 1 L9 5 L0 9 Z\" fill=\"" +
            fill + "\"/></marker>";
  }

  LineagePoint right_of(std::size_t node) const {
    return {layout_.corners[node].x + kLineageBoxWidth,
            layout_.corners[node].y + heights_[node] / 2};
  }
  LineagePoint left_of(std::size_t node) const {
    return {layout_.corners[node].x - 2, layout_.corners[node].y + heights_[node] / 2};
  }

  // A curve between columns: it leaves and arrives level.
  static std::string curve(LineagePoint from, LineagePoint to) {
    const int bend = (to.x - from.x) / 2;
    return " C" + number(from.x + bend) + " " + number(from.y) + " " + number(to.x - bend) + " " +
           number(to.y) + " " + number(to.x) + " " + number(to.y);
  }

  void draw_arrow(const LineageArrow& arrow) {
    LineagePoint at = right_of(arrow.from);
    const LineagePoint end = left_of(arrow.to);
    std::string path = "M" + number(at.x) + " " + number(at.y);
    if (arrow.back) {
      const int below = std::max(at.y, end.y) + kLineageGap;
      path += " C" + number(at.x + kLineageGap) + " " + number(below) + " " +
              number(end.x - kLineageGap) + " " + number(below) + " " + number(end.x) + " " +
              number(end.y);
    } else {
      for (const LineagePoint& passage : arrow.passages) {
        const LineagePoint enter{passage.x - kLineageBoxWidth / 2, passage.y};
        path += curve(at, enter);
        at = {passage.x + kLineageBoxWidth / 2, passage.y};
        path += " L" + number(at.x) + " " + number(at.y);
      }
      path += curve(at, end);
    }
    const LineageGraph::Node& source = graph_.nodes[arrow.from];
    const bool alarm = arrow.back || source.withdrawn || source.missing;
    out_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + (alarm ? kAlarm : "#adb5bd") +
            "\" stroke-width=\"1.6\" marker-end=\"url(#" + (alarm ? "alarm" : "arrow") + ")\"/>\n";
  }

  // Near the source, where arrows are furthest apart.
  void draw_label(const LineageArrow& arrow) {
    const LineagePoint from = right_of(arrow.from);
    const LineagePoint to = arrow.passages.empty() ? left_of(arrow.to) : arrow.passages.front();
    const int y = (arrow.back ? from.y : (from.y * 3 + to.y) / 4) - 1;
    const std::string label = cut(arrow.label, kLabelShown);
    const int x = from.x + kLineageGap * 2 / 5;
    const int half = static_cast<int>(label.size()) * 3 + 6;
    out_ += "<rect x=\"" + number(x - half) + "\" y=\"" + number(y - 8) + "\" width=\"" +
            number(2 * half) + "\" height=\"16\" rx=\"6\" fill=\"" + kPaper + "\"/>";
    text({x, y + 4}, escaped(label), "middle", "11", kSoft, "");
    out_ += "\n";
  }

  void draw_node(std::size_t i) {
    const LineageGraph::Node& node = graph_.nodes[i];
    const Look& look = look_of(node.kind);
    const LineagePoint at = layout_.corners[i];
    const bool alarm = node.missing || node.cycle || node.withdrawn;
    out_ += "<g><title>" + escaped(node.digest) + "</title>";
    out_ += "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" +
            number(kLineageBoxWidth) + "\" height=\"" + number(heights_[i]) +
            "\" rx=\"12\" fill=\"" + (alarm ? kAlarmFill : look.fill) + "\" stroke=\"" +
            (alarm ? kAlarm : look.line) + "\" stroke-width=\"" + (i == 0 ? "2.6" : "1.4") + "\"" +
            (node.missing ? " stroke-dasharray=\"6 4\"" : "") + "/>";
    const bool badge = node.evidence != LineageGraph::Evidence::kNone;
    text({at.x + 14, at.y + 22}, escaped(cut(node.name, badge ? kNameBesideBadge : kNameShown)),
         "start", "13", kText, "font-weight=\"600\"");
    if (badge) {
      draw_badge({at.x + kLineageBoxWidth - kBadgeWidth - 12, at.y + 9}, node.evidence_type,
                 node.evidence == LineageGraph::Evidence::kRefused);
    }
    int y = at.y + kHeadHeight + 8;
    for (const LineageGraph::Said& line : lines_of(node)) {
      text({at.x + 14, y}, escaped(cut(line.text, kLineShown)), "start", "11",
           line.alarm ? kAlarm : kSoft, "");
      y += kLineHeight;
    }
    const int foot = at.y + heights_[i] - 10;
    text({at.x + 14, foot}, escaped(cut(node.digest, 26)), "start", "10", kFaint, "");
    if (!node.licence.empty()) {
      text({at.x + kLineageBoxWidth - 12, foot}, escaped(cut(node.licence, 16)), "end", "10", kSoft,
           "");
    }
    out_ += "</g>\n";
  }

  void draw_badge(LineagePoint at, const std::string& type, bool refused) {
    const char* colour = refused ? kAlarm : kProof;
    std::string upper = cut(type, 6);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    out_ += "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"" +
            number(kBadgeWidth) + "\" height=\"18\" rx=\"9\" fill=\"" +
            (refused ? "#ffffff" : colour) + "\" stroke=\"" + colour + "\"/>";
    text({at.x + kBadgeWidth / 2, at.y + 13}, escaped(upper), "middle", "10",
         refused ? colour : "#ffffff",
         refused ? "font-weight=\"600\" text-decoration=\"line-through\"" : "font-weight=\"600\"");
  }

  void draw_legend(int y) {
    int x = kLineageMargin;
    for (const Look& look : kLooks) {
      legend_box({x, y}, look.name, look.fill, look.line, "");
      x += kLegendStep;
    }
    legend_box({x, y}, "missing", kAlarmFill, kAlarm, " stroke-dasharray=\"4 3\"");
    legend_box({x + kLegendStep, y}, "withdrawn", kAlarmFill, kAlarm, "");
    legend_box({x + 2 * kLegendStep, y}, "evidence", kProof, kProof, "");
    if (!graph_.reached.empty()) {
      text({kLineageMargin, y + 38}, "The search ended at a limit: something may be missing.",
           "start", "12", kAlarm, "");
    }
    out_ += "\n";
  }

  void legend_box(LineagePoint at, const char* name, const char* fill, const char* line,
                  const char* more) {
    out_ += "<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) +
            "\" width=\"18\" height=\"18\" rx=\"5\" fill=\"" + fill + "\" stroke=\"" + line + "\"" +
            more + "/>";
    text({at.x + 26, at.y + 14}, name, "start", "12", kSoft, "");
  }

  // `content` is escaped; `more` are further attributes.
  void text(LineagePoint at, const std::string& content, const char* anchor, const char* size,
            const char* fill, const char* more) {
    out_ += "<text x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" font-size=\"" + size +
            "\" text-anchor=\"" + anchor + "\" fill=\"" + fill + "\"" +
            (*more == '\0' ? "" : " " + std::string(more)) + ">" + content + "</text>";
  }

  const LineageGraph& graph_;
  std::vector<int> heights_;
  LineageLayout layout_;
  std::string out_;
};

}  // namespace

std::string lineage_svg(const LineageGraph& graph) { return Picture(graph).draw(); }

}  // namespace assay
