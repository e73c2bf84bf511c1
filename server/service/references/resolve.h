// SPDX-License-Identifier: Apache-2.0
// Which artifacts the references and the mounted places of a workload stand for.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/decision.h"
#include "server/service/services.h"

namespace assay::server {

// Models that one workload may name.
inline constexpr std::size_t kMaxModels = 8;

// References separated by commas, spaces around them left out: none for an empty text. An empty one
// between commas stays: it stands for nothing.
[[nodiscard]] std::vector<std::string> references_in(std::string_view text);

// Manifests and placements that are read to tell what names and places stand for, over all of a
// workload's; more is limit-exceeded, hence a deny. Only those count that somebody signed whom a
// policy may believe; where nobody is believed, those of every publisher whose key is not revoked.
// Statements about one artifact have no such limit: what one signer may add is limited when it is
// accepted (store_statement.h).
inline constexpr std::size_t kMaxManifestsHeard = 4096;

// References resolved, and the preconditions that say how that went. Models are distinct.
struct ResolvedReference {
  std::vector<DecidedModel> models;
  std::vector<ConditionResult> preconditions;
};

// What references are resolved by.
struct ReferenceQuestion {
  const std::vector<std::string>& references;
  const policy::Workload& workload;
  std::span<const policy::ActivePolicy> policies;  // in force
  DecisionPoint point;
  Timestamp now;
  std::optional<Timestamp> deadline = {};  // by the service's clock; none: there is no hurry
};

// evaluation-deadline when it is over.
[[nodiscard]] Status check_deadline(const Services& services,
                                    const std::optional<Timestamp>& deadline);

// Resolves each of the references: by artifact id, or by model name, which stands for what trusted
// manifests under that very name say. Without any, the models are those whose trusted manifests or
// placements name a location that the workload mounts. Trusted are those with a publisher's
// signature that counts at `now`; where the policies that select the workload believe some of them
// (publishers.h), the others are not heard: nobody makes a reference ambiguous whose word would not
// count. A reference that does not stand for exactly one artifact, and more than kMaxModels of
// them, is a precondition that fails; their id is "model-reference". evaluation-deadline when the
// time is over before all that counts has been read.
[[nodiscard]] Result<ResolvedReference> resolve(Services& services, storage::Snapshot& snapshot,
                                                const ReferenceQuestion& question);

// Manifests about `artifact` with a publisher's signature that counts at `now`, in log order.
[[nodiscard]] Result<std::vector<storage::StatementRow>> trusted_manifests(
    storage::Snapshot& snapshot, const ArtifactId& artifact, Timestamp now);

// Placements of `artifact`, likewise.
[[nodiscard]] Result<std::vector<storage::StatementRow>> trusted_placements(
    storage::Snapshot& snapshot, const ArtifactId& artifact, Timestamp now);

// The models as references_in() reads them: "name@artifact id" or "artifact id", in order.
[[nodiscard]] std::string reference_to(const std::vector<DecidedModel>& models);

}  // namespace assay::server
