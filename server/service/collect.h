// SPDX-License-Identifier: Apache-2.0
// From stored documents to facts: what is known about an artifact, and which artifact a reference
// stands for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/facts.h"
#include "server/service/decide.h"

namespace assay::server {

// Statements about one artifact that a decision looks at; more is limit-exceeded, hence a deny.
inline constexpr std::size_t kMaxStatementsPerArtifact = 4096;

// Everything stored about `artifact`, with what the trust store says of the signers now.
[[nodiscard]] Result<policy::Facts> collect_facts(storage::Snapshot& snapshot,
                                                  const ArtifactId& artifact);

// Adds what the store knows of `node`: its enrolment with the newest accepted evidence, and its
// newest report of each scope about facts.artifact. A node that never enrolled adds nothing.
[[nodiscard]] Status collect_node(storage::Snapshot& snapshot, const std::string& node,
                                  policy::Facts& facts);

// A reference resolved, and the preconditions that say how that went. `artifact` is set only when
// the reference stands for exactly one artifact.
struct ResolvedReference {
  std::optional<ArtifactId> artifact;
  std::string model_name;
  std::vector<ConditionResult> preconditions;
};

// Resolves by artifact id, by model name, or by the places alone (in this order), looking only at
// manifests whose publisher signatures count at `now`. Ids of the preconditions: "model-reference"
// and, when a place must map to the model, "reference-bound".
[[nodiscard]] Result<ResolvedReference> resolve(storage::Snapshot& snapshot,
                                                const ModelReference& reference, Timestamp now);

}  // namespace assay::server
