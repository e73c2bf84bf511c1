// SPDX-License-Identifier: Apache-2.0
// Facts about an artifact (policy/facts.h), read from stored documents.
#pragma once

#include <memory>

#include "server/service/facts/case_parts.h"
#include "server/service/services.h"

namespace assay::server {

// Returns the facts from the signed statements about `artifact`, with the signers' keys as they are
// in the trust store now. The facts have no predicates, because StoredTests (decisions/tested.h)
// reads those. Statements are read from the store only if statements were added, or trust changed,
// since the last call for this artifact.
[[nodiscard]] Result<std::shared_ptr<const ArtifactFacts>> artifact_facts(
    Services& services, storage::Snapshot& snapshot, const ArtifactId& artifact);

}  // namespace assay::server
