// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the functions that judge reviews: judge_pod(), judge_binding(), record_claim()
// and others. Each of these functions returns the whole answer, or an Error when it could not
// decide. admission.cc turns an Error into a denial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/admission.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {

// A call by the API server of a cluster. The name of the principal (the caller in the trust store)
// identifies the cluster, because each cluster has its own principal.
struct WebhookCall {
  Services& services;
  storage::Store& store;  // what reviews write with: Services::store with admission's share
  AdmissionCall call;
  const std::string& principal;
  std::optional<Timestamp> deadline;

  // Returns true when this review may change stored pods and claims, which is so for a validation
  // that is not a dry run. Mutation must not store a pod, because the pod has no uid yet and other
  // webhooks may still change it.
  [[nodiscard]] bool keeps(const Review& review) const {
    return call == AdmissionCall::kValidate && !review.dry_run;
  }
};

// Returns `row` with `workload`. Adds the node of the workload to the nodes that the pod may have
// gone to, unless the pod is already known to be on a node.
[[nodiscard]] storage::PodRow with_workload(storage::PodRow row, policy::Workload workload);
// Returns the models of the row as references (references/resolve.h).
[[nodiscard]] std::vector<std::string> references_of(const storage::PodRow& row);

// Returns the request for a decision: at bind when the workload has a node, else at create.
[[nodiscard]] DecisionRequest request_for(const WebhookCall& asking, const Review& review,
                                          policy::Workload workload,
                                          std::vector<std::string> models);

// Allows the workload of `request`, which no policy selects, and logs this. Stores
// `request.keeps`, if any. Denies a change of a known pod when the changed pod cannot be kept,
// because the next review would then judge the pod as it was before.
[[nodiscard]] Result<ReviewAnswer> not_applicable(const WebhookCall& asking, const Review& review,
                                                  const DecisionRequest& request,
                                                  const Json& patch = Json::array());

}  // namespace assay::server
