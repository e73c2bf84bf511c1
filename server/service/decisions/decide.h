// SPDX-License-Identifier: Apache-2.0
// Decides whether a model may run where a workload mounts it: evaluates, signs, stores and logs a
// decision. Also replays stored decisions.
#pragma once

#include <map>
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
  // location that the workload mounts.
  std::vector<std::string> models;
  policy::Workload workload;     // at bind with its node; at create without a node
  Json context;                  // stored in the decision as `request`: uid, kind, name ...
  std::string principal;         // the caller; actor of the log record
  bool dry_run = false;          // evaluate and answer, but neither store nor log
  bool skip_unselected = false;  // admission: do not judge a workload that no policy selects
  // False: only the namespace and the node of the workload are known. With skip_unselected, such a
  // workload is judged when a policy in mode enforce may select it.
  bool workload_known = true;
  std::string cluster = {};  // cluster of the pod and of its claims
  std::string pod_uid = {};  // at serve: reports on this pod's own mounts count
  // Without a pod: the locations of the model; reports on these count. When empty, reports on every
  // place count.
  std::vector<std::string> locations = {};
  // Results that the caller found before. When one of them does not pass, no model is resolved.
  std::vector<ConditionResult> preconditions = {};
  // Row of the pod. An allow stores it in the same write as the decision, with the decision's id
  // and models.
  std::optional<storage::PodRow> keeps = {};
  // The row of the pod as the caller read it. Errors: unavailable when the row has changed before
  // the write.
  std::optional<storage::PodRow> seen = {};
  // By the service's clock; checked while references are resolved, before evaluation and before the
  // write. Errors: evaluation-deadline once the deadline has passed; nothing is stored then.
  std::optional<Timestamp> deadline = {};
};

// A job that a decision ordered, or that was open already.
struct OrderedJob {
  std::string id;
  std::string location;
};

// The answer to a DecisionRequest.
struct DecisionAnswer {
  bool selected;  // false, only with skip_unselected: no policy selects the workload
  std::optional<Decision> decision;  // absent when not selected
  std::string envelope;              // signed decision as stored; empty in a dry run
  std::optional<Json> receipt;       // log receipt; absent in a dry run
  // Labels required of the pod's node (policy/affinity.h): allowed values by key.
  std::map<std::string, std::vector<std::string>> node_affinity = {};
  // Jobs that the node must run because of this decision (order_reports.h).
  std::vector<OrderedJob> ordered = {};
};

// Returns the policies in force, parsed once for each policy epoch.
[[nodiscard]] Result<std::shared_ptr<const Policies>> policies_in_force(
    Services& services, storage::Snapshot& snapshot);

// Decides. An error means that no decision could be made; callers answer deny. Errors:
// invalid-parameter at bind without a node, at create with a node, and for an invalid node name;
// trust-sequence when data behind the decision changed before the write; and others.
[[nodiscard]] Result<DecisionAnswer> decide(Services& services, const DecisionRequest& request);

// Returns a stored decision in the form of to_json(Decision): the signed document with its results.
// Errors: data-loss when a part of the decision is missing or damaged.
[[nodiscard]] Result<Json> load_decision(storage::Snapshot& snapshot,
                                         const storage::DecisionRow& row);

// Stores the row of a pod. Unless `decision` is null, the row gets the decision's id and its
// models, if any. A row without an admission time gets the present time.
[[nodiscard]] Status keep_pod(storage::Transaction& transaction, storage::PodRow row,
                              const Decision* decision);

// The result of a replay.
struct ReplayAnswer {
  bool reproduced;  // `recomputed` equals `recorded`
  Digest recorded;
  Digest recomputed;
  Verdict verdict;
};

// Evaluates the stored facts of a decision again under the stored policies and at the stored time.
// Errors: not-found when there is no such decision; case-unsupported when it was made in another
// format or by other rules.
[[nodiscard]] Result<ReplayAnswer> replay(Services& services, const std::string& decision_id);

}  // namespace assay::server
