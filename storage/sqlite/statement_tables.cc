// SPDX-License-Identifier: Apache-2.0
// A statement is a row at its log index with five lists beside it.
#include "storage/sqlite/statement_tables.h"

#include <algorithm>
#include <set>

#include "schemas/core/json_values.h"
#include "storage/sqlite/columns.h"
#include "storage/sqlite/documents.h"
#include "storage/sqlite/sealed_lists.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/usage_tables.h"
#include "storage/sqlite/versions.h"

namespace assay::storage::sqlite {
namespace {

// An index only says where to look: the row itself must fit what was asked for.
std::unexpected<Error> misplaced(const std::string& what) {
  return fail(ErrorCode::kDataLoss, "an index names another statement than it should", what);
}

Result<std::optional<LeafIndex>> find_index(Connection& connection, const StatementId& id) {
  Query query = connection.query(Sql::kStatementFind);
  ASSAY_ASSIGN(const bool found, query.bind(id).next());
  return found ? std::optional(query.count(0)) : std::nullopt;
}

Result<std::vector<std::string>> load_texts(Connection& connection, Sql sql, LeafIndex index,
                                            SealedRow& sealed) {
  std::vector<std::string> texts;
  Query query = connection.query(sql);
  query.bind(index);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return texts;
    }
    sealed.add(query);
    texts.push_back(query.text(0));
  }
}

Result<std::vector<DocumentId>> load_envelopes(Connection& connection, LeafIndex index,
                                               SealedRow& sealed) {
  std::vector<DocumentId> ids;
  Query query = connection.query(Sql::kStatementEnvelopes);
  query.bind(index);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return ids;
    }
    sealed.add(query);
    ASSAY_ASSIGN(Digest digest, query.digest(0));
    ids.emplace_back(std::move(digest));
  }
}

Result<std::optional<CertificateUse>> certificate_from(const Query& query, int column) {
  if (query.text(column).empty()) {
    return std::nullopt;
  }
  ASSAY_ASSIGN(const Json json, json_column(query, column));
  ASSAY_ASSIGN(CertificateUse use, json::get<CertificateUse>(json));
  return std::optional(std::move(use));
}

Result<std::string> certificate_text(const std::optional<CertificateUse>& use) {
  return use ? canonical_json(to_json(*use)) : Result<std::string>(std::string());
}

Result<std::vector<SignerRow>> load_signers(Connection& connection, LeafIndex index,
                                            SealedRow& sealed) {
  std::vector<SignerRow> signers;
  Query query = connection.query(Sql::kStatementSigners);
  query.bind(index);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return signers;
    }
    sealed.add(query);
    ASSAY_ASSIGN(Digest key, query.digest(0));
    ASSAY_ASSIGN(auto certificate, certificate_from(query, 3));
    signers.push_back(
        {KeyId(std::move(key)), query.time(1), query.count(2), std::move(certificate)});
  }
}

Status insert_texts(Connection& connection, Sql sql, LeafIndex index,
                    const std::vector<std::string>& texts) {
  std::size_t ordinal = 0;
  for (const std::string& text : texts) {
    ASSAY_TRY(connection.query(sql).bind(index).bind(ordinal++).bind(text).run());
  }
  return {};
}

Status raise_versions(Connection& connection, const std::vector<std::string>& subjects) {
  for (const std::string& subject : subjects) {
    ASSAY_TRY(raise_version(connection, Versioned::kSubject, subject));
  }
  return raise_version(connection, Versioned::kAllStatements, {});
}

// Inserts those of `signers` whose keys are not among `known`, behind them.
Status insert_signers(Connection& connection, LeafIndex index,
                      const std::vector<SignerRow>& signers, const std::vector<SignerRow>& known) {
  std::set<KeyId> seen;
  for (const SignerRow& signer : known) {
    seen.insert(signer.key);
  }
  for (const SignerRow& signer : signers) {
    const std::size_t ordinal = seen.size();
    if (seen.insert(signer.key).second) {
      ASSAY_ASSIGN(const std::string certificate, certificate_text(signer.certificate));
      ASSAY_TRY(connection.query(Sql::kStatementSignerInsert)
                    .bind(index)
                    .bind(ordinal)
                    .bind(signer.key)
                    .bind(signer.signed_at)
                    .bind(signer.log_index)
                    .bind(certificate)
                    .run());
    }
  }
  return {};
}

// The same for envelopes.
Status insert_envelopes(Connection& connection, LeafIndex index,
                        const std::vector<DocumentId>& envelopes,
                        const std::vector<DocumentId>& known) {
  std::set<DocumentId> seen(known.begin(), known.end());
  for (const DocumentId& envelope : envelopes) {
    const std::size_t ordinal = seen.size();
    if (seen.insert(envelope).second) {
      ASSAY_TRY(connection.query(Sql::kStatementEnvelopeInsert)
                    .bind(index)
                    .bind(ordinal)
                    .bind(envelope)
                    .run());
    }
  }
  return {};
}

Result<StatementKind> kind_from(std::int64_t value) {
  if (value < 1 || value > 3) {
    return fail(ErrorCode::kDataLoss, "a stored statement is of an unknown kind");
  }
  return static_cast<StatementKind>(value);
}

// Checks what put_statement promises.
Status check_new(Connection& connection, const StatementRow& row, TreeSize size) {
  if (row.log_index >= size) {
    return fail(ErrorCode::kInvalidParameter, "the log has no record with this index");
  }
  ASSAY_ASSIGN(const auto known, find_index(connection, row.id));
  if (known) {
    return fail(ErrorCode::kConflict, "the statement is stored already", row.id.text());
  }
  ASSAY_TRY(require_documents(connection, row.envelopes));
  Query last = connection.query(Sql::kStatementLast);
  ASSAY_ASSIGN(const bool any, last.next());
  if (any && last.count(0) >= row.log_index) {
    return fail(ErrorCode::kConflict, "statements are stored in the order of the log");
  }
  return {};
}

Status insert_row(Connection& connection, const StatementRow& row) {
  return connection.query(Sql::kStatementInsert)
      .bind(row.log_index)
      .bind(row.id)
      .bind(std::to_underlying(row.kind))
      .bind(row.payload_type)
      .bind(row.predicate_type)
      .bind(row.stage)
      .bind(row.name)
      .bind(row.version)
      .bind(row.accepted_at)
      .bind(row.contents)
      .bind(row.bytes)
      .run();
}

// A row with its lists, and what is sealed of them.
struct Sealable {
  StatementRow row;
  SealedRow sealed;
};

Result<Sealable> read_row(Connection& connection, LeafIndex index) {
  Query query = connection.query(Sql::kStatementGet);
  ASSAY_ASSIGN(const bool found, query.bind(index).next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "an index names a statement that is missing");
  }
  ASSAY_ASSIGN(Digest digest, query.digest(0));
  StatementId id(std::move(digest));
  ASSAY_ASSIGN(const StatementKind kind, kind_from(query.integer(1)));
  SealedRow sealed(Sealed::kStatement, id.text());
  sealed.add(query);
  StatementRow row{.id = std::move(id),
                   .kind = kind,
                   .payload_type = query.text(2),
                   .predicate_type = query.text(3),
                   .stage = query.text(4),
                   .name = query.text(5),
                   .version = query.count(6),
                   .subjects = {},
                   .inputs = {},
                   .locations = {},
                   .signers = {},
                   .envelopes = {},
                   .log_index = index,
                   .accepted_at = query.time(7),
                   .contents = query.text(8),
                   .bytes = query.count(9)};
  ASSAY_ASSIGN(row.subjects, load_texts(connection, Sql::kStatementSubjects, index, sealed));
  ASSAY_ASSIGN(row.inputs, load_texts(connection, Sql::kStatementInputs, index, sealed));
  ASSAY_ASSIGN(row.locations, load_texts(connection, Sql::kStatementLocations, index, sealed));
  ASSAY_ASSIGN(row.signers, load_signers(connection, index, sealed));
  ASSAY_ASSIGN(row.envelopes, load_envelopes(connection, index, sealed));
  return Sealable{std::move(row), std::move(sealed)};
}

Status seal_row(Connection& connection, LeafIndex index) {
  ASSAY_ASSIGN(const Sealable read, read_row(connection, index));
  return read.sealed.keep(connection);
}

}  // namespace

Result<StatementRow> load_statement_at(Connection& connection, LeafIndex index) {
  ASSAY_ASSIGN(Sealable read, read_row(connection, index));
  ASSAY_TRY(read.sealed.check(connection));
  return std::move(read.row);
}

Result<StatementRow> load_statement(Connection& connection, const StatementId& id) {
  ASSAY_ASSIGN(const auto index, find_index(connection, id));
  if (!index) {
    ASSAY_TRY(check_absent(connection, Sealed::kStatement, id.text()));
    return fail(ErrorCode::kNotFound, "there is no statement with this id", id.text());
  }
  ASSAY_ASSIGN(StatementRow row, load_statement_at(connection, *index));
  return row.id == id ? Result<StatementRow>(std::move(row)) : misplaced(id.text());
}

Result<std::optional<LeafIndex>> load_newest_statement(Connection& connection) {
  Query last = connection.query(Sql::kStatementLast);
  ASSAY_ASSIGN(const bool any, last.next());
  return any ? std::optional(last.count(0)) : std::nullopt;
}

Result<std::uint64_t> load_subject_version(Connection& connection, const std::string& subject) {
  return load_version(connection, Versioned::kSubject, subject);
}

Result<std::uint64_t> load_statements_version(Connection& connection) {
  return load_version(connection, Versioned::kAllStatements, {});
}

Result<Found> find_statements(Connection& connection, const StatementQuery& query, TreeSize size) {
  Search wanted{kStatements, {}, query.since, query.until, query.bounds};
  const auto add_text = [&](Sql sql, const std::string& value) {
    if (!value.empty()) {
      wanted.filters.push_back({Term{sql, value}});
    }
  };
  add_text(Sql::kStatementBySubject, query.subject);
  add_text(Sql::kStatementByInput, query.input);
  if (query.signer) {
    const ByteView key = query.signer->digest().bytes();
    wanted.filters.push_back({Term{Sql::kStatementBySigner, Bytes(key.begin(), key.end())}});
  }
  add_text(Sql::kStatementByName, query.name);
  add_text(Sql::kStatementByStage, query.stage);
  add_text(Sql::kStatementByPredicateType, query.predicate_type);
  if (query.kind) {
    const auto kind = static_cast<std::int64_t>(*query.kind);
    wanted.filters.push_back({Term{Sql::kStatementByKind, kind}});
  }
  return search(connection, wanted, size);
}

namespace {

Status write_statement(Connection& connection, const StatementRow& row) {
  ASSAY_TRY(insert_row(connection, row));
  const LeafIndex index = row.log_index;
  ASSAY_TRY(insert_texts(connection, Sql::kStatementSubjectInsert, index, row.subjects));
  ASSAY_TRY(raise_versions(connection, row.subjects));
  ASSAY_TRY(insert_texts(connection, Sql::kStatementInputInsert, index, row.inputs));
  ASSAY_TRY(insert_texts(connection, Sql::kStatementLocationInsert, index, row.locations));
  ASSAY_TRY(insert_signers(connection, index, row.signers, {}));
  ASSAY_TRY(insert_envelopes(connection, index, row.envelopes, {}));
  ASSAY_TRY(extend_lists(connection, row, row.signers, Added::kStatement));
  return seal_row(connection, index);
}

}  // namespace

Status put_statement(Connection& connection, const Governance& governance, const StatementRow& row,
                     TreeSize size) {
  ASSAY_TRY(check_new(connection, row, size));
  ASSAY_TRY(add_usage(connection, governance, row, row.signers, {}));
  return write_statement(connection, row);
}

Status replace_statement(Connection& connection, const StatementRow& row) {
  for (const Sql sql :
       {Sql::kStatementSubjectsDelete, Sql::kStatementInputsDelete, Sql::kStatementLocationsDelete,
        Sql::kStatementSignersDelete, Sql::kStatementEnvelopesDelete, Sql::kStatementDelete}) {
    ASSAY_TRY(connection.query(sql).bind(row.log_index).run());
  }
  return write_statement(connection, row);
}

namespace {

// Those of `signers` whose keys are not among `known`, each key once.
std::vector<SignerRow> added_to(const std::vector<SignerRow>& known,
                                const std::vector<SignerRow>& signers) {
  std::set<KeyId> seen;
  for (const SignerRow& signer : known) {
    seen.insert(signer.key);
  }
  std::vector<SignerRow> added;
  std::ranges::copy_if(signers, std::back_inserter(added),
                       [&](const SignerRow& signer) { return seen.insert(signer.key).second; });
  return added;
}

}  // namespace

Status note_change(Connection& connection, const StatementRow& row) {
  ASSAY_TRY(raise_versions(connection, row.subjects));
  return put_change(connection, row.log_index);
}

Status add_envelope(Connection& connection, const Governance& governance, const StatementId& id,
                    const DocumentId& envelope, const std::vector<SignerRow>& signers) {
  ASSAY_ASSIGN(const StatementRow row, load_statement(connection, id));
  ASSAY_TRY(require_documents(connection, {envelope}));
  ASSAY_TRY(note_change(connection, row));
  ASSAY_TRY(insert_signers(connection, row.log_index, signers, row.signers));
  ASSAY_TRY(extend_lists(connection, row, added_to(row.signers, signers), Added::kSigners));
  ASSAY_TRY(add_usage(connection, governance, row, signers, row.signers));
  ASSAY_TRY(insert_envelopes(connection, row.log_index, {envelope}, row.envelopes));
  return seal_row(connection, row.log_index);
}

}  // namespace assay::storage::sqlite
