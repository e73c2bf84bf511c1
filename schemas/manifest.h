// SPDX-License-Identifier: Apache-2.0
// The merkle-manifest predicate: which bytes make up an artifact.
// Schema: schemas/json/manifest.schema.json.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/artifact.h"
#include "schemas/statement.h"

namespace assay {

inline constexpr std::string_view kManifestPredicateType = "https://assay.dev/merkle-manifest/v1";
// Form of the predicate, kept with every stored manifest. Before 2 it had ignore rules beside the
// parameters, which the root did not bind: such a manifest verifies nothing and is not read.
inline constexpr std::uint64_t kManifestForm = 2;

struct Manifest {
  std::string name;  // model name, see check_model_name
  Artifact artifact;
  std::vector<std::string> locations;  // URIs where the artifact is kept, see schemas/location.h
  std::map<std::string, std::string> other_digests;  // of the same artifact, as subject digests
};

// The statement that carries `manifest`, with the artifact root as subject digest.
[[nodiscard]] Result<Statement> to_statement(const Manifest& manifest);

// Reads a manifest out of a statement: predicate type, schema, entries, exactly one subject whose
// name is the manifest's name. Recomputes the root: root-mismatch unless the subject digest is it.
[[nodiscard]] Result<Manifest> manifest_from(const Statement& statement);

// artifact_id of the manifest's artifact.
[[nodiscard]] Result<ArtifactId> artifact_id(const Manifest& manifest);

}  // namespace assay
