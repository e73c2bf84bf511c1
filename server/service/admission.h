// SPDX-License-Identifier: Apache-2.0
// Kubernetes AdmissionReview v1: from the review's bytes to the answer's.
// Spec: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
#pragma once

#include <string>

#include "server/service/services.h"

namespace assay::server {

enum class AdmissionCall { kValidate, kMutate };

// Annotation that names the model of a pod.
inline constexpr std::string_view kModelAnnotation = "assay.dev/model";
// Annotation that mutation adds: the decision it rests on.
inline constexpr std::string_view kDecisionAnnotation = "assay.dev/decision-id";

// Answers a review. The result is always an AdmissionReview with the request's uid: allowed, or
// denied with every failed condition named. An Error only when no uid can be read
// (malformed-admission-review and the JSON errors): the caller answers 400. What cannot be decided
// is denied. Both calls take the full decision; mutation of an allowed pod also pins its model
// reference to the artifact id and notes the decision id.
[[nodiscard]] Result<std::string> review(Services& services, AdmissionCall call, ByteView body,
                                         const std::string& principal);

}  // namespace assay::server
