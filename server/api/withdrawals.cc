// SPDX-License-Identifier: Apache-2.0
// Withdrawals of statements: made and listed.
#include "server/service/governance/withdrawals.h"

#include <algorithm>

#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/view.h"

namespace assay::server {

Result<Response> post_withdrawal(Api& api, const Call& call) {
  ASSAY_ASSIGN(const WithdrawalAccepted accepted,
               accept_withdrawal(api.services, call.request.body, call.principal));
  api.trust_changed();  // pods may be denied now
  Json view = to_json(accepted.withdrawn);
  view["log"] = accepted.receipt;
  return json_response(accepted.created ? 201 : 200, view);
}

Result<Response> list_withdrawals(Api& api, const Call& call) {
  ASSAY_ASSIGN(const std::size_t limit, limit_parameter(call));
  std::optional<StatementId> after;
  if (const auto text = call.parameter("after")) {
    ASSAY_ASSIGN(after, StatementId::parse(*text));
  }
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const auto all, snapshot->withdrawals());
  Json items = Json::array();
  std::optional<std::string> next;
  for (const Withdrawn& withdrawn : all) {
    if (after && withdrawn.statement <= *after) {
      continue;
    }
    if (items.size() == limit) {
      next = items.back()["statement"].get<std::string>();
      break;
    }
    items.push_back(to_json(withdrawn));
  }
  return keyed_list_response(*snapshot, call, std::move(items), limit, next);
}

}  // namespace assay::server
