// SPDX-License-Identifier: Apache-2.0
// Kubernetes AdmissionReview v1: from the review's bytes to the answer's.
// Spec: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
#pragma once

#include <optional>
#include <string>

#include "server/service/services.h"

namespace assay::server {

enum class AdmissionCall { kValidate, kMutate };

// Annotation that names the model of a pod.
inline constexpr std::string_view kModelAnnotation = "assay.dev/model";
// Annotation that mutation adds: the decision it rests on.
inline constexpr std::string_view kDecisionAnnotation = "assay.dev/decision-id";

struct ReviewAnswer {
  std::string body;  // an AdmissionReview with the request's uid
  // What was decided. Absent when nothing was: no policy selects the workload, the review is only
  // recorded or advised about, or it could not be decided and is denied for that.
  std::optional<bool> decided;
};

// Answers a review. The result is always an AdmissionReview with the request's uid: allowed, or
// denied with every failed condition named. An Error only when no uid can be read
// (malformed-admission-review and the JSON errors): the caller answers 400. What cannot be decided,
// or not before `deadline` (by the service's clock), is denied. Both calls take the full decision;
// mutation of an allowed pod also pins its model reference to the artifact id, notes the decision
// id and, when the pod is made, adds the node affinity that policies ask for.
//
// Pods and what makes them are decided at the point create, a pod that names its node at bind.
// Validation remembers a pod that it allows, or that no policy selects: when its Binding comes
// (pods/binding), that pod is decided at bind. A Binding of a pod that was not seen before is
// denied with pod-unknown where a policy in mode enforce may select it.
[[nodiscard]] Result<ReviewAnswer> review(Services& services, AdmissionCall call, ByteView body,
                                          const std::string& principal,
                                          std::optional<Timestamp> deadline = {});

}  // namespace assay::server
