// SPDX-License-Identifier: Apache-2.0
// Manifests: shape by manifest.schema.json, meaning by the artifact's own rules.
#include "schemas/manifest.h"

#include "schemas/document_size.h"
#include "schemas/location.h"
#include "schemas/members.h"
#include "schemas/validate.h"

namespace assay {
namespace {

Status check_count(std::size_t entries) {
  if (entries > kMaxManifestEntries) {
    return fail(ErrorCode::kLimitExceeded,
                "a manifest lists at most 131072 entries; use --objects files, or split the model",
                "/predicate/entries");
  }
  return {};
}

Result<std::vector<Entry>> read_entries(const Json& list, HashAlgorithm algorithm) {
  std::vector<Entry> entries;
  entries.reserve(list.size());
  for (const Json& item : list) {
    auto entry = entry_from_json(item, algorithm);
    if (!entry) {
      return members::under("/predicate/entries/" + std::to_string(entries.size()),
                            std::move(entry).error());
    }
    entries.push_back(*std::move(entry));
  }
  return entries;
}

// Checks the one subject against the artifact, and moves its other digests into the manifest.
Status read_subject(const Statement& statement, Manifest& manifest) {
  if (statement.subjects.size() != 1) {
    return fail(ErrorCode::kSubjectMismatch, "a manifest has exactly one subject", "/subject");
  }
  const Subject& subject = statement.subjects.front();
  if (subject.name != manifest.name) {
    return fail(ErrorCode::kSubjectMismatch, "the subject has the name of the manifest",
                "/subject/0/name");
  }
  ASSAY_ASSIGN(const ArtifactId id, artifact_id(manifest));
  const auto root = subject.digest.find(id.digest_name());
  if (root == subject.digest.end() || root->second != id.root().hex()) {
    return fail(ErrorCode::kRootMismatch, "the artifact root does not follow from the entries",
                "/subject/0/digest/" + id.digest_name());
  }
  manifest.other_digests = subject.digest;
  manifest.other_digests.erase(id.digest_name());
  return {};
}

}  // namespace

Result<Statement> to_statement(const Manifest& manifest) {
  ASSAY_TRY(check_model_name(manifest.name));
  ASSAY_TRY(check_count(manifest.artifact.entries.size()));
  ASSAY_TRY(check_locations(manifest.locations));
  ASSAY_ASSIGN(const ArtifactId id, artifact_id(manifest));
  Json entries = Json::array();
  for (const Entry& entry : manifest.artifact.entries) {
    entries.push_back(to_json(entry));
  }
  Statement statement;
  statement.predicate_type = kManifestPredicateType;
  statement.predicate = {{"name", manifest.name},
                         {"parameters", to_json(manifest.artifact.parameters)},
                         {"entries", std::move(entries)},
                         {"locations", manifest.locations}};
  ASSAY_TRY(validate("manifest", statement.predicate));
  Subject subject{manifest.name, manifest.other_digests};
  if (!subject.digest.emplace(id.digest_name(), id.root().hex()).second) {
    return fail(ErrorCode::kRootMismatch, "the other digests already name an artifact root",
                "/subject/0/digest/" + id.digest_name());
  }
  statement.subjects.push_back(std::move(subject));
  return statement;
}

Result<Manifest> manifest_from(const Statement& statement) {
  if (statement.predicate_type != kManifestPredicateType) {
    return fail(ErrorCode::kPredicateTypeUnknown, "this is not a merkle-manifest statement",
                "/predicateType");
  }
  const Json& predicate = statement.predicate;
  ASSAY_TRY(check_count(members::child(predicate, "entries", Json::array()).size()));
  if (auto status = validate("manifest", predicate); !status) {
    return members::under("/predicate", std::move(status).error());
  }
  Manifest manifest;
  manifest.name = members::text(predicate, "name");
  ASSAY_TRY(check_model_name(manifest.name));
  auto parameters = tree_parameters_from_json(predicate["parameters"]);
  if (!parameters) {
    return members::under("/predicate/parameters", std::move(parameters).error());
  }
  manifest.artifact.parameters = *parameters;
  ASSAY_ASSIGN(manifest.artifact.entries, read_entries(predicate["entries"], parameters->hash));
  manifest.locations = members::texts(predicate, "locations");
  ASSAY_TRY(check_locations(manifest.locations));
  ASSAY_TRY(read_subject(statement, manifest));
  return manifest;
}

Result<ArtifactId> artifact_id(const Manifest& manifest) { return artifact_id(manifest.artifact); }

}  // namespace assay
