// SPDX-License-Identifier: Apache-2.0
// Nodes: challenges, enrolment, what is known of them.

#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/service/nodes/challenge.h"
#include "server/service/nodes/enrol.h"
#include "server/service/nodes/heartbeat.h"
#include "server/service/nodes/node_view.h"

namespace assay::server {

namespace {

Response challenge_response(const Challenge& challenge) {
  Response response = json_response(201, to_json(challenge));
  response.headers.emplace_back("Cache-Control", "no-store");
  return response;
}

}  // namespace

Result<Response> post_challenge(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ChallengeRequest request, parse_challenge_request(call.request.body));
  ASSAY_ASSIGN(const Challenge challenge, issue_challenge(api.services, request, call.principal));
  return challenge_response(challenge);
}

Result<Response> post_statement_challenge(Api& api, const Call& call) {
  ASSAY_ASSIGN(const Challenge challenge, issue_statement_challenge(api.services, call.principal));
  return challenge_response(challenge);
}

Result<Response> post_node(Api& api, const Call& call) {
  ASSAY_ASSIGN(const Enrolled enrolled, enrol(api.services, call.request.body, call.principal));
  Response response = json_response(enrolled.renewed ? 200 : 201, enrolled_view(enrolled));
  response.headers.emplace_back("Location", "/v1/nodes/" + enrolled.node.name);
  return response;
}

Result<Response> list_nodes(Api& api, const Call& call) {
  ASSAY_ASSIGN(const std::size_t limit, limit_parameter(call));
  ASSAY_ASSIGN(const std::string after, filter(call, "after", Form::kNode));
  const Timestamp now = api.services.clock.now();
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const auto nodes, snapshot->nodes(after, limit));
  Json items = Json::array();
  for (const storage::NodeRow& node : nodes) {
    ASSAY_ASSIGN(Json view, node_view(*snapshot, node, now));
    add_instances(api.services.heartbeats, node, now, view);
    items.push_back(std::move(view));
  }
  std::optional<std::string> next;
  if (nodes.size() == limit) {
    next = nodes.back().name;
  }
  return keyed_list_response(*snapshot, call, std::move(items), limit, next);
}

Result<Response> get_node(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::NodeRow node, snapshot->node(call.capture("node")));
  const Timestamp now = api.services.clock.now();
  ASSAY_ASSIGN(Json view, node_view(*snapshot, node, now));
  add_instances(api.services.heartbeats, node, now, view);
  return with_etag(call, json_response(200, view), kRevalidate);
}

Result<Response> post_heartbeat(Api& api, const Call& call) {
  ASSAY_ASSIGN(const HeartbeatAnswer answer, take_heartbeat(api.services, call.capture("node"),
                                                            call.request.body, call.principal));
  return json_response(200, to_json(answer));
}

}  // namespace assay::server
