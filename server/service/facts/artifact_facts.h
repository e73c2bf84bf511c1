// SPDX-License-Identifier: Apache-2.0
// From stored documents to facts: what was signed about an artifact.
#pragma once

#include <memory>

#include "server/service/facts/case_parts.h"
#include "server/service/services.h"

namespace assay::server {

// What was signed about `artifact`, with what the trust store says of the signers now. Predicates
// are not read: see StoredTests. Read from the store only when something was added since the last
// time.
[[nodiscard]] Result<std::shared_ptr<const ArtifactFacts>> artifact_facts(
    Services& services, storage::Snapshot& snapshot, const ArtifactId& artifact);

}  // namespace assay::server
