// SPDX-License-Identifier: Apache-2.0
// Which known pods would be denied or allowed under a hypothesis, and which are denied as things
// stand now.
#pragma once

#include <optional>

#include "schemas/impact_request.h"
#include "server/service/services.h"

namespace assay::server {

// Limit on the pods that one call looks at.
inline constexpr std::size_t kMaxPodsExamined = 2000;

// Looks at known pods, by cluster and uid, from request.after on, at most kMaxPodsExamined and for
// at most kImpactTime (decision_impact.h) or until `deadline`. Each is judged twice, as things
// stand now and under the hypothesis: one that runs and may serve as at serve, others as at the
// binding to their node, or as at their creation when they have none. Conditions for a later point
// are left out.
//
// Returns what Tally::to_json() does (tally.h), with "next" when pods are left. "nodes" of
// the first call also has the enrolled nodes that the hypothesis itself is about, with and without
// pods. Errors: overloaded while another question about impact runs; invalid-parameter for an
// `after` that no answer gave, and for `since` or `until`; those of decide().
[[nodiscard]] Result<Json> pod_impact(Services& services, const ImpactRequest& request,
                                      std::optional<Timestamp> deadline);

// Which pods are looked for. Empty members are no filters.
struct AffectedQuery {
  // Signed something about a model of the pod, or about what one was made from.
  std::optional<KeyId> key{};
  std::optional<StatementId> statement{};  // about a model of the pod, or what one was made from
  std::string artifact{};  // "algorithm:value": a model of the pod, or what went into one
  std::string after{};     // "next" of the answer before
  std::size_t limit = 100;
  std::size_t examine = kMaxPodsExamined;  // at most this many pods, at least 1
  bool by_revocation = false;              // only for a revocation or a withdrawal (revoked.h)
};

// Looks at known pods as pod_impact() does, and lists those that were admitted and that would be
// denied if they were asked about now. Returns {"examined", "items", "undecided"} and "next" when
// pods are left; an item is a pod (pod_judge.h) with its "reasons" and "why". Errors: those of
// pod_impact().
[[nodiscard]] Result<Json> affected_pods(Services& services, const AffectedQuery& query,
                                         std::optional<Timestamp> deadline);

// The same, also while a question about impact is answered. For a thread that is not of the API
// and of which there is one: readers who ask in a loop do not hold it back.
[[nodiscard]] Result<Json> affected_pods_out_of_turn(Services& services, const AffectedQuery& query,
                                                     std::optional<Timestamp> deadline);

}  // namespace assay::server
