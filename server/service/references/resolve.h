// SPDX-License-Identifier: Apache-2.0
// Resolves the references and the mounted places of a workload to artifacts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/decision.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the models that one workload may name.
inline constexpr std::size_t kMaxModels = 8;

// Splits `text` at commas and drops spaces around each reference. Returns an empty list for an
// empty text. An empty reference between commas stays in the list; it resolves to no artifact.
[[nodiscard]] std::vector<std::string> references_in(std::string_view text);

// Limit on the manifests and placements that are read to resolve all names and places of a
// workload. Beyond, a precondition fails with limit-exceeded, and the workload is denied.
// Statements count only if signed by somebody whom a policy may believe. If nobody is believed,
// those of every publisher whose key is not revoked count. Statements about one artifact have no
// such limit, because each signer's statements are limited when they are accepted
// (store_statement.h).
inline constexpr std::size_t kMaxManifestsHeard = 4096;

// The resolved references, and preconditions that say how the resolution went. Models are distinct.
struct ResolvedReference {
  std::vector<DecidedModel> models;
  std::vector<ConditionResult> preconditions;
};

// The input of resolve().
struct ReferenceQuestion {
  const std::vector<std::string>& references;
  const policy::Workload& workload;
  std::span<const policy::ActivePolicy> policies;  // in force
  DecisionPoint point;
  Timestamp now;
  std::optional<Timestamp> deadline = {};  // by the service's clock; nullopt: none
};

// Checks the deadline by the service's clock. Errors: evaluation-deadline when it has passed.
[[nodiscard]] Status check_deadline(const Services& services,
                                    const std::optional<Timestamp>& deadline);

// Resolves each reference: by artifact id, or by model name. A model name stands for the artifacts
// of trusted manifests under exactly that name. Without any reference, the models are those whose
// trusted manifests or placements name a location that the workload mounts.
//
// A trusted statement has a publisher's signature that counts at `now`. If the policies that select
// the workload believe some of the trusted statements (publishers.h), the others are ignored. So
// nobody whose statements do not count can make a reference ambiguous.
//
// A reference that does not stand for exactly one artifact gives a failed precondition; so do more
// than kMaxModels references. The id of these preconditions is "model-reference". Errors:
// evaluation-deadline when the deadline passes before all statements that count were read.
[[nodiscard]] Result<ResolvedReference> resolve(Services& services, storage::Snapshot& snapshot,
                                                const ReferenceQuestion& question);

// Returns the manifests about `artifact` with a publisher's signature that counts at `now`, in log
// order.
[[nodiscard]] Result<std::vector<storage::StatementRow>> trusted_manifests(
    storage::Snapshot& snapshot, const ArtifactId& artifact, Timestamp now);

// Returns the placements of `artifact` under the same condition, in log order.
[[nodiscard]] Result<std::vector<storage::StatementRow>> trusted_placements(
    storage::Snapshot& snapshot, const ArtifactId& artifact, Timestamp now);

// Returns the models as a text that references_in() splits: "name@artifact id" or "artifact id", in
// order.
[[nodiscard]] std::string reference_to(const std::vector<DecidedModel>& models);

}  // namespace assay::server
