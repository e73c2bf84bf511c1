// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/requester.h"

#include <utility>

#include "schemas/core/json_at.h"

namespace assay::server {

policy::Requester requester_of(const Review& review, const PodView& pod) {
  policy::Requester requester;
  const bool is_pod = subject_of(review) == ReviewSubject::kPod;
  if (is_pod && review.operation == "CREATE") {
    if (!review.user.empty() && review.user.size() <= kMaxUserBytes) {
      requester.user = review.user;
    }
    requester.groups = review.groups;
  }
  std::string account = text_at(pod.spec, "serviceAccountName");
  if (account.empty() && !is_pod) {
    account = "default";
  }
  if (!account.empty() && account.size() <= kMaxObjectName) {
    requester.service_account = review.name_space + "/" + account;
  }
  return requester;
}

}  // namespace assay::server
