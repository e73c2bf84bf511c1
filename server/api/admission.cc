// SPDX-License-Identifier: Apache-2.0
// Kubernetes admission webhooks. A review with a uid is always answered with 200.

#include "server/service/admission.h"

#include "server/api/handlers.h"

namespace assay::server {
namespace {

Result<Response> answer(Api& api, const Call& call, AdmissionCall kind) {
  Response response;
  ASSAY_ASSIGN(response.body, review(api.services, kind, call.request.body, call.principal.name));
  const auto json = parse_json(response.body);
  const Json::json_pointer verdict("/response/auditAnnotations/verdict");
  if (json && json->contains(verdict)) {
    api.decided(json->at(verdict) == "allow");
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
