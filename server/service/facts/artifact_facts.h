// SPDX-License-Identifier: Apache-2.0
// Facts about an artifact, read from stored documents.
#pragma once

#include <memory>

#include "server/service/facts/case_parts.h"
#include "server/service/services.h"

namespace assay::server {

// Returns what was signed about `artifact`, with the present state of the signers in the trust
// store. Predicates are not read: see StoredTests. The store is read only when something was added
// since the last call.
[[nodiscard]] Result<std::shared_ptr<const ArtifactFacts>> artifact_facts(
    Services& services, storage::Snapshot& snapshot, const ArtifactId& artifact);

}  // namespace assay::server
