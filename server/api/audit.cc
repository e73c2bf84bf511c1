// SPDX-License-Identifier: Apache-2.0
// The audit trail: events of the log, and the documents that they cite.

#include "server/api/filters.h"
#include "server/api/handlers.h"
#include "server/api/page.h"
#include "server/api/view.h"

namespace assay::server {

Result<Response> list_events(Api& api, const Call& call) {
  ASSAY_ASSIGN(const ListRequest request, list_request(api, call));
  storage::EventQuery query;
  ASSAY_ASSIGN(query.type, filter(call, "type", Form::kEventType));
  ASSAY_ASSIGN(query.actor, filter(call, "actor", Form::kPrincipal));
  ASSAY_ASSIGN(query.subject, filter(call, "subject", Form::kSubject));
  ASSAY_ASSIGN(query.newest_first, newest_first(call, "oldest"));
  ASSAY_ASSIGN(query.since, time_parameter(call, "since"));
  ASSAY_ASSIGN(query.until, time_parameter(call, "until"));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(ListPage page,
               page_of(
                   request.bounds, ShortPage::kEnds,
                   [&](const storage::ListBounds& bounds) {
                     query.bounds = bounds;
                     return snapshot->events(query);
                   },
                   [](const storage::EventRow& row) -> Result<Json> { return event_view(row); },
                   [](const storage::EventRow& row) { return row.index; }));
  return list_response(api, call, request, std::move(page));
}

Result<Response> get_document(Api& api, const Call& call) {
  ASSAY_ASSIGN(const DocumentId id, DocumentId::parse(call.capture("id")));
  ASSAY_ASSIGN(const auto snapshot, api.services.store.snapshot());
  ASSAY_ASSIGN(const bool known, snapshot->has_document(id));
  if (!known) {
    return fail(ErrorCode::kNotFound, "there is no document with this digest");
  }
  ASSAY_ASSIGN(const storage::Document document, snapshot->document(id));
  Response response;
  response.content_type = document.media_type;
  response.body = std::string(as_text(document.bytes));
  return with_etag(call, std::move(response), kImmutable);
}

}  // namespace assay::server
