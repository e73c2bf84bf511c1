// SPDX-License-Identifier: Apache-2.0
// What the handlers of manifests, attestations and policies share.
#pragma once

#include <string>

#include "server/api/page.h"
#include "server/api/route.h"
#include "server/service/documents/accept.h"

namespace assay::server {

// A page of what `query` finds, within its bounds.
[[nodiscard]] Result<ListPage> statement_page(storage::Snapshot& snapshot,
                                              storage::StatementQuery query, ShortPage on_short);
// The statement of this kind that the capture "id" names; not-found for one of another kind.
[[nodiscard]] Result<storage::StatementRow> find_statement(storage::Snapshot& snapshot,
                                                           const Call& call,
                                                           storage::StatementKind kind);
// A stored envelope, byte for byte.
[[nodiscard]] Result<Response> envelope_response(storage::Snapshot& snapshot, const Call& call,
                                                 const DocumentId& id);
// The JSON payload of a stored envelope.
[[nodiscard]] Result<Json> signed_payload(storage::Snapshot& snapshot, const DocumentId& envelope);
// 201 for what is new, 200 for what was there, with the view, Location, ETag and log receipt.
[[nodiscard]] Result<Response> accepted_response(Api& api, const Accepted& accepted,
                                                 const std::string& path);

}  // namespace assay::server
