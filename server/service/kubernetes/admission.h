// SPDX-License-Identifier: Apache-2.0
// Kubernetes AdmissionReview v1: turns the bytes of a review into the bytes of an answer. Spec:
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
#pragma once

#include <optional>
#include <string>

#include "server/service/services.h"

namespace assay::server {

enum class AdmissionCall { kValidate, kMutate };

// Annotation that names the model of a pod.
inline constexpr std::string_view kModelAnnotation = "assay.dev/model";
// Annotation that mutation adds: the id of the decision for the pod.
inline constexpr std::string_view kDecisionAnnotation = "assay.dev/decision-id";

// The answer to a review.
struct ReviewAnswer {
  std::string body;  // JSON text: an AdmissionReview with the request's uid
  // The verdict. Absent when no decision was made: no policy selects the workload, the review is
  // only recorded, the answer is only advice, or an error prevented the decision (the answer then
  // denies).
  std::optional<bool> decided;
};

// Answers a review. The answer is an AdmissionReview with the request's uid: allowed, or denied
// with every failed condition named. A review is denied when it cannot be decided, or cannot be
// decided before `deadline` (by the service's clock). Validation and mutation make the same full
// decision. For an allowed pod, the answer to mutation also has a patch. The patch replaces the
// model reference by one with the artifact id, and adds the decision id. At the creation of the
// pod, it also adds the node affinity that policies require.
//
// Pods and objects that make pods are decided at the decision point create; a pod that names its
// node is decided at bind. Validation stores a pod that it allows or that no policy selects. When
// the Binding of a stored pod arrives (pods/binding), the pod is decided at bind. The Binding of
// any other pod is denied with pod-unknown if a policy in mode enforce may select the pod.
//
// Errors: malformed-admission-review and the JSON errors, only when no uid can be read; the caller
// answers 400.
[[nodiscard]] Result<ReviewAnswer> review(Services& services, AdmissionCall call, ByteView body,
                                          const std::string& principal,
                                          std::optional<Timestamp> deadline = {});

}  // namespace assay::server
