// SPDX-License-Identifier: Apache-2.0
// Release statements put the artifacts that have one model name into an order. A release says which
// artifact a version of the name is, and which release it follows. Schema: release.schema.json.
// docs/releases.md explains releases for those who publish models.
#pragma once

#include <optional>
#include <string>

#include "schemas/core/ids.h"
#include "schemas/statement.h"

namespace assay {

inline constexpr std::string_view kReleasePredicateType = "https://assay.dev/release/v1";

struct Release {
  std::string name;     // of the model, see check_model_name
  std::string version;  // for people, such as "2.1.0"; it does not order releases
  ArtifactId artifact;
  // Id of the release of the same name that came before. Absent for the first release of a name.
  std::optional<StatementId> supersedes{};
};

// Returns the statement of a release. Errors: those of validate().
[[nodiscard]] Result<Statement> to_statement(const Release& release);

// Parses a release. Checks predicate type and schema, and that there is exactly one subject, which
// has the name of the release and an artifact root as its only digest. Errors:
// predicate-type-unknown; subject-mismatch; invalid-digest; those of validate().
[[nodiscard]] Result<Release> release_from(const Statement& statement);

}  // namespace assay
