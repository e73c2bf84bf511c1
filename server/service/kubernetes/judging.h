// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the judges of reviews. Each judge returns the whole answer. An Error means
// "could not decide"; admission.cc answers an Error with a denial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/admission.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {

// A call of a cluster's API server. The principal stands for the cluster, because each API server
// has its own principal.
struct Asking {
  Services& services;
  AdmissionCall call;
  const std::string& principal;
  std::optional<Timestamp> deadline;

  // Returns true when this review may be remembered. Only validation remembers pods: mutation sees
  // a pod before it has its uid, and others may still change the pod.
  [[nodiscard]] bool keeps(const Review& review) const {
    return call == AdmissionCall::kValidate && !review.dry_run;
  }
};

// Returns the pod with this uid from earlier reviews of this cluster. Returns nullopt for an
// unknown pod.
[[nodiscard]] Result<std::optional<storage::PodRow>> find_pod(const Asking& asking,
                                                              const std::string& uid);
// Returns `row` with `workload`. The node of the workload is added to the nodes that the pod may
// have gone to, unless the pod is settled on a node.
[[nodiscard]] storage::PodRow with_workload(storage::PodRow row, policy::Workload workload);
// Returns the models of the row as references.
[[nodiscard]] std::vector<std::string> references_of(const storage::PodRow& row);

// Returns the request for a decision: at bind when the workload has a node, else at create.
[[nodiscard]] DecisionRequest request_for(const Asking& asking, const Review& review,
                                          policy::Workload workload,
                                          std::vector<std::string> models);

// Allows a workload that no policy selects, and logs that. Unless `pod` is nullopt, its row is
// remembered.
[[nodiscard]] Result<ReviewAnswer> not_applicable(const Asking& asking, const Review& review,
                                                  const std::optional<storage::PodRow>& pod,
                                                  const Json& patch = Json::array());

}  // namespace assay::server
