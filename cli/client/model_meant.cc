// SPDX-License-Identifier: Apache-2.0
#include "cli/client/model_meant.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/documents/documents.h"
#include "client/files.h"
#include "schemas/core/ids.h"
#include "schemas/core/json_at.h"
#include "schemas/core/nearest.h"

namespace assay::cli {
namespace {

// Names of models that are near, among some of those there are; empty where the service says none.
std::string names_near(Api& api, const std::string& name) {
  const Result<Json> page = api.get("/v1/manifests?limit=1000");
  std::set<std::string> known;
  for (const Json& manifest : page ? list_at(*page, "items") : Json::array()) {
    known.insert(text_at(manifest, "name"));
  }
  return did_you_mean(name, std::vector<std::string_view>(known.begin(), known.end()));
}

// Whether the service still hears the manifest: a signature of it is neither withdrawn nor by a key
// that was revoked.
bool counts(const Json& manifest) {
  const Json& withdrawn = object_at(manifest, "withdrawn");
  const auto took_back = [&](const Json& signer) {
    return std::ranges::any_of(list_at(withdrawn, "by"), [&](const Json& identity) {
      return identity == text_at(signer, "identity");
    });
  };
  return !withdrawn.value("by_operators", false) &&
         std::ranges::any_of(list_at(manifest, "signers"), [&](const Json& signer) {
           return !signer.contains("revoked_at") && !took_back(signer);
         });
}

std::string listed(const std::set<std::string>& ids) {
  std::string all;
  for (const std::string& id : ids) {
    all += (all.empty() ? "" : ", ") + id;
  }
  return all;
}

// The one artifact that is published under the name.
Result<std::string> artifact_named(Api& api, const std::string& name) {
  Query query;
  query.add("name", name);
  ASSAY_ASSIGN(const Json page, api.list("/v1/manifests", query, std::nullopt));
  std::set<std::string> artifacts;
  std::set<std::string> others;  // of manifests that do not count
  for (const Json& manifest : list_at(page, "items")) {
    if (std::string artifact = text_at(manifest, "artifact"); !artifact.empty()) {
      (counts(manifest) ? artifacts : others).insert(std::move(artifact));
    }
  }
  if (artifacts.empty() && !others.empty()) {
    return fail(ErrorCode::kNotFound,
                "Every manifest with this name is withdrawn, or by keys that were revoked; its "
                "artifacts are found by these ids: " +
                    listed(others),
                name);
  }
  if (artifacts.empty()) {
    return fail(ErrorCode::kNotFound,
                "No manifest has this name" + names_near(api, name) +
                    "; 'assay search --kind manifest' lists those there are, "
                    "and what has no manifest is named by its id, assay-tree-v1-...",
                name);
  }
  if (artifacts.size() > 1) {
    return fail(ErrorCode::kModelReferenceAmbiguous,
                "Several artifacts have this name; give one of these ids: " + listed(artifacts),
                name);
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

Result<std::string> subject_meant(Api& api, const std::string& subject) {
  const bool as_it_is = subject.empty() || subject.find(':') != std::string::npos;
  return as_it_is ? subject : artifact_meant(api, subject);
}

}  // namespace assay::cli
