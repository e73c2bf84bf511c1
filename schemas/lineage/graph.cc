// SPDX-License-Identifier: Apache-2.0
#include "schemas/lineage/graph.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "schemas/core/json_at.h"
#include "schemas/core/printable.h"
#include "schemas/stages.h"

namespace assay {
namespace {

constexpr std::size_t kMaxNodes = 4096;
constexpr std::size_t kMaxEdges = 65'536;
constexpr std::size_t kDigestShown = 12;  // characters of its value
constexpr std::size_t kMaxTreeLines = 10'000;

std::unexpected<Error> unreadable() {
  return fail(ErrorCode::kSchemaViolation, "the service's answer is no lineage");
}

std::string shortened(const std::string& digest) {
  const std::size_t colon = digest.find(':');
  const std::size_t begin = colon == std::string::npos ? 0 : colon + 1;
  return digest.size() - begin <= kDigestShown ? digest
                                               : digest.substr(0, begin + kDigestShown) + "...";
}

bool flag(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

// Nobody stands behind it any more.
bool is_withdrawn(const Json& statement) {
  const auto withdrawn = statement.find("withdrawn");
  return withdrawn != statement.end() && !withdrawn->value("standing", false);
}

// "trainer@acme.example (revoked), helper@acme.example"; sets `alarm` when a key is revoked.
std::string signers_of(const Json& statement, bool& alarm) {
  std::string text;
  for (const Json& signer : array_at(statement, "signers")) {
    text += (text.empty() ? "" : ", ") + text_at(signer, "identity");
    if (flag(signer, "revoked")) {
      text += " (revoked)";
      alarm = true;
    }
  }
  return text;
}

// Adds what the pieces of stage evidence on a statement come to; a refused one outweighs the
// others.
void add_evidence(const Json& statement, LineageGraph::Evidence& evidence, std::string& type) {
  for (const Json& piece : array_at(statement, "evidence")) {
    type = text_at(piece, "type");
    if (!flag(piece, "accepted")) {
      evidence = LineageGraph::Evidence::kRefused;
    } else if (evidence == LineageGraph::Evidence::kNone) {
      evidence = LineageGraph::Evidence::kAccepted;
    }
  }
}

LineageGraph::Said said_by(const Json& statement, const std::string& what) {
  LineageGraph::Said said;
  said.text = what + " by " + signers_of(statement, said.alarm);
  if (is_withdrawn(statement)) {
    said.text += " (withdrawn)";
    said.alarm = true;
  }
  return said;
}

void add_once(std::vector<LineageGraph::Said>& list, LineageGraph::Said said) {
  if (std::find(list.begin(), list.end(), said) == list.end()) {
    list.push_back(std::move(said));
  }
}

// How a node came to be, by one statement.
void read_making(const Json& statement, const std::string& stage, LineageGraph::Node& node,
                 bool& bare) {
  LineageGraph::Said said = said_by(statement, stage);
  LineageGraph::Evidence evidence = LineageGraph::Evidence::kNone;
  std::string type;
  add_evidence(statement, evidence, type);
  if (evidence == LineageGraph::Evidence::kNone) {
    bare = true;
  } else {
    const bool refused = evidence == LineageGraph::Evidence::kRefused;
    said.text += refused ? " (" + type + " evidence refused)" : " (" + type + " evidence)";
    said.alarm = said.alarm || refused;
    node.evidence_type = type;
    if (refused || node.evidence == LineageGraph::Evidence::kNone) {
      node.evidence = evidence;
    }
  }
  add_once(node.made, std::move(said));
}

// What the statements about a node say of it.
void read_statements(const Json& json, LineageGraph::Node& node) {
  bool bare = false;
  bool standing = false;
  for (const Json& statement : array_at(json, "statements")) {
    const std::string stage = text_at(statement, "stage");
    const bool describes = effect_of(stage) == StageEffect::kDescribes;
    node.unread = node.unread || (!describes && flag(statement, "unread"));
    if (text_at(statement, "kind") == "manifest") {
      add_once(node.stated, said_by(statement, "published"));
    } else if (describes) {
      add_once(node.stated, said_by(statement, stage));
    } else if (!stage.empty()) {
      read_making(statement, stage, node, bare);
      standing = standing || !is_withdrawn(statement);
    }
    if (const std::string licence = text_at(statement, "licence"); !licence.empty()) {
      node.licence = licence;
    }
  }
  node.withdrawn = !node.made.empty() && !standing;
  if (bare && node.evidence == LineageGraph::Evidence::kAccepted) {
    node.evidence = LineageGraph::Evidence::kNone;
    node.evidence_type.clear();
  }
}

// What a tree shows of a node: how it came to be, else who says what of it.
std::string said_of(const LineageGraph::Node& node) {
  std::string text;
  for (const LineageGraph::Said& said : node.made.empty() ? node.stated : node.made) {
    text += (text.empty() ? "" : "; ") + said.text;
  }
  return text;
}

LineageGraph::Kind kind_of(const std::string& role) {
  using Kind = LineageGraph::Kind;
  if (role == "base-model" || role == "adapter") {
    return Kind::kModel;
  }
  if (role == "dataset") {
    return Kind::kDataset;
  }
  return role == "code" ? Kind::kCode : role == "config" ? Kind::kConfig : Kind::kOther;
}

Result<std::size_t> position(const Json& json, const char* name, std::size_t nodes) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned() || found->get<std::uint64_t>() >= nodes) {
    return unreadable();
  }
  return found->get<std::size_t>();
}

Status read_edges(const Json& json, LineageGraph& graph) {
  std::set<std::tuple<std::size_t, std::size_t, std::string, std::string>> edges;
  for (const Json& one : array_at(json, "edges")) {
    if (!one.is_object()) {
      return unreadable();
    }
    ASSAY_ASSIGN(const std::size_t from, position(one, "from", graph.nodes.size()));
    ASSAY_ASSIGN(const std::size_t to, position(one, "to", graph.nodes.size()));
    edges.emplace(to, from, text_at(one, "role"), text_at(one, "stage"));
    if (edges.size() > kMaxEdges) {
      return unreadable();
    }
  }
  for (const auto& [to, from, role, stage] : edges) {
    graph.edges.push_back({from, to, role, stage});
    graph.nodes[from].kind = kind_of(role);
  }
  return {};
}

// --- the tree

class Tree {
 public:
  explicit Tree(const LineageGraph& graph) : graph_(graph), next_(graph.nodes.size()) {
    for (const LineageGraph::Edge& edge : graph.edges) {
      next_[graph.down ? edge.from : edge.to].push_back(&edge);
    }
  }

  std::vector<std::string> lines() {
    add(0, nullptr, "", "");
    add_others();
    for (const std::string& limit : graph_.reached) {
      lines_.push_back("The search ended at the limit on " + limit + ": something may be missing.");
    }
    std::ranges::for_each(lines_, [](std::string& line) { line = printable(line); });
    return std::move(lines_);
  }

 private:
  std::string text_of(std::size_t number, const LineageGraph::Edge* edge) {
    const LineageGraph::Node& node = graph_.nodes[number];
    std::string text = edge == nullptr ? "" : edge->role + ": ";
    if (edge != nullptr && graph_.down) {
      text = edge->stage + " (as " + edge->role + "): ";
    }
    text += node.name;
    if (node.name != shortened(node.digest)) {
      text += "  " + shortened(node.digest);
    }
    const std::string said = said_of(node);
    text += said.empty() ? "" : "  [" + said + "]";
    text += node.licence.empty() ? "" : "  " + node.licence;
    text += node.withdrawn ? "  WITHDRAWN" : "";
    text += node.missing ? "  MISSING: nobody says where it comes from" : "";
    text += node.unread ? "  INCOMPLETE: " + std::string(kLineageUnread) : "";
    text += node.cycle ? "  CYCLE: made from itself" : "";
    return text;
  }

  // What no arrow leads to: a manifest names it beside something, without joining the two.
  void add_others() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!shown_.contains(i)) {
        add(i, nullptr, "not joined: ", "");
      }
    }
  }

  void add(std::size_t number, const LineageGraph::Edge* edge, const std::string& first,
           const std::string& rest) {
    if (lines_.size() >= kMaxTreeLines) {
      return;
    }
    const bool again = !shown_.insert(number).second;
    lines_.push_back(first + text_of(number, edge) +
                     (again && !next_[number].empty() ? "  (see above)" : ""));
    if (again) {
      return;
    }
    for (std::size_t i = 0; i < next_[number].size(); ++i) {
      const LineageGraph::Edge* down = next_[number][i];
      const bool last = i + 1 == next_[number].size();
      add(graph_.down ? down->to : down->from, down, rest + (last ? "`-- " : "|-- "),
          rest + (last ? "    " : "|   "));
    }
  }

  const LineageGraph& graph_;
  std::vector<std::vector<const LineageGraph::Edge*>> next_;
  std::set<std::size_t> shown_;
  std::vector<std::string> lines_;
};

// A quoted string of Graphviz with these lines.
std::string dot_text(const std::vector<std::string>& lines) {
  std::string out = "\"";
  for (const std::string& line : lines) {
    out += out.size() == 1 ? "" : "\\n";
    for (const char c : printable(line)) {
      out += c == '"' || c == '\\' ? "\\" : "";
      out += c;
    }
  }
  return out + '"';
}

constexpr std::string_view dot_colour(LineageGraph::Kind kind) {
  switch (kind) {
    case LineageGraph::Kind::kModel:
      return "#dbe7ff";
    case LineageGraph::Kind::kDataset:
      return "#d8f3dc";
    case LineageGraph::Kind::kCode:
      return "#ffe8cc";
    case LineageGraph::Kind::kConfig:
      return "#f3e0ff";
    case LineageGraph::Kind::kOther:
      break;
  }
  return "#e9ecef";
}

}  // namespace

Result<LineageGraph> lineage_graph_from(const Json& json) {
  const Json& nodes = array_at(json, "nodes");
  if (!nodes.is_array() || nodes.empty() || nodes.size() > kMaxNodes) {
    return unreadable();
  }
  LineageGraph graph;
  graph.down = text_at(json, "direction") == "down";
  for (const Json& one : nodes) {
    if (!one.is_object() || array_at(one, "digests").empty() ||
        !array_at(one, "digests")[0].is_string()) {
      return unreadable();
    }
    LineageGraph::Node node;
    node.digest = array_at(one, "digests")[0].get<std::string>();
    const Json& names = array_at(one, "names");
    node.name = names.empty() || !names[0].is_string() ? shortened(node.digest)
                                                       : names[0].get<std::string>();
    node.missing = flag(one, "missing");
    node.cycle = flag(one, "cycle");
    node.depth = number_at(one, "depth");
    read_statements(one, node);
    graph.nodes.push_back(std::move(node));
  }
  ASSAY_TRY(read_edges(json, graph));
  for (const Json& limit : array_at(json, "reached")) {
    graph.reached.push_back(limit.is_string() ? limit.get<std::string>() : std::string());
  }
  return graph;
}

std::vector<std::string> lineage_tree(const LineageGraph& graph) { return Tree(graph).lines(); }

std::string lineage_dot(const LineageGraph& graph) {
  std::string out =
      "digraph lineage {\n  rankdir=LR;\n  node [shape=box, style=\"rounded,filled\", "
      "fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n";
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const LineageGraph::Node& node = graph.nodes[i];
    std::vector<std::string> label = {node.name, shortened(node.digest)};
    if (std::string said = said_of(node); !said.empty()) {
      label.push_back(std::move(said));
    }
    if (node.unread) {
      label.emplace_back(kLineageUnread);
    }
    out += "  n" + std::to_string(i) + " [label=" + dot_text(label) +
           ", tooltip=" + dot_text({node.digest}) + ", fillcolor=\"" +
           std::string(dot_colour(node.kind)) + '"';
    out += node.missing || node.cycle || node.withdrawn ? ", color=\"#c92a2a\", penwidth=2" : "";
    out += "];\n";
  }
  for (const LineageGraph::Edge& edge : graph.edges) {
    out +=
        "  n" + std::to_string(edge.from) + " -> n" + std::to_string(edge.to) + " [label=" +
        dot_text(edge.stage.empty() ? std::vector{edge.role} : std::vector{edge.role, edge.stage}) +
        "];\n";
  }
  return out + "}\n";
}

}  // namespace assay
