// SPDX-License-Identifier: Apache-2.0
// Records the weights of a running reference process as a manifest of tensors, which servers with
// the same engine may name as a published layout (schemas/layout.md, section 7).
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "schemas/core/ids.h"
#include "schemas/manifest.h"
#include "worker/instances/checks.h"
#include "worker/instances/owner.h"

namespace assay::worker {

// Hashes all registered tensors of an instance that holds `source`. A tensor of rank N is an entry
// of the file rank_file(N) (worker/instances/match.h), under each of its names. `owners` are sorted
// by rank and not empty. Errors: those of check_ranks(); conflict for processes that registered a
// layout; limit-exceeded for more than kMaxManifestEntries entries;
// file-unreadable for a tensor that was not hashed.
[[nodiscard]] Result<Manifest> record_tensors(std::vector<std::shared_ptr<Owner>> owners,
                                              const ArtifactId& source, const std::string& name,
                                              Checks& checks, const std::stop_token& stop);

}  // namespace assay::worker
