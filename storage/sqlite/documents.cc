// SPDX-License-Identifier: Apache-2.0
// Documents are hashed on the way in and again on the way out.
#include "storage/sqlite/documents.h"

#include <algorithm>
#include <utility>

#include "schemas/core/sha.h"
#include "storage/sqlite/packed.h"
#include "storage/sqlite/seals.h"

namespace assay::storage::sqlite {
namespace {

// The media type that most documents have, and that an empty column stands for.
constexpr std::string_view kEnvelopeMediaType = "application/vnd.dsse.envelope.v1+json";

// The bytes have their digest; the media type has this.
Seal media_type_seal(const Connection& connection, const DocumentId& id,
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
    return fail(ErrorCode::kDataLoss, "a document that something stored names is missing",
                id.text());
  }
  auto bytes = unpack(query.integer(3), query.view(1));
  if (!bytes || sha(id.digest().algorithm(), *bytes) != id.digest()) {
    return fail(ErrorCode::kDataLoss, "a stored document differs from its digest", id.text());
  }
  const std::string type = query.text(0);
  Document document{id, type.empty() ? std::string(kEnvelopeMediaType) : type, *std::move(bytes)};
  if (!std::ranges::equal(query.view(2), media_type_seal(connection, id, document.media_type))) {
    return fail(ErrorCode::kDataLoss, "the media type of a stored document was changed", id.text());
  }
  return document;
}

Result<DocumentId> put_document(Connection& connection, std::string_view media_type,
                                ByteView bytes) {
  DocumentId id(sha256(bytes));
  ASSAY_ASSIGN(const bool known, has_document(connection, id));
  if (!known) {
    const Packed packed = pack_document(bytes);
    ASSAY_TRY(connection.query(Sql::kDocumentInsert)
                  .bind(id)
                  .bind(media_type == kEnvelopeMediaType ? std::string_view() : media_type)
                  .bind(std::to_underlying(packed.form))
                  .bind_borrowed(packed.form == PackedForm::kPlain ? bytes : ByteView(packed.bytes))
                  .bind(media_type_seal(connection, id, media_type))
                  .run());
  }
  return id;
}

}  // namespace assay::storage::sqlite
