// SPDX-License-Identifier: Apache-2.0
// Kubernetes admission webhooks. A review with a uid is always answered with 200.

#include "server/service/admission.h"

#include "server/api/handlers.h"

namespace assay::server {
namespace {

Result<Response> answer(Api& api, const Call& call, AdmissionCall kind) {
  Response response;
  ASSAY_ASSIGN(response.body, review(api.services, kind, call.request.body, call.principal.name));
  // The audit annotation, found without parsing: inside any text its quotes would be escaped.
  if (response.body.contains(R"("verdict":"allow")")) {
    api.decided(true);
  } else if (response.body.contains(R"("verdict":"deny")")) {
    api.decided(false);
  }
  return response;
}

}  // namespace

Result<Response> admission_validate(Api& api, const Call& call) {
  return answer(api, call, AdmissionCall::kValidate);
}

Result<Response> admission_mutate(Api& api, const Call& call) {
  return answer(api, call, AdmissionCall::kMutate);
}

}  // namespace assay::server
