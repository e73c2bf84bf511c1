// SPDX-License-Identifier: Apache-2.0
// From "may this model run here?" to a stored, signed, logged decision, and back (replay).
#pragma once

#include <optional>
#include <string>

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

struct DecisionRequest {
  DecisionPoint point;
  ModelReference model;
  policy::Workload workload;
  Json context;                  // kept in the decision as `request`: uid, kind, name ...
  std::string principal;         // who asks; the actor of the log record
  bool dry_run = false;          // evaluated and answered, neither stored nor logged
  bool skip_unselected = false;  // admission: a workload that no policy selects is not judged
};

struct DecisionAnswer {
  bool selected;  // false only with skip_unselected: no policy selects it, there is no decision
  std::optional<Decision> decision;
  std::string envelope;         // signed decision as stored; empty for a dry run
  std::optional<Json> receipt;  // log receipt; absent for a dry run
};

// Decides. Errors are "could not decide": callers answer deny.
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
