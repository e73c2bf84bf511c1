// SPDX-License-Identifier: Apache-2.0
// Drawing lineages: what comes from outside is escaped, what is missing is marked.
#include <algorithm>

#include <gtest/gtest.h>

#include "schemas/core/bytes.h"
#include "schemas/lineage/graph.h"
#include "schemas/lineage/layout.h"

namespace assay {
namespace {

Json node(const std::string& name, const std::string& digest, bool missing = false) {
  return {{"digests", {digest}}, {"names", name.empty() ? Json::array() : Json::array({name})},
          {"depth", 0},          {"missing", missing},
          {"cycle", false},      {"statements", Json::array()}};
}

Json answer() {
  Json json = {{"start", "sha256:aa"},
               {"direction", "up"},
               {"nodes",
                {node("acme/demo", "sha256:aa"), node("acme/<corpus> & \"more\"", "sha256:bb"),
                 node("", "sha256:0123456789abcdef0123", true)}},
               {"edges",
                {{{"from", 1}, {"to", 0}, {"role", "dataset"}, {"stage", "train"}},
                 {{"from", 2}, {"to", 0}, {"role", "code"}, {"stage", "train"}}}},
               {"reached", Json::array()}};
  json["nodes"][0]["statements"].push_back(
      {{"id", "sha256:00"},
       {"kind", "attestation"},
       {"stage", "train"},
       {"signers", {{{"identity", "trainer"}, {"revoked", true}}}}});
  return json;
}

// As it comes over the wire: numbers without a sign.
Json received(const Json& json) { return Json::parse(json.dump()); }

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

TEST(LineageGraph, TreeNamesRolesSignersAndWhatIsMissing) {
  const std::string tree = joined(lineage_tree(lineage_graph_from(received(answer())).value()));
  EXPECT_TRUE(tree.starts_with("acme/demo  sha256:aa  [train by trainer (revoked)]\n")) << tree;
  EXPECT_TRUE(has(tree, "|-- dataset: acme/<corpus> & \"more\"")) << tree;
  EXPECT_TRUE(has(tree, "`-- code: sha256:0123456789ab...  MISSING")) << tree;
}

// A manifest names the second node beside the first, and does not join them.
TEST(LineageGraph, TreeShowsWhatNoArrowLeadsTo) {
  Json json = answer();
  json["edges"].erase(0);
  const std::string tree = joined(lineage_tree(lineage_graph_from(received(json)).value()));
  EXPECT_TRUE(has(tree, "`-- code: sha256:0123456789ab...  MISSING")) << tree;
  EXPECT_TRUE(has(tree, "\nnot joined: acme/<corpus> & \"more\"")) << tree;
}

TEST(LineageGraph, TreeOfACycle_Ends) {
  Json json = answer();
  json["edges"].push_back({{"from", 0}, {"to", 1}, {"role", "base-model"}});
  json["nodes"][0]["cycle"] = true;
  const std::string tree = joined(lineage_tree(lineage_graph_from(received(json)).value()));
  EXPECT_TRUE(has(tree, "CYCLE")) << tree;
  EXPECT_TRUE(has(tree, "(see above)")) << tree;
  EXPECT_TRUE(has(lineage_svg(lineage_graph_from(received(json)).value()), "</svg>"));
}

TEST(LineageGraph, ALimitThatWasReached_IsSaid) {
  Json json = answer();
  json["reached"] = {"depth"};
  const LineageGraph graph = lineage_graph_from(received(json)).value();
  EXPECT_TRUE(has(joined(lineage_tree(graph)), "limit on depth"));
  EXPECT_TRUE(has(lineage_svg(graph), "something may be missing"));
}

TEST(LineageGraph, PicturesEscapeWhatComesFromOutside) {
  const LineageGraph graph = lineage_graph_from(received(answer())).value();
  const std::string svg = lineage_svg(graph);
  EXPECT_TRUE(has(svg, "acme/&lt;corpus&gt; &amp; &quot;more&quot;")) << svg;
  EXPECT_FALSE(has(svg, "<corpus>"));
  EXPECT_TRUE(has(svg, "stroke-dasharray")) << "what is missing";
  const std::string dot = lineage_dot(graph);
  EXPECT_TRUE(has(dot, "acme/<corpus> & \\\"more\\\"\\n")) << dot;
  EXPECT_TRUE(has(dot, "n1 -> n0 [label=\"dataset\\ntrain\"]")) << dot;
}

// Noncharacters, which XML refuses; marks of direction and without width; C1 controls; lines.
TEST(LineageGraph, WhatBreaksAPictureOrMisleads_IsEscapedInAllOutputs) {
  const std::vector<std::string> odd = {
      "\xef\xbf\xbf", "\xef\xbf\xbe", "\xef\xb7\x90", "\xe2\x80\xae", "\xe2\x80\x8b",
      "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x81\xa6", "\xe2\x81\xa9", "\xef\xbb\xbf",
      "\xc2\x80",     "\xc2\x9f",     "\xd8\x9c",     "\x1b",         "\x7f"};
  for (const std::string& one : odd) {
    const std::string text = "evil" + one + "\nforged";
    Json json = answer();
    json["nodes"][0]["names"] = {text};
    json["nodes"][0]["statements"][0]["signers"][0]["identity"] = text;
    json["nodes"][0]["statements"][0]["stage"] = text;
    json["nodes"][0]["statements"][0]["licence"] = text;
    json["nodes"][0]["statements"][0]["evidence"] = {{{"type", text}, {"accepted", true}}};
    json["nodes"][1]["digests"] = {text};
    json["edges"][0]["role"] = text;
    json["edges"][0]["stage"] = text;
    json["reached"] = {text};
    const LineageGraph graph = lineage_graph_from(received(json)).value();
    const std::string tree = joined(lineage_tree(graph));
    const std::string dot = lineage_dot(graph);
    const std::string svg = lineage_svg(graph);
    for (const std::string& output : {tree, dot, svg}) {
      EXPECT_FALSE(has(output, one)) << output;
      EXPECT_FALSE(has(output, "\nforged")) << output;
      EXPECT_TRUE(has(output, "evil\\x") || has(output, "evil\\\\x")) << output;
    }
    EXPECT_FALSE(has(dot, "\\nforged")) << dot;
    EXPECT_TRUE(has(dot, "\\\\x0aforged")) << dot;
  }
}

// A digest of the service is cut to its start, between bytes of a character.
TEST(LineageGraph, TextThatIsCut_IsUtf8InAllOutputs) {
  Json json = answer();
  json["nodes"][2]["digests"] = {"sha256:0123456789a\xc3\xa9-and-more"};
  const LineageGraph graph = lineage_graph_from(received(json)).value();
  for (const std::string& output :
       {joined(lineage_tree(graph)), lineage_dot(graph), lineage_svg(graph)}) {
    EXPECT_TRUE(is_utf8(output)) << output;
  }
}

Json making(Json more = Json::object()) {
  Json made = {{"id", "sha256:00"},
               {"kind", "attestation"},
               {"stage", "train"},
               {"signers", {{{"identity", "trainer"}, {"revoked", false}}}}};
  made.update(more);
  return made;
}

Json evidence(bool accepted) { return {{"evidence", {{{"type", "tdx"}, {"accepted", accepted}}}}}; }

LineageGraph made_by(const Json& statements) {
  Json json = answer();
  json["nodes"][0]["statements"] = statements;
  return lineage_graph_from(received(json)).value();
}

constexpr const char* kBadge = ">TDX</text>";

TEST(LineageGraph, EvidenceOfAStage_IsMarked) {
  const LineageGraph graph = made_by(Json::array({making(evidence(true))}));
  EXPECT_TRUE(has(joined(lineage_tree(graph)), "[train by trainer (tdx evidence)]"));
  EXPECT_TRUE(has(lineage_svg(graph), kBadge));
  EXPECT_FALSE(has(lineage_svg(graph), "line-through"));
}

TEST(LineageGraph, EvidenceThatIsRefused_IsAnAlarm) {
  const LineageGraph graph = made_by(Json::array({making(evidence(false))}));
  EXPECT_TRUE(has(joined(lineage_tree(graph)), "(tdx evidence refused)"));
  EXPECT_TRUE(has(lineage_svg(graph), "line-through"));
}

// Provenance has no stage. What describes a thing makes nothing.
TEST(LineageGraph, InputsThatCouldNotBeRead_AreMarked) {
  constexpr std::string_view kMark = "inputs not all readable";
  const auto outputs = [](const Json& statement) {
    const LineageGraph graph = made_by(Json::array({statement}));
    return std::vector{joined(lineage_tree(graph)), lineage_dot(graph), lineage_svg(graph)};
  };
  Json provenance = making({{"unread", true}});
  provenance.erase("stage");
  for (const Json& statement : {making({{"unread", true}}), provenance}) {
    for (const std::string& output : outputs(statement)) {
      EXPECT_TRUE(has(output, kMark)) << output;
    }
  }
  for (const Json& statement : {making(), making({{"stage", "evaluate"}, {"unread", true}})}) {
    for (const std::string& output : outputs(statement)) {
      EXPECT_FALSE(has(output, kMark)) << output;
    }
  }
}

// Two statements say how it was made, and one has evidence: nobody knows which of them is true.
TEST(LineageGraph, EvidenceOfOneOfTwoStatements_IsNoBadge) {
  const Json other = {{"signers", {{{"identity", "other"}, {"revoked", false}}}}};
  const LineageGraph graph = made_by(Json::array({making(evidence(true)), making(other)}));
  EXPECT_FALSE(has(lineage_svg(graph), kBadge));
}

TEST(LineageGraph, WithdrawnThings_AreRed) {
  const Json gone = {{"withdrawn", {{"reason", "data-withdrawn"}}}};
  const LineageGraph graph = made_by(Json::array({making(gone)}));
  EXPECT_TRUE(graph.nodes[0].withdrawn);
  EXPECT_TRUE(has(joined(lineage_tree(graph)), "WITHDRAWN"));
  EXPECT_TRUE(has(lineage_svg(graph), "train by trainer (withdrawn)"));
  EXPECT_TRUE(has(lineage_dot(graph),
                  "n0 [label=\"acme/demo\\nsha256:aa\\ntrain by trainer "
                  "(withdrawn)\", tooltip=\"sha256:aa\", "
                  "fillcolor=\"#dbe7ff\", color=\"#c92a2a\""));
  // Another statement stands.
  const Json other = {{"signers", {{{"identity", "other"}, {"revoked", false}}}}};
  EXPECT_FALSE(made_by(Json::array({making(gone), making(other)})).nodes[0].withdrawn);
}

// Each thing was made from up to three of those before it, and from the first one.
LineageGraph tangle(std::size_t nodes) {
  LineageGraph graph;
  for (std::size_t i = 0; i < nodes; ++i) {
    LineageGraph::Node node;
    node.name = "thing " + std::to_string(i);
    node.digest = "sha256:" + std::to_string(i);
    node.made.assign(i % 4, {"train by somebody", false});
    graph.nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i + 1 < nodes; ++i) {
    for (const std::size_t step : {1U, 3U, 7U}) {
      if (i + step < nodes) {
        graph.edges.push_back({i + step, i, "base-model", "train"});
      }
    }
    graph.edges.push_back({nodes - 1, i, "dataset", "train"});
  }
  return graph;
}

TEST(LineageLayout, BoxesDoNotOverlap_AndArrowsPassBesideThem) {
  const LineageGraph graph = tangle(24);
  std::vector<int> heights;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    heights.push_back(60 + 16 * static_cast<int>(i % 4));
  }
  const LineageLayout layout = lay_out(graph, heights);
  ASSERT_EQ(layout.corners.size(), graph.nodes.size());
  std::size_t passages = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const LineagePoint& one = layout.corners[i];
    EXPECT_GE(one.x, 0);
    EXPECT_GE(one.y, 0);
    EXPECT_LE(one.x + kLineageBoxWidth, layout.width);
    EXPECT_LE(one.y + heights[i], layout.height);
    for (std::size_t j = 0; j < i; ++j) {
      const LineagePoint& other = layout.corners[j];
      EXPECT_TRUE(one.x != other.x || one.y >= other.y + heights[j] ||
                  other.y >= one.y + heights[i])
          << i << " and " << j;
    }
    for (const LineageArrow& arrow : layout.arrows) {
      EXPECT_LT(layout.corners[arrow.from].x, layout.corners[arrow.to].x);
      for (const LineagePoint& point : arrow.passages) {
        ++passages;
        EXPECT_TRUE(point.x < one.x || point.x > one.x + kLineageBoxWidth || point.y < one.y ||
                    point.y > one.y + heights[i])
            << "an arrow from " << arrow.from << " through box " << i;
      }
    }
  }
  EXPECT_GT(passages, 0U);
  EXPECT_EQ(lineage_svg(graph), lineage_svg(tangle(24)));
}

TEST(LineageLayout, EdgesBetweenTheSameThings_AreOneArrow) {
  LineageGraph graph = tangle(2);
  graph.edges.push_back({1, 0, "dataset", "finetune"});
  const LineageLayout layout = lay_out(graph, std::vector<int>{60, 60});
  ASSERT_EQ(layout.arrows.size(), 1U);
  EXPECT_EQ(layout.arrows[0].label, "base-model, dataset");
}

TEST(LineageGraph, RefusesWhatIsNoGraph) {
  EXPECT_FALSE(lineage_graph_from(Json::object()));
  EXPECT_FALSE(lineage_graph_from(nullptr));
  Json json = answer();
  json["edges"][0]["from"] = 7;
  EXPECT_FALSE(lineage_graph_from(received(json)));
  json = answer();
  json["nodes"][0]["digests"] = Json::array();
  EXPECT_FALSE(lineage_graph_from(received(json)));
}

}  // namespace
}  // namespace assay
