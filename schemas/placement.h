// SPDX-License-Identifier: Apache-2.0
// Placement statements: where an artifact lies, signed by a publisher of its name. They say what
// `locations` of a manifest say, so that moving a claim needs no new manifest.
// Schema: placement.schema.json.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/statement.h"

namespace assay {

inline constexpr std::string_view kPlacementPredicateType = "https://assay.dev/placement/v1";

struct Placement {
  std::string name;  // of the model, see check_model_name
  ArtifactId artifact;
  std::vector<std::string> locations;  // schemas/location.h, each in its one spelling
};

[[nodiscard]] Result<Statement> to_statement(const Placement& placement);

// Predicate type, schema, exactly one subject with the placement's name and an artifact root as its
// only digest: what is said of one root is not said of other digests.
[[nodiscard]] Result<Placement> placement_from(const Statement& statement);

}  // namespace assay
