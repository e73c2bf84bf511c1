// SPDX-License-Identifier: Apache-2.0
// From stored documents to facts: what is known about an artifact, and which artifact a reference
// stands for.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/facts.h"
#include "server/service/case_parts.h"
#include "server/service/decide.h"

namespace assay::server {

// Manifests and placements that are read to tell what names and places stand for, over all of a
// workload's; more is limit-exceeded, hence a deny. Only those count that somebody signed whom a
// policy may believe; where nobody is believed, those of every publisher whose key is not revoked.
// Statements about one artifact have no such limit: what one signer may add is limited when it is
// accepted (store_statement.h).
inline constexpr std::size_t kMaxManifestsHeard = 4096;

// What was signed about `artifact`, with what the trust store says of the signers now. Predicates
// are not read: see StoredTests. Read from the store only when something was added since the last
// time.
[[nodiscard]] Result<std::shared_ptr<const ArtifactFacts>> artifact_facts(
    Services& services, storage::Snapshot& snapshot, const ArtifactId& artifact);

// Places with reports of one node about one artifact that a decision looks at; more is
// limit-exceeded, hence a deny.
inline constexpr std::size_t kMaxReportPlaces = 256;

// What is asked about the workload's node.
struct NodeQuestion {
  const policy::Workload& workload;      // with its node
  std::string cluster{};                 // of the pod
  std::string pod_uid{};                 // at serve: reports on this pod's own mounts count
  std::vector<std::string> locations{};  // without a pod: that reports are wanted on; empty: on all
};
// What is known of the claims that the pod mounts.
[[nodiscard]] Result<std::vector<policy::ClaimFact>> known_claims(storage::Snapshot& snapshot,
                                                                  const policy::Workload& workload,
                                                                  const std::string& cluster);
// Adds what the store knows of the node: its enrolment with the newest accepted evidence, and its
// newest report about facts.artifact of each scope and place: where the pod mounts something, else
// the locations asked for, else every one with a report. A node that never enrolled adds nothing.
[[nodiscard]] Status collect_node(storage::Snapshot& snapshot, const NodeQuestion& question,
                                  policy::Facts& facts);

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
