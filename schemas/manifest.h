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
// Version of the predicate's format, stored with every manifest. The root of form 1 did not cover
// the ignore rules. Form 2 hashed files apart from their tensors. A manifest of an earlier form is
// not read.
inline constexpr std::uint64_t kManifestForm = 3;

struct Manifest {
  std::string name;  // model name, see check_model_name
  Artifact artifact;
  std::vector<std::string> locations;  // URIs where the artifact is kept, see schemas/location.h
  std::map<std::string, std::string> other_digests;  // of the same artifact, from the subject
};

// Returns the statement that carries `manifest`, with the artifact root as subject digest.
[[nodiscard]] Result<Statement> to_statement(const Manifest& manifest);

// Parses the manifest in a statement. Checks predicate type, schema, entries, and that there is
// exactly one subject with the manifest's name. Recomputes the root. Errors: root-mismatch unless
// the subject digest is the computed root; predicate-type-unknown; subject-mismatch; those of
// validate().
[[nodiscard]] Result<Manifest> manifest_from(const Statement& statement);

// Returns the artifact id of the manifest's artifact.
[[nodiscard]] Result<ArtifactId> artifact_id(const Manifest& manifest);

}  // namespace assay
