// SPDX-License-Identifier: Apache-2.0
// From "may this model run here?" to a stored, signed, logged decision, and back (replay).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policy/evaluate.h"
#include "schemas/decision.h"
#include "server/service/services.h"

namespace assay::server {

// How the asker names the model: an artifact id, a model name, or nothing. Places are the locations
// of the workload's volumes, images and storage URIs (schemas/location.h).
struct ModelReference {
  std::string text;  // "acme/demo", "assay-tree-v1-sha256:...", "acme/demo@assay-tree..."
  std::vector<std::string> places;
  bool must_be_bound = false;  // a place must map to the model (admission); false for REST callers
};

// A pod as its object says: what a later binding will be about.
struct PodKey {
  std::string uid;  // may be empty
  std::string name_space;
  std::string name;
};

struct DecisionRequest {
  DecisionPoint point;
  ModelReference model;
  policy::Workload workload;     // with its node at bind; at create it has none
  Json context;                  // kept in the decision as `request`: uid, kind, name ...
  std::string principal;         // who asks; the actor of the log record
  bool dry_run = false;          // evaluated and answered, neither stored nor logged
  bool skip_unselected = false;  // admission: a workload that no policy selects is not judged
  // False: nothing is known of the workload but its namespace and node, so with skip_unselected it
  // is judged when an enforce policy may select it.
  bool workload_known = true;
  // What the caller found out before. When one of them does not pass, no model is looked for.
  std::vector<ConditionResult> preconditions = {};
  std::optional<PodKey> admits = {};  // kept with an allow, in the same write
  // By the service's clock. When it is over before evaluation or before the write:
  // evaluation-deadline, and nothing is stored.
  std::optional<Timestamp> deadline = {};
};

struct DecisionAnswer {
  bool selected;  // false only with skip_unselected: no policy selects it, there is no decision
  std::optional<Decision> decision;
  std::string envelope;         // signed decision as stored; empty for a dry run
  std::optional<Json> receipt;  // log receipt; absent for a dry run
  // Labels that the pod's node must have (policy/affinity.h).
  std::map<std::string, std::vector<std::string>> node_affinity = {};
};

// Decides. Errors are "could not decide": callers answer deny. invalid-parameter when the point is
// bind and there is no node, when it is create and there is one, and for a name that no node has.
[[nodiscard]] Result<DecisionAnswer> decide(Services& services, const DecisionRequest& request);

struct ReplayAnswer {
  bool reproduced;
  Digest recorded;
  Digest recomputed;
  Verdict verdict;
};

// Evaluates the stored facts of a decision again under the stored policies and time. not-found when
// there is no such decision.
[[nodiscard]] Result<ReplayAnswer> replay(Services& services, const std::string& decision_id);

}  // namespace assay::server
