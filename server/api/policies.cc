// SPDX-License-Identifier: Apache-2.0
// Policies: store, show, lint, put in force and take out of force.

#include "server/service/governance/policies.h"

#include <algorithm>

#include "policy/lint.h"
#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/statement_routes.h"
#include "server/api/view.h"
#include "server/service/documents/accept.h"
#include "server/service/reference_sets.h"

namespace assay::server {
namespace {

constexpr storage::StatementKind kPolicy = storage::StatementKind::kPolicy;

// Those in force, in the order of the log: few, so a page is cut out of all of them.
Result<storage::Page<storage::StatementRow>> active_page(storage::Snapshot& snapshot,
                                                         const std::string& policy_name,
                                                         const storage::ListBounds& bounds) {
  ASSAY_ASSIGN(const storage::LogState state, snapshot.log_state());
  ASSAY_ASSIGN(const auto active, snapshot.active_policies());
  storage::Page<storage::StatementRow> page{{}, {}, state.size, state.root};
  for (const storage::ActivePolicyRow& policy : active) {
    if (!policy_name.empty() && policy.name != policy_name) {
      continue;
    }
    ASSAY_ASSIGN(storage::StatementRow row, snapshot.statement(policy.id));
    if ((!bounds.after || row.log_index > *bounds.after) &&
        (!bounds.below || row.log_index < *bounds.below)) {
      page.items.push_back(std::move(row));
    }
  }
  std::ranges::sort(page.items, {}, &storage::StatementRow::log_index);
  if (page.items.size() > bounds.limit) {
    page.items.erase(page.items.begin() + static_cast<std::ptrdiff_t>(bounds.limit),
                     page.items.end());
    page.next = page.items.back().log_index;
  }
  return page;
}

Result<Response> change(Api& api, const Call& call, PolicyApproval::Action action) {
  ASSAY_ASSIGN(const StatementId id, StatementId::parse(call.capture("id")));
  ASSAY_ASSIGN(const PolicyInForce result,
               apply_policy_approval(api.services, action, id, call.request.body, call.principal));
  return json_response(200, Json{{"name", result.name},
                                 {"version", result.version},
                                 {"id", result.id.text()},
                                 {"policy_epoch", result.policy_epoch},
                                 {"log", result.receipt}});
}

}  // namespace

Result<Response> post_policy(Api& api, const Call& call) {
  ASSAY_ASSIGN(const Accepted accepted,
               accept_policy(api.services, call.request.body, call.principal));
  return accepted_response(api, accepted, "/v1/policies");
}

Result<Response> list_policies(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ListRequest request, list_request(api, call));
  ASSAY_ASSIGN(const bool active, switch_parameter(call, "active"));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  storage::StatementQuery query;
  query.kind = kPolicy;
  ASSAY_ASSIGN(query.name, filter(call, "name", Form::kPolicy));
  query.bounds = request.bounds;
  ASSAY_ASSIGN(const auto page, active ? active_page(*snapshot, query.name, query.bounds)
                                       : snapshot->statements(query));
  ASSAY_ASSIGN(Json items, statement_views(*snapshot, page.items));
  return list_response(api, call, request,
                       {std::move(items), page.next, page.tree_size, page.root});
}

Result<Response> get_policy(Api& api, const Call& call) {
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::StatementRow row, find_statement(*snapshot, call, kPolicy));
  if (call.media_type == kDsse) {
    return envelope_response(*snapshot, call, row.envelopes.back());
  }
  ASSAY_ASSIGN(const auto active, snapshot->active_policies());
  ASSAY_ASSIGN(Json view, statement_view(*snapshot, row));
  const char* member = named_set(row.name) ? "reference_set" : "policy";
  ASSAY_ASSIGN(view[member], signed_payload(*snapshot, row.envelopes.back()));
  view["active"] = std::ranges::find(active, row.id, &storage::ActivePolicyRow::id) != active.end();
  return with_etag(call, json_response(200, view), kRevalidate);
}

Result<Response> activate_policy(Api& api, const Call& call) {
  return change(api, call, PolicyApproval::Action::kActivate);
}

Result<Response> deactivate_policy(Api& api, const Call& call) {
  return change(api, call, PolicyApproval::Action::kDeactivate);
}

Result<Response> validate_policy(Api& api, const Call& call) {
  const auto turn = api.services.validations.try_take(call.principal.name);
  if (turn == nullptr) {
    return fail(ErrorCode::kBusy, "another policy of this principal is being validated");
  }
  ASSAY_ASSIGN(const PolicyDocument policy, parse_policy(call.request.body));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const auto rows, snapshot->active_policies());
  ASSAY_ASSIGN(const policy::ReferenceSets sets, sets_among(rows));
  Json findings = Json::array();
  for (const policy::Finding& finding : policy::lint(policy, sets)) {
    findings.push_back(Json{{"level", name(finding.level)},
                            {"condition", finding.condition},
                            {"text", finding.text},
                            {"code", finding.code},
                            {"where", finding.where}});
  }
  return json_response(200, Json{{"valid", true}, {"findings", std::move(findings)}});
}

}  // namespace assay::server
