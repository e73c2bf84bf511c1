// SPDX-License-Identifier: Apache-2.0
// Decides whether a workload may run with the models that it mounts: evaluates the policies, then
// signs, stores and logs the decision. Replays stored decisions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/decision.h"
#include "server/service/references/resolve.h"
#include "server/service/services.h"

namespace assay::server {

// A question to decide.
struct DecisionRequest {
  DecisionPoint point;
  // References such as "acme/demo", "assay-tree-v1-sha256:..." or "acme/demo@assay-tree..."; at
  // most kMaxModels. When empty, the models are those whose trusted manifests or placements name a
  // location that the workload mounts (references/resolve.h).
  std::vector<std::string> models;
  policy::Workload workload;     // at bind with its node; at create without a node
  Json context;                  // stored in the decision as `request`, such as uid and kind
  std::string principal;         // name of the caller, which is the actor of the log record
  bool dry_run = false;          // evaluate and answer, but neither store nor log
  bool skip_unselected = false;  // admission: do not judge a workload that no policy selects
  // False when only the namespace and the node of the workload are known. If this is false and
  // skip_unselected is true, the workload is skipped only when no policy in mode enforce could
  // select it.
  bool workload_known = true;
  std::string cluster = {};  // cluster of the pod and of its claims
  std::string pod_uid = {};  // at serve: also use reports on this pod's own mounts
  // For a request without a pod, only reports (a node's signed accounts of what it read) about
  // these locations of the models are considered. If empty, reports about all locations are
  // considered.
  std::vector<std::string> locations = {};
  // Results of checks that the caller has made. If one of these results is not a pass, the
  // references are not resolved.
  std::vector<ConditionResult> preconditions = {};
  // The row of the pod to store. If the decision allows, the row is stored in the same write as the
  // decision, with the decision's id and models.
  std::optional<storage::PodRow> keeps = {};
  // The row of the pod as the caller read it. If the stored row has changed before the write,
  // decide() fails with unavailable.
  std::optional<storage::PodRow> seen = {};
  // The time, by the service's clock, at which decide() must be done. If the time has passed,
  // decide() fails with evaluation-deadline and stores nothing. The time is checked while
  // references are resolved, before evaluation and before the write.
  std::optional<Timestamp> deadline = {};
  // What the decision and the jobs that it orders are written with: Services::store, or the handle
  // of it that belongs to the caller (storage::Store::for_admission()). Null: Services::store.
  storage::Store* store = nullptr;
};

// A job that a decision ordered, or that was open already.
struct OrderedJob {
  std::string id;
  std::string location;
};

// The answer to a DecisionRequest.
struct DecisionAnswer {
  bool selected;  // false, only with skip_unselected: no policy selects the workload
  std::optional<Decision> decision;  // absent when `selected` is false
  std::string envelope;              // signed decision as stored; empty in a dry run
  std::optional<LeafIndex> index;    // of the record in the log; absent in a dry run
  // Labels that the pod's node must have (policy/affinity.h): allowed values by key.
  std::map<std::string, std::vector<std::string>> node_affinity = {};
  // Jobs that this decision ordered from the node (order_reports.h).
  std::vector<OrderedJob> ordered = {};
};

// Returns the policies in force, parsed once for each policy epoch.
[[nodiscard]] Result<std::shared_ptr<const Policies>> policies_in_force(
    Services& services, storage::Snapshot& snapshot);

// Decides about `request`. `snapshot` is the one that the caller made the request from; decide()
// reads from it, so that request and facts are of one state of the store. Without it decide() opens
// one. An error means that no decision could be made; the caller must then deny. Errors:
// invalid-parameter for a request at bind without a node, for one at create with a node, and for an
// invalid node name; trust-sequence when data that the decision used changed before the write; and
// others.
[[nodiscard]] Result<DecisionAnswer> decide(Services& services, const DecisionRequest& request,
                                            std::unique_ptr<storage::Snapshot> snapshot = nullptr);

// Returns a stored decision as to_json(Decision) does: the signed document together with the
// results, which are stored apart. Errors: data-loss when a part of the decision is missing or
// damaged.
[[nodiscard]] Result<Json> load_decision(storage::Snapshot& snapshot,
                                         const storage::DecisionRow& row);

// Returns the signed document of a decision, without the results, which are stored apart. Errors:
// data-loss.
[[nodiscard]] Result<Json> load_signed_decision(storage::Snapshot& snapshot,
                                                const storage::DecisionRow& row);

// Stores the row of a pod. Unless `decision` is null, writes the decision's id, and its models if
// it has any, into the row. A row without an admission time gets the present time.
[[nodiscard]] Status keep_pod(storage::Transaction& transaction, storage::PodRow row,
                              const Decision* decision);

// The result of a replay.
struct ReplayAnswer {
  bool reproduced;  // the digests `recomputed` and `recorded` are equal
  Digest recorded;
  Digest recomputed;
  Verdict verdict;
};

// Evaluates the stored facts of a decision again under the stored policies and at the stored time.
// Errors: not-found when there is no such decision; case-unsupported when it was made in another
// format or by other rules; evaluation-deadline when `deadline`, by the service's clock, passes
// while a lineage is judged.
[[nodiscard]] Result<ReplayAnswer> replay(Services& services, const std::string& decision_id,
                                          std::optional<Timestamp> deadline = {});

}  // namespace assay::server
