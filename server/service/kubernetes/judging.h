// SPDX-License-Identifier: Apache-2.0
// What the judges of reviews share. Each judge gives the whole answer; an Error is "could not
// decide", which admission.cc answers with a denial.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/service/decisions/decide.h"
#include "server/service/kubernetes/admission.h"
#include "server/service/kubernetes/pod.h"
#include "server/service/kubernetes/review.h"

namespace assay::server {

// Who asks for what, and until when. The principal is the cluster: each API server has its own.
struct Asking {
  Services& services;
  AdmissionCall call;
  const std::string& principal;
  std::optional<Timestamp> deadline;

  // Mutation sees a pod before it has its uid, and others may change it still: only validation
  // keeps what it sees.
  [[nodiscard]] bool keeps(const Review& review) const {
    return call == AdmissionCall::kValidate && !review.dry_run;
  }
};

// The pod that this cluster's reviews were about; nothing when it is not known.
[[nodiscard]] Result<std::optional<storage::PodRow>> find_pod(const Asking& asking,
                                                              const std::string& uid);
// The row with the workload, whose node is one more that the pod may have gone to, unless it is
// settled where it is.
[[nodiscard]] storage::PodRow with_workload(storage::PodRow row, policy::Workload workload);
// Models of the row as references.
[[nodiscard]] std::vector<std::string> references_of(const storage::PodRow& row);

[[nodiscard]] DecisionRequest request_for(const Asking& asking, const Review& review,
                                          policy::Workload workload,
                                          std::vector<std::string> models);

// What no policy selects is allowed, and the log says so. `pod` is kept when it is there.
[[nodiscard]] Result<ReviewAnswer> not_applicable(const Asking& asking, const Review& review,
                                                  const std::optional<storage::PodRow>& pod,
                                                  const Json& patch = Json::array());

}  // namespace assay::server
