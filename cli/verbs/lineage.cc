// SPDX-License-Identifier: Apache-2.0
// assay lineage: what a model was made from, and what was made from it.
#include <memory>
#include <set>
#include <utility>

#include "cli/client/connect.h"
#include "cli/client/lists.h"
#include "cli/documents/documents.h"
#include "cli/output.h"
#include "cli/verbs/verbs.h"
#include "client/files.h"
#include "schemas/core/ids.h"
#include "schemas/lineage/graph.h"

namespace assay::cli {
namespace {

struct LineageOptions {
  std::string model;
  bool down = false;
  std::uint64_t depth = 64;
  ConnectionFlags connection;
};

// The one artifact that is published under the name.
Result<std::string> artifact_named(Api& api, const std::string& name) {
  Query query;
  query.add("name", name);
  query.add("limit", "1000");
  ASSAY_ASSIGN(const Json page, api.get("/v1/manifests" + query.text()));
  std::set<std::string> artifacts;
  for (const Json& manifest : list_at(page, "items")) {
    if (std::string artifact = text_at(manifest, "artifact"); !artifact.empty()) {
      artifacts.insert(std::move(artifact));
    }
  }
  if (artifacts.empty()) {
    return fail(ErrorCode::kNotFound,
                "No manifest has this name; 'assay search --kind manifest' lists those there are, "
                "and what has no manifest is named by its id, assay-tree-v1-...",
                name);
  }
  if (artifacts.size() > 1) {
    std::string all;
    for (const std::string& artifact : artifacts) {
      all += (all.empty() ? "" : ", ") + artifact;
    }
    return fail(ErrorCode::kModelReferenceAmbiguous,
                "Several artifacts have this name; give one of these ids: " + all, name);
  }
  return *artifacts.begin();
}

// The id in `model`: an artifact id, a file with a manifest, or a name.
Result<std::string> artifact_meant(Api& api, const std::string& model) {
  if (ArtifactId::parse(model)) {
    return model;
  }
  if (client::file_exists(model)) {
    ASSAY_ASSIGN(const LoadedDocument document, load_document(model));
    ASSAY_ASSIGN(const Manifest manifest, manifest_of(document.payload));
    ASSAY_ASSIGN(const ArtifactId artifact, artifact_id(manifest));
    return artifact.text();
  }
  return artifact_named(api, model);
}

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
