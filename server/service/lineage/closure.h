// SPDX-License-Identifier: Apache-2.0
// Reads lineages (policy/lineage.h) from the store.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "server/service/lineage/stored.h"
#include "server/service/services.h"

namespace assay::server {

// A lineage that a decision rests on, and up to which version of the stored statements it holds.
struct SeenLineage {
  std::uint64_t version = 0;        // Snapshot::statements_version()
  std::optional<LeafIndex> newest;  // newest statement of the store; nullopt: none
  std::uint64_t evidence = 0;       // LineageReads::evidence_generation()
  std::shared_ptr<const LineageFacts> facts;
};

// Returns everything that `artifact` was made from, with the evidence of each step. It is read from
// the store only if, since the last call for this artifact, a statement about something in it was
// added or got signatures or evidence, evidence in it was appraised again or became stale, or trust
// changed. Errors: evaluation-deadline when `deadline`, by the service's
// clock, passes while statements are read; data-loss; storage.
[[nodiscard]] Result<SeenLineage> lineage_facts(Services& services, storage::Snapshot& snapshot,
                                                const ArtifactId& artifact,
                                                std::optional<Timestamp> deadline = {});

// Counts what was kept of the judgement of these lineages (kept_results.h) as memory of the cache,
// which then may forget other lineages. To be called after each judgement.
void weigh_lineages(Services& services, std::span<const SeenLineage> seen);

// Returns whether all of `seen` are still whole lineages in `view`, which must be of the same or a
// later state than the snapshot that they were read from, with the same trust. Looks only at
// statements that came or changed since.
[[nodiscard]] Result<bool> are_current(storage::Snapshot& view, std::span<const SeenLineage> seen);

// Collects a lineage for readers, in either direction, without the parts of a case. `start` is a
// digest. Ends after `depth` steps. `check` is called for each digest and each statement that is
// read; its error ends the reading. Errors: those of `check`; data-loss; storage.
[[nodiscard]] Result<std::shared_ptr<const policy::Lineage>> read_lineage(
    storage::Snapshot& snapshot, const std::string& start, policy::LineageDirection direction,
    std::size_t depth, const std::function<Status()>& check);

// What was made from something is listed, not judged: an edge costs little, and strangers must not
// hide the rest of the list by wide statements.
inline constexpr std::size_t kMaxMadeFromEdges = 20'000'000;
inline constexpr policy::LineageLimits kMadeFromLimits = {.edges = kMaxMadeFromEdges};

// Collects everything that was made from `start`, a digest, within `limits`: but for its edges
// those of a lineage that a decision rests on. `check` and errors are those of read_lineage().
[[nodiscard]] Result<std::shared_ptr<const policy::Lineage>> made_from_lineage(
    storage::Snapshot& snapshot, const std::string& start, const std::function<Status()>& check,
    const policy::LineageLimits& limits = kMadeFromLimits);

}  // namespace assay::server
