// SPDX-License-Identifier: Apache-2.0
// Pods, and questions about impact: what would be answered otherwise, which pods are denied now.

#include "schemas/impact_request.h"
#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/service/impact/decision_impact.h"
#include "server/service/impact/pod_impact.h"
#include "server/service/impact/pod_list.h"

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

Result<Response> get_pods(Api& api, const Call& call) {
  ASSAY_ASSIGN(const std::size_t asked, limit_parameter(call));
  const std::size_t limit = std::min(asked, kMaxPodsListed);
  ASSAY_ASSIGN(const std::string after, filter(call, "after", Form::kPlace));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(Json page, list_pods(api.services, *snapshot, after, limit));
  std::optional<std::string> next;
  if (page.contains("next")) {
    next = page["next"].get<std::string>();
  }
  return keyed_list_response(*snapshot, call, std::move(page["items"]), limit, next);
}

}  // namespace assay::server
