// SPDX-License-Identifier: Apache-2.0
// Placement statements say where an artifact lies, signed by a publisher of the artifact's name.
// The locations (schemas/location.h) in a placement mean the same as `locations` in a manifest. A
// model can therefore move to another claim without a new manifest. Schema: placement.schema.json.
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
  std::vector<std::string> locations;  // as normalise_location() spells them
};

[[nodiscard]] Result<Statement> to_statement(const Placement& placement);

// Parses a placement. Checks predicate type and schema, and that there is exactly one subject, with
// the placement's name. Also checks that an artifact root is the subject's only digest, because a
// placement says nothing about other digests. Errors: predicate-type-unknown; subject-mismatch;
// those of validate().
[[nodiscard]] Result<Placement> placement_from(const Statement& statement);

}  // namespace assay
