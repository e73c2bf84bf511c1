// SPDX-License-Identifier: Apache-2.0
#include "server/service/kubernetes/admission.h"

#include "server/service/kubernetes/binding_review.h"
#include "server/service/kubernetes/claim_review.h"
#include "server/service/kubernetes/pod_review.h"
#include "server/service/kubernetes/review_answer.h"

namespace assay::server {
namespace {

bool is_write(const Review& review) {
  return review.operation == "CREATE" || review.operation == "UPDATE";
}

// What is stored must be small enough for the reviews of its updates, which have it twice.
Status check_size(const WebhookCall& asking, const Review& review, ReviewSubject subject,
                  std::size_t bytes) {
  const Status size = check_object_size(review, bytes);
  if (size || subject != ReviewSubject::kPod || !is_write(review)) {
    return size;
  }
  ASSAY_TRY(check_unselected_size(review, bytes));
  ASSAY_ASSIGN(const bool selected, may_be_selected(asking, review));
  return selected ? size : Status();
}

Result<ReviewAnswer> judge(const WebhookCall& asking, const Review& review, std::size_t bytes) {
  const ReviewSubject subject = subject_of(review);
  if (subject == ReviewSubject::kPod || subject == ReviewSubject::kClaim) {
    ASSAY_TRY(check_size(asking, review, subject, bytes));
  }
  if (subject == ReviewSubject::kBinding && review.operation == "CREATE") {
    return judge_binding(asking, review);
  }
  if (subject == ReviewSubject::kPod && is_write(review)) {
    return judge_pod(asking, review);
  }
  if (subject == ReviewSubject::kTemplate && is_write(review)) {
    return advise_template(asking, review);
  }
  if (subject == ReviewSubject::kClaim && (is_write(review) || review.operation == "DELETE")) {
    return record_claim(asking, review);
  }
  if (subject == ReviewSubject::kPod && review.operation == "DELETE") {
    return forget_pod(asking, review);
  }
  if (review.operation == "DELETE" || review.operation == "CONNECT") {
    return allow_unjudged(review, "not-applicable");
  }
  return fail(ErrorCode::kConditionUndecided,
              "objects of this kind or operation are not understood here; send only pods, their "
              "bindings, their claims and workload templates");
}

}  // namespace

Result<ReviewAnswer> review(Services& services, AdmissionCall call, ByteView body,
                            const std::string& principal, std::optional<Timestamp> deadline) {
  ASSAY_ASSIGN(const Review parsed, parse_review(body));
  auto result = judge({services, services.store.for_admission(), call, principal, deadline}, parsed,
                      body.size());
  return result ? std::move(result) : refuse_undecided(parsed, result.error());
}

}  // namespace assay::server
