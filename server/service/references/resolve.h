// SPDX-License-Identifier: Apache-2.0
// Finds the artifacts for the references and the mounted locations of a workload.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/decision.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the number of models that one workload may name.
inline constexpr std::size_t kMaxModels = 8;

// Splits `text` at commas and drops spaces around each reference. Returns an empty list for an
// empty text. An empty reference between commas stays in the list; resolve() then finds no artifact
// for it.
[[nodiscard]] std::vector<std::string> references_in(std::string_view text);

// Limit on the manifests and placements (signed statements that add locations to an artifact) that
// are read to resolve all names and locations of one workload together. Beyond this limit, a
// precondition fails with limit-exceeded, and the workload is denied. At first, only statements
// signed by a publisher whom a policy may believe are read (publishers.h). If none of these is
// believed, the statements of every publisher whose key is not revoked are read. Statements about
// one artifact have no limit here, because each signer's statements are limited when they are
// accepted (documents/store_statement.h).
inline constexpr std::size_t kMaxManifestsHeard = 4096;

// The resolved references, without repetitions, and preconditions that say how each reference was
// resolved.
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

// Resolves each reference. A reference is an artifact id or a model name. A model name stands for
// the artifacts of trusted manifests under exactly that name. If there are no references, the
// models are those whose trusted manifests or placements name a location that the workload mounts.
//
// A statement is trusted if it has a publisher's signature that counts at `now`
// (policy/evaluate.h). If the policies that select the workload believe some of the trusted
// statements (publishers.h), the other statements are ignored. Therefore a publisher whom these
// policies do not believe cannot make a reference ambiguous.
//
// The result has a failed precondition for each reference that does not stand for exactly one
// artifact, and one when there are more than kMaxModels references. The id of these preconditions
// is "model-reference". Errors: evaluation-deadline when the deadline passes before all needed
// statements were read.
[[nodiscard]] Result<ResolvedReference> resolve(Services& services, storage::Snapshot& snapshot,
                                                const ReferenceQuestion& question);

// Returns the manifests about `artifact` with a publisher's signature that counts at `now`, in log
// order.
[[nodiscard]] Result<std::vector<storage::StatementRow>> trusted_manifests(
    storage::Snapshot& snapshot, const ArtifactId& artifact, Timestamp now);

// Returns the placements of `artifact` with a publisher's signature that counts at `now`, in log
// order.
[[nodiscard]] Result<std::vector<storage::StatementRow>> trusted_placements(
    storage::Snapshot& snapshot, const ArtifactId& artifact, Timestamp now);

// Returns the names among the references that have no artifact id, distinct, ascending; {""}
// without references, because mounted places then say which model is meant.
[[nodiscard]] std::vector<std::string> bare_names_in(const std::vector<std::string>& references);

// Returns the model names in the first kMaxModels references, distinct, ascending, whether or not
// they stand for an artifact. A reference that is none is left out.
[[nodiscard]] std::vector<std::string> names_in(const std::vector<std::string>& references);

// Returns the models as a text that references_in() splits: "name@artifact id" or "artifact id", in
// order.
[[nodiscard]] std::string reference_to(const std::vector<DecidedModel>& models);

}  // namespace assay::server
