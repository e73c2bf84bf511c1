// SPDX-License-Identifier: Apache-2.0
// Finds the artifact for a model name as one policy says (schemas/policy_names.h): the newest
// release, or what the policy itself gives. Internal to this room.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "server/service/references/hearing.h"

namespace assay::server {

struct NamedArtifact {
  ArtifactId artifact;
  std::vector<std::string> said;  // id of the release; empty when the policy gives the artifact
};

// Returns the artifact, or the failed precondition that says why there is none:
// model-reference-unpinned when the policy gives no artifact for the name; release-missing when no
// release counts; release-forked, with the ids of two releases. A release counts when its own
// signers meet every manifest condition of the policy, and when it is not withdrawn. Errors: those
// of hear(); data-loss.
[[nodiscard]] Result<std::variant<NamedArtifact, ConditionResult>> artifact_under(
    Asking& asking, const Publishers::Naming& naming, const std::string& name);

}  // namespace assay::server
