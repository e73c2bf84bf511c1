// SPDX-License-Identifier: Apache-2.0
// The table of documents: exact bytes, found by their digest. Snapshot and Transaction
// (storage/store.h) describe the functions.
#pragma once

#include <string_view>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<bool> has_document(Connection& connection, const DocumentId& id);
// Errors: not-found when one of `ids` is not stored.
[[nodiscard]] Status require_documents(Connection& connection, const std::vector<DocumentId>& ids);
[[nodiscard]] Result<Document> load_document(Connection& connection, const DocumentId& id);
[[nodiscard]] Result<DocumentId> put_document(Connection& connection, std::string_view media_type,
                                              ByteView bytes);

}  // namespace assay::storage::sqlite
