// SPDX-License-Identifier: Apache-2.0
// A decision is a row at its log index with its subjects and reasons beside it.
#include "storage/sqlite/decision_tables.h"

#include <sqlite3.h>

#include "storage/sqlite/documents.h"
#include "storage/sqlite/seals.h"
#include "storage/sqlite/uuid.h"

namespace assay::storage::sqlite {
namespace {

Result<std::vector<std::string>> load_texts(Connection& connection, Sql sql, LeafIndex index) {
  std::vector<std::string> texts;
  Query query = connection.query(sql);
  query.bind(index);
  while (true) {
    ASSAY_ASSIGN(const bool row, query.next());
    if (!row) {
      return texts;
    }
    texts.push_back(query.text(0));
  }
}

Status insert_texts(Connection& connection, Sql sql, LeafIndex index,
                    const std::vector<std::string>& texts) {
  std::size_t ordinal = 0;
  for (const std::string& text : texts) {
    ASSAY_TRY(connection.query(Sql::kTextPut).bind(text).run());
    ASSAY_TRY(connection.query(sql).bind(index).bind(ordinal++).bind(text).run());
  }
  return {};
}

// A UUID is kept as its bytes, in less than half of the room.
Query& bind_id(Query& query, const std::string& id) {
  const auto bytes = uuid_bytes(id);
  return bytes ? query.bind(ByteView(*bytes)) : query.bind(std::string_view(id));
}

// What bind_id() wrote.
std::string id_in(const Query& query, int column) {
  const ByteView view = query.view(column);
  const bool is_uuid = query.type(column) == SQLITE_BLOB && view.size() == kUuidBytes;
  return is_uuid ? uuid_text(view) : query.text(column);
}

Result<std::optional<LeafIndex>> find_index(Connection& connection, const std::string& id) {
  Query query = connection.query(Sql::kDecisionFind);
  ASSAY_ASSIGN(const bool found, bind_id(query, id).next());
  return found ? std::optional(query.count(0)) : std::nullopt;
}

// Checks what put_decision promises.
Status check_new(Connection& connection, const DecisionRow& row, TreeSize size) {
  if (row.log_index >= size) {
    return fail(ErrorCode::kInvalidParameter, "the log has no record with this index");
  }
  ASSAY_ASSIGN(const auto known, find_index(connection, row.id));
  if (known) {
    return fail(ErrorCode::kConflict, "the decision is stored already", row.id);
  }
  ASSAY_TRY(require_documents(connection, {row.envelope}));
  Query last = connection.query(Sql::kDecisionLast);
  ASSAY_ASSIGN(const bool any, last.next());
  if (any && last.count(0) >= row.log_index) {
    return fail(ErrorCode::kConflict, "decisions are stored in the order of the log");
  }
  return {};
}

Seal seal_of_row(const Connection& connection, const DecisionRow& row) {
  Bytes message = to_bytes("decision\n");
  const auto add = [&message](std::string_view text) {
    const std::string size = std::to_string(text.size()) + ":";
    message.insert(message.end(), size.begin(), size.end());
    message.insert(message.end(), text.begin(), text.end());
  };
  add(std::to_string(row.log_index));
  add(row.id);
  add(row.envelope.text());
  add(row.allowed ? "allow" : "deny");
  add(row.point);
  add(row.name_space);
  add(std::to_string(row.evaluated_at.time_since_epoch().count()));
  for (const std::vector<std::string>* list : {&row.subjects, &row.reasons}) {
    add(std::to_string(list->size()));
    std::ranges::for_each(*list, add);
  }
  return seal_of(connection, message);
}

}  // namespace

Result<DecisionRow> load_decision_at(Connection& connection, LeafIndex index) {
  Query query = connection.query(Sql::kDecisionGet);
  ASSAY_ASSIGN(const bool found, query.bind(index).next());
  if (!found) {
    return fail(ErrorCode::kDataLoss, "an index names a decision that is missing");
  }
  ASSAY_ASSIGN(Digest envelope, query.digest(1));
  ASSAY_ASSIGN(auto subjects, load_texts(connection, Sql::kDecisionSubjects, index));
  ASSAY_ASSIGN(auto reasons, load_texts(connection, Sql::kDecisionReasons, index));
  DecisionRow row{.id = id_in(query, 0),
                  .envelope = DocumentId(std::move(envelope)),
                  .allowed = query.integer(2) != 0,
                  .point = query.text(3),
                  .subjects = std::move(subjects),
                  .name_space = query.text(4),
                  .reasons = std::move(reasons),
                  .evaluated_at = query.time(5),
                  .log_index = index};
  const bool fits = std::ranges::equal(query.view(6), seal_of_row(connection, row));
  return fits ? Result<DecisionRow>(std::move(row))
              : fail(ErrorCode::kDataLoss,
                     "a stored decision was changed by something else than this service; see "
                     "docs/recovery.md",
                     "decision " + std::to_string(index));
}

Result<DecisionRow> load_decision(Connection& connection, const std::string& id) {
  ASSAY_ASSIGN(const auto index, find_index(connection, id));
  if (!index) {
    return fail(ErrorCode::kNotFound, "there is no decision with this id", id);
  }
  ASSAY_ASSIGN(DecisionRow row, load_decision_at(connection, *index));
  if (row.id != id) {
    return fail(ErrorCode::kDataLoss, "an index names another decision than it should", id);
  }
  return row;
}

Result<Found> find_decisions(Connection& connection, const DecisionQuery& query, TreeSize size) {
  Search wanted{.list = query.newest_first ? kDecisionsNewestFirst : kDecisions,
                .filters = {},
                .since = query.since,
                .until = query.until,
                .bounds = query.bounds,
                .with_total = query.with_total};
  const auto add = [&](Sql up, Sql down, std::variant<std::int64_t, std::string, Bytes> value) {
    wanted.filters.push_back({Term{query.newest_first ? down : up, std::move(value)}});
  };
  if (!query.subject.empty()) {
    add(Sql::kDecisionBySubject, Sql::kDecisionBySubjectDown, query.subject);
  }
  if (!query.reason.empty()) {
    add(Sql::kDecisionByReason, Sql::kDecisionByReasonDown, query.reason);
  }
  if (!query.name_space.empty()) {
    add(Sql::kDecisionByNameSpace, Sql::kDecisionByNameSpaceDown, query.name_space);
  }
  if (query.allowed) {
    add(Sql::kDecisionByAllowed, Sql::kDecisionByAllowedDown, std::int64_t{*query.allowed ? 1 : 0});
  }
  return search(connection, wanted, size);
}

namespace {

Status write_decision(Connection& connection, const DecisionRow& row) {
  ASSAY_TRY(connection.query(Sql::kTextPut).bind(row.name_space).run());
  Query insert = connection.query(Sql::kDecisionInsert);
  ASSAY_TRY(bind_id(insert.bind(row.log_index), row.id)
                .bind(row.envelope)
                .bind(row.allowed ? 1 : 0)
                .bind(row.point)
                .bind(row.name_space)
                .bind(row.evaluated_at)
                .bind(seal_of_row(connection, row))
                .run());
  ASSAY_TRY(insert_texts(connection, Sql::kDecisionSubjectInsert, row.log_index, row.subjects));
  ASSAY_TRY(insert_texts(connection, Sql::kDecisionReasonInsert, row.log_index, row.reasons));
  // It must read back as it was to be written: numbers stand for its texts.
  const auto written = load_decision_at(connection, row.log_index);
  return written ? Status() : std::unexpected(written.error());
}

}  // namespace

Status put_decision(Connection& connection, const DecisionRow& row, TreeSize size) {
  ASSAY_TRY(check_new(connection, row, size));
  return write_decision(connection, row);
}

Status replace_decision(Connection& connection, const DecisionRow& row) {
  for (const Sql sql :
       {Sql::kDecisionSubjectsDelete, Sql::kDecisionReasonsDelete, Sql::kDecisionDelete}) {
    ASSAY_TRY(connection.query(sql).bind(row.log_index).run());
  }
  return write_decision(connection, row);
}

}  // namespace assay::storage::sqlite
