// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the handlers of manifests, attestations and policies.
#pragma once

#include <string>

#include "server/api/page.h"
#include "server/api/route.h"
#include "server/service/documents/accept.h"

namespace assay::server {

// Returns a page of the statements that `query` finds within the bounds of `query`.
[[nodiscard]] Result<ListPage> statement_page(storage::Snapshot& snapshot,
                                              storage::StatementQuery query, ShortPage on_short);
// Returns the statement that the capture "id" names. Errors: not-found, also when the statement is
// not of the given `kind`.
[[nodiscard]] Result<storage::StatementRow> find_statement(storage::Snapshot& snapshot,
                                                           const Call& call,
                                                           storage::StatementKind kind);
// Returns a response with the stored envelope, byte for byte.
[[nodiscard]] Result<Response> envelope_response(storage::Snapshot& snapshot, const Call& call,
                                                 const DocumentId& id);
// Returns the JSON payload of a stored envelope.
[[nodiscard]] Result<Json> signed_payload(storage::Snapshot& snapshot, const DocumentId& envelope);
// Returns 201 for a new statement and 200 for one that was already stored. The response has the
// statement as statement_view() returns it (view.h), Location, ETag and log receipt.
[[nodiscard]] Result<Response> accepted_response(Api& api, const Accepted& accepted,
                                                 const std::string& path);

}  // namespace assay::server
