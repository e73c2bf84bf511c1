// SPDX-License-Identifier: Apache-2.0
// Documents are hashed on the way in and again on the way out.
#include "storage/sqlite/documents.h"

#include "schemas/core/sha.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

// The bytes have their digest; the media type has this.
Digest media_type_seal(const Connection& connection, const DocumentId& id,
                       std::string_view media_type) {
  return seal_of(connection, as_bytes("document\n" + id.text() + "\n" + std::string(media_type)));
}

}  // namespace

Result<bool> has_document(Connection& connection, const DocumentId& id) {
  Query query = connection.query(Sql::kDocumentExists);
  return query.bind(id).next();
}

Status require_documents(Connection& connection, const std::vector<DocumentId>& ids) {
  for (const DocumentId& id : ids) {
    ASSAY_ASSIGN(const bool known, has_document(connection, id));
    if (!known) {
      return fail(ErrorCode::kNotFound, "the envelope is not stored", id.text());
    }
  }
  return {};
}

Result<Document> load_document(Connection& connection, const DocumentId& id) {
  Query query = connection.query(Sql::kDocumentGet);
  ASSAY_ASSIGN(const bool found, query.bind(id).next());
  if (!found) {
    return fail(ErrorCode::kNotFound, "there is no document with this digest", id.text());
  }
  Document document{id, query.text(0), query.bytes(1)};
  if (sha(id.digest().algorithm(), document.bytes) != id.digest()) {
    return fail(ErrorCode::kDataLoss, "a stored document differs from its digest", id.text());
  }
  ASSAY_ASSIGN(const Digest seal, query.digest(2));
  if (seal != media_type_seal(connection, id, document.media_type)) {
    return fail(ErrorCode::kDataLoss, "the media type of a stored document was changed", id.text());
  }
  return document;
}

Result<DocumentId> put_document(Connection& connection, std::string_view media_type,
                                ByteView bytes) {
  DocumentId id(sha256(bytes));
  ASSAY_ASSIGN(const bool known, has_document(connection, id));
  if (!known) {
    ASSAY_TRY(connection.query(Sql::kDocumentInsert)
                  .bind(id)
                  .bind(media_type)
                  .bind_borrowed(bytes)
                  .bind(media_type_seal(connection, id, media_type))
                  .run());
  }
  return id;
}

}  // namespace assay::storage::sqlite
