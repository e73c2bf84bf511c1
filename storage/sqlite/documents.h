// SPDX-License-Identifier: Apache-2.0
// Exact bytes by their digest. See Snapshot and Transaction for what the functions mean.
#pragma once

#include <string_view>

#include "storage/sqlite/connection.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

[[nodiscard]] Result<bool> has_document(Connection& connection, const DocumentId& id);
// not-found when one of them is not stored.
[[nodiscard]] Status require_documents(Connection& connection, const std::vector<DocumentId>& ids);
[[nodiscard]] Result<Document> load_document(Connection& connection, const DocumentId& id);
[[nodiscard]] Result<DocumentId> put_document(Connection& connection, std::string_view media_type,
                                              ByteView bytes);

}  // namespace assay::storage::sqlite
