// SPDX-License-Identifier: Apache-2.0
// assay lineage: what a model was made from, and what was made from it.
#include <memory>

#include "cli/client/connect.h"
#include "cli/client/model_meant.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "schemas/lineage/graph.h"

namespace assay::cli {
namespace {

struct LineageOptions {
  std::string model;
  bool down = false;
  std::uint64_t depth = 64;
  ConnectionFlags connection;
};

Result<Exit> lineage(const Context& context, const LineageOptions& options) {
  ASSAY_ASSIGN(Api api, open_api(context, options.connection));
  ASSAY_ASSIGN(const std::string artifact, artifact_meant(api, options.model));
  Query query;
  query.add("direction", options.down ? "down" : "up");
  query.add("depth", std::to_string(options.depth));
  ASSAY_ASSIGN(const Json answer,
               api.get("/v1/models/" + percent_encode(artifact) + "/lineage" + query.text()));
  if (context.json()) {
    print_json(answer);
    return Exit::kYes;
  }
  ASSAY_ASSIGN(const LineageGraph graph, lineage_graph_from(answer));
  if (context.output == "dot") {
    print_document(lineage_dot(graph));
  } else if (context.output == "svg") {
    print_document(lineage_svg(graph));
  } else {
    for (const std::string& line : lineage_tree(graph)) {
      print_line(line);
    }
  }
  return Exit::kYes;
}

}  // namespace

void add_lineage(const Command& root, Context& context) {
  auto options = std::make_shared<LineageOptions>();
  const Command verb =
      root.add("lineage", "Show what a model was made from, or what was made from it");
  verb.argument("MODEL", options->model,
                "artifact id of the model or dataset, file with its manifest, or its name");
  verb.flag("--down", options->down, "show what was made from it");
  verb.option("--depth", options->depth, "N", "most steps from the model, 1 to 64 (default: 64)");
  add_connection_options(verb, options->connection);
  verb.note(
      "Shows everything that signed statements say, whoever signed. Which of them count is judged "
      "by each policy: a lineage condition, docs/lineage.md.");
  verb.example("assay lineage acme/llama", "print the ancestors as a tree");
  verb.example("assay lineage acme/llama -o svg > lineage.svg", "draw them as a picture");
  verb.example("assay lineage assay-tree-v1-sha256:dc66... --down",
               "see what was made from a dataset");
  verb.action([options, &context] { return lineage(context, *options); },
              {"text", "json", "dot", "svg"});
}

}  // namespace assay::cli
