// SPDX-License-Identifier: Apache-2.0
// The audit trail: events of the log, and the documents that they cite.

#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/view.h"

namespace assay::server {

Result<Response> list_events(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ListRequest request, list_request(api, call));
  storage::EventQuery query;
  ASSAY_ASSIGN(query.type, filter(call, "type", Form::kEventType));
  ASSAY_ASSIGN(query.actor, filter(call, "actor", Form::kPrincipal));
  ASSAY_ASSIGN(query.subject, filter(call, "subject", Form::kSubject));
  query.bounds = request.bounds;
  ASSAY_ASSIGN(query.since, time_parameter(call, "since"));
  ASSAY_ASSIGN(query.until, time_parameter(call, "until"));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const auto page, snapshot->events(query));
  Json items = Json::array();
  for (const storage::EventRow& row : page.items) {
    items.push_back(event_view(row));
  }
  return list_response(api, call, request,
                       {std::move(items), page.next, page.tree_size, page.root});
}

Result<Response> get_document(Api& api, const Call& call) {
  ASSAY_ASSIGN(const DocumentId id, DocumentId::parse(call.capture("id")));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const storage::Document document, snapshot->document(id));
  Response response;
  response.content_type = document.media_type;
  response.body = std::string(as_text(document.bytes));
  return with_etag(call, std::move(response), kImmutable);
}

}  // namespace assay::server
