// SPDX-License-Identifier: Apache-2.0
// Drawing lineages: what comes from outside is escaped, what is missing is marked.
#include "cli/verbs/lineage_graph.h"

#include <gtest/gtest.h>

namespace assay::cli {
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
}  // namespace assay::cli
