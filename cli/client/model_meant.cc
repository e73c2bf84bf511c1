// SPDX-License-Identifier: Apache-2.0
#include "cli/client/model_meant.h"

#include <set>
#include <utility>

#include "cli/documents/documents.h"
#include "client/files.h"
#include "schemas/core/ids.h"

namespace assay::cli {
namespace {

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

}  // namespace

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

}  // namespace assay::cli
