// SPDX-License-Identifier: Apache-2.0
// A lineage, as the service answers it, ready to be drawn: as a tree of text, in the language of
// Graphviz, and as an SVG picture. Pure functions of the answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "schemas/core/json.h"

namespace assay {

// What is shown of a thing of which a statement's inputs could not all be read.
inline constexpr std::string_view kLineageUnread = "inputs not all readable";

struct LineageGraph {
  enum class Kind : std::uint8_t { kModel, kDataset, kCode, kConfig, kOther };
  // What one statement says of a thing.
  struct Said {
    std::string text;    // "train by trainer@acme.example (revoked)"
    bool alarm = false;  // it was withdrawn, a key of its signers was revoked, or its stage
                         // evidence is refused
    bool operator==(const Said&) const = default;
  };
  enum class Evidence : std::uint8_t { kNone, kAccepted, kRefused };
  struct Node {
    std::string name;    // or the start of its digest
    std::string digest;  // the first one
    Kind kind = Kind::kModel;
    std::vector<Said> made;    // how it came to be; empty when nobody says
    std::vector<Said> stated;  // publications, evaluations, approvals
    // Of the statements in `made`: kAccepted when each has evidence that is accepted now, kRefused
    // when one has evidence that is not.
    Evidence evidence = Evidence::kNone;
    std::string evidence_type;  // "tdx"; empty exactly for kNone
    bool withdrawn = false;     // all that is said of how it came to be was withdrawn
    std::string licence;
    bool missing = false;
    bool unread = false;  // what went in could not all be read: it may be made from anything
    bool cycle = false;
    std::size_t depth = 0;
  };
  struct Edge {
    std::size_t from = 0;
    std::size_t to = 0;
    std::string role;
    std::string stage;
  };
  std::vector<Node> nodes;  // the model that was asked about first
  std::vector<Edge> edges;  // distinct
  bool down = false;        // shows what was made from the first node
  std::vector<std::string> reached;
};

// Reads the answer of GET /v1/models/{artifact}/lineage. Errors: schema-violation.
[[nodiscard]] Result<LineageGraph> lineage_graph_from(const Json& json);

// Draws a tree, from the first node on, and then others for what no edge leads to from there. A
// node that was shown before is not followed again. The lines are printable.
[[nodiscard]] std::vector<std::string> lineage_tree(const LineageGraph& graph);

// Writes the graph in the language of Graphviz; texts from outside are made printable.
[[nodiscard]] std::string lineage_dot(const LineageGraph& graph);

// Draws a picture: origins left, what was made from them right, with a legend. A whole document;
// every text from outside is made printable and escaped.
[[nodiscard]] std::string lineage_svg(const LineageGraph& graph);

}  // namespace assay
