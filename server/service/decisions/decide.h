// SPDX-License-Identifier: Apache-2.0
// From "may this model run here?" to a stored, signed, logged decision, and back (replay).
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

struct DecisionRequest {
  DecisionPoint point;
  // "acme/demo", "assay-tree-v1-sha256:...", "acme/demo@assay-tree...", at most kMaxModels. None:
  // the models are those whose trusted manifests name a location that the workload mounts.
  std::vector<std::string> models;
  policy::Workload workload;     // with its node at bind; at create it has none
  Json context;                  // kept in the decision as `request`: uid, kind, name ...
  std::string principal;         // who asks; the actor of the log record
  bool dry_run = false;          // evaluated and answered, neither stored nor logged
  bool skip_unselected = false;  // admission: a workload that no policy selects is not judged
  // False: nothing is known of the workload but its namespace and node, so with skip_unselected it
  // is judged when an enforce policy may select it.
  bool workload_known = true;
  std::string cluster = {};  // of the pod; its claims are looked up there
  std::string pod_uid = {};  // at serve: reports on what this pod has mounted count
  // Without a pod: where the model lies; reports on these count. None: on every place with one.
  std::vector<std::string> locations = {};
  // What the caller found out before. When one of them does not pass, no model is looked for.
  std::vector<ConditionResult> preconditions = {};
  // Kept with an allow, in the same write, with the decision and its models.
  std::optional<storage::PodRow> keeps = {};
  // The same pod as it was read before: unavailable when it is another by the time of the write.
  std::optional<storage::PodRow> seen = {};
  // By the service's clock. When it is over while references are resolved, before evaluation or
  // before the write: evaluation-deadline, and nothing is stored.
  std::optional<Timestamp> deadline = {};
};

// A job that a decision ordered, or that was open already.
struct OrderedJob {
  std::string id;
  std::string location;
};

struct DecisionAnswer {
  bool selected;  // false only with skip_unselected: no policy selects it, there is no decision
  std::optional<Decision> decision;
  std::string envelope;         // signed decision as stored; empty for a dry run
  std::optional<Json> receipt;  // log receipt; absent for a dry run
  // Labels that the pod's node must have (policy/affinity.h).
  std::map<std::string, std::vector<std::string>> node_affinity = {};
  // Jobs that the node has to do now because of this decision (order_reports.h).
  std::vector<OrderedJob> ordered = {};
};

// The policies that judge now; parsed once for each policy epoch.
[[nodiscard]] Result<std::shared_ptr<const Policies>> policies_in_force(
    Services& services, storage::Snapshot& snapshot);

// Decides. Errors are "could not decide": callers answer deny. invalid-parameter when the point is
// bind and there is no node, when it is create and there is one, and for a name that no node has.
[[nodiscard]] Result<DecisionAnswer> decide(Services& services, const DecisionRequest& request);

// A stored decision as to_json(Decision) has it: the signed document with its results. data-loss
// when something of it is missing or damaged.
[[nodiscard]] Result<Json> load_decision(storage::Snapshot& snapshot,
                                         const storage::DecisionRow& row);

// Puts the row of a pod: with the decision and its models when there is one, and with the time of
// its admission when it has none yet.
[[nodiscard]] Status keep_pod(storage::Transaction& transaction, storage::PodRow row,
                              const Decision* decision);

struct ReplayAnswer {
  bool reproduced;
  Digest recorded;
  Digest recomputed;
  Verdict verdict;
};

// Evaluates the stored facts of a decision again under the stored policies and time. not-found when
// there is no such decision; case-unsupported when it was made in another format or by other rules.
[[nodiscard]] Result<ReplayAnswer> replay(Services& services, const std::string& decision_id);

}  // namespace assay::server
