// SPDX-License-Identifier: Apache-2.0
// Questions about impact: what would be answered otherwise, and which pods are denied now.

#include "schemas/impact_request.h"
#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/service/impact/decision_impact.h"
#include "server/service/impact/pod_impact.h"

namespace assay::server {

Result<Response> post_decision_impact(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ImpactRequest request, parse_impact_request(call.request.body));
  ASSAY_ASSIGN(const Json answer, decision_impact(api.services, request, call.request.deadline));
  return json_response(200, answer);
}

Result<Response> post_pod_impact(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ImpactRequest request, parse_impact_request(call.request.body));
  ASSAY_ASSIGN(const Json answer, pod_impact(api.services, request, call.request.deadline));
  return json_response(200, answer);
}

Result<Response> list_affected_pods(Api& api, const Call& call) {
  AffectedQuery query;
  if (const auto key = call.parameter("key")) {
    ASSAY_ASSIGN(query.key, KeyId::parse(*key));
  }
  if (const auto statement = call.parameter("statement")) {
    ASSAY_ASSIGN(query.statement, StatementId::parse(*statement));
  }
  ASSAY_ASSIGN(query.artifact, filter(call, "artifact", Form::kDigest));
  ASSAY_ASSIGN(query.limit, limit_parameter(call));
  ASSAY_ASSIGN(query.after, filter(call, "after", Form::kPlace));
  ASSAY_ASSIGN(const Json answer, affected_pods(api.services, query, call.request.deadline));
  return json_response(200, answer);
}

}  // namespace assay::server
