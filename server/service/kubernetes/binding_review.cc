// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/binding_review.h"

#include <algorithm>

#include "server/service/kubernetes/known_pod.h"
#include "server/service/kubernetes/review_answer.h"
#include "server/service/kubernetes/runtime_annotations.h"

namespace assay::server {
namespace {

ConditionResult pod_condition(const BindingView& binding,
                              const std::optional<storage::PodRow>& pod) {
  ConditionResult result{"pod",
                         Outcome::kFail,
                         binding.uid.empty() ? Reason::kBindingWithoutUid : Reason::kPodUnknown,
                         "a pod that was admitted under this name and uid",
                         nullptr,
                         {},
                         {}};
  result.actual = {{"name", binding.name}, {"uid", binding.uid}};
  if (pod) {
    result.outcome = Outcome::kPass;
    result.code.reset();
    result.actual["admitted_at"] = to_rfc3339(pod->admitted_at);
    if (!pod->decision.empty()) {
      result.evidence = {pod->decision};
    }
  }
  return result;
}

// Annotations of a binding are given to the pod, where a runtime may read devices and mounts from
// them: what they are in a pod they are here.
Status add_annotations(const Json& binding, policy::Workload& workload) {
  const PodView view{"", member_at(binding, "metadata"), Json::object()};
  ASSAY_ASSIGN(const policy::Workload seen, workload_of(view, workload.name_space));
  for (const std::string& way : seen.accelerators) {
    if (std::find(workload.accelerators.begin(), workload.accelerators.end(), way) ==
        workload.accelerators.end()) {
      workload.accelerators.push_back(way);
    }
  }
  add_to(workload, runtime_annotations(view));
  return {};
}

// `pod` is the one with the uid of the binding; when it has another name, the binding names none.
Result<DecisionRequest> bind_request(const WebhookCall& asking, const Review& review,
                                     const BindingView& binding,
                                     std::optional<storage::PodRow> pod) {
  if (pod && (pod->name_space != review.name_space || pod->name != binding.name)) {
    pod.reset();
  }
  policy::Workload workload{review.name_space, {}, {}, {}};
  if (pod) {
    ASSAY_ASSIGN(workload, policy::workload_from_json(pod->workload));
    ASSAY_TRY(add_annotations(review.object, workload));
  }
  workload.node = binding.node;
  DecisionRequest request = request_for(asking, review, std::move(workload),
                                        pod ? references_of(*pod) : std::vector<std::string>());
  request.workload_known = pod.has_value();
  request.preconditions = {pod_condition(binding, pod)};
  if (pod && asking.keeps(review)) {
    request.seen = *pod;
    request.keeps = with_workload(*pod, request.workload);
  }
  return request;
}

}  // namespace

Result<ReviewAnswer> judge_binding(const WebhookCall& asking, const Review& review) {
  const auto binding = binding_of(review.object);
  const bool same_name =
      binding && (review.object_name.empty() || review.object_name == binding->name);
  if (!same_name || binding->name.size() > kMaxObjectName || binding->uid.size() > kMaxObjectName) {
    return fail(ErrorCode::kInvalidParameter, "the binding does not name one pod and one node");
  }
  if (has_our_annotations(review.object)) {
    return refuse(review, Reason::kAnnotationReserved,
                  "a binding carries no annotations of assay.dev");
  }
  ASSAY_ASSIGN(auto known, find_pod(asking.services, asking.principal, binding->uid));
  ASSAY_ASSIGN(const DecisionRequest request,
               bind_request(asking, review, *binding, std::move(known.row)));
  ASSAY_ASSIGN(const DecisionAnswer decided,
               decide(asking.services, request, std::move(known.snapshot)));
  return decided.selected ? answer_decision(review, decided)
                          : not_applicable(asking, review, request);
}

}  // namespace assay::server
