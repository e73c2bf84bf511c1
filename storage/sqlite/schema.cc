// SPDX-License-Identifier: Apache-2.0
#include "storage/sqlite/schema.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include "embedded/migrations.h"
#include "storage/sqlite/database_file.h"

namespace assay::storage::sqlite {
namespace {

struct Object {
  std::string type;
  std::string name;
  std::string table;
  std::string sql;  // empty where SQLite makes an index by itself
  auto operator<=>(const Object&) const = default;
};
using Objects = std::vector<Object>;  // in order

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
  return bytes == nullptr ? std::string() : std::string(bytes, size);
}

Result<Objects> objects_of(sqlite3* database) {
  sqlite3_stmt* raw = nullptr;
  if (const int code = sqlite3_prepare_v2(
          database, "SELECT type, name, tbl_name, sql FROM main.sqlite_schema", -1, &raw, nullptr);
      code != SQLITE_OK) {
    return std::unexpected(sqlite_error(code));
  }
  const StatementHandle statement(raw);
  Objects objects;
  for (;;) {
    const int code = sqlite3_step(raw);
    if (code == SQLITE_DONE) {
      std::ranges::sort(objects);
      return objects;
    }
    if (code != SQLITE_ROW) {
      return std::unexpected(sqlite_error(code));
    }
    objects.push_back({text_of(raw, 0), text_of(raw, 1), text_of(raw, 2), text_of(raw, 3)});
  }
}

Result<Objects> made_by_migrations() {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(
      ":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  const DatabaseHandle database(raw);
  if (opened != SQLITE_OK) {
    return std::unexpected(sqlite_error(opened));
  }
  for (const auto& [name, text] : embedded::kMigrationsFiles) {
    const int code = sqlite3_exec(raw, std::string(text).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) {
      return std::unexpected(sqlite_error(code));
    }
  }
  return objects_of(raw);
}

const Result<Objects>& expected() {
  static const Result<Objects> objects = made_by_migrations();
  return objects;
}

// As SQLite makes it. Another table under such a name is a foreign one.
bool is_statistics(const Object& object) {
  static constexpr std::array<std::string_view, 4> kTables = {
      "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
      "CREATE TABLE sqlite_stat2(tbl,idx,sampleno,sample)",
      "CREATE TABLE sqlite_stat3(tbl,idx,neq,nlt,ndlt,sample)",
      "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"};
  return object.type == "table" && std::ranges::find(kTables, object.sql) != kTables.end();
}

bool can_be_made_again(const Object& object) {
  return object.type == "trigger" || (object.type == "index" && !object.sql.empty());
}

std::unexpected<Error> differs(const Object& object) {
  return fail(ErrorCode::kDataLoss,
              std::string("a table, index or trigger of the database is not the one of this "
                          "service: stop the service, and ") +
                  (can_be_made_again(object) ? "run assayd repair" : "restore a backup") +
                  "; see docs/recovery.md",
              object.type + " " + object.name);
}

// What is in one of them alone: foreign objects, and missing ones.
struct Difference {
  Objects foreign;
  Objects missing;
};

Result<Difference> difference_of(Connection& connection) {
  const Result<Objects>& wanted = expected();
  if (!wanted) {
    return std::unexpected(wanted.error());
  }
  ASSAY_ASSIGN(Objects found, objects_of(connection.handle()));
  std::erase_if(found, is_statistics);
  Difference difference;
  std::ranges::set_difference(found, *wanted, std::back_inserter(difference.foreign));
  std::ranges::set_difference(*wanted, found, std::back_inserter(difference.missing));
  return difference;
}

// Keeps a table as it is written. The triggers of the log and its documents stay during a repair,
// but for the columns that only repeat a record.
bool is_keeper(const Object& object) {
  const bool stays = object.table == "documents" || object.table == "log_records" ||
                     object.table == "log_nodes" || object.name.ends_with("_unseal");
  return object.type == "trigger" && (!stays || object.name == "log_records_keep_columns");
}

Status drop(Connection& connection, const Object& object) {
  std::string quoted;
  for (const char letter : object.name) {
    quoted.append(letter == '"' ? 2 : 1, letter);
  }
  const std::string sql =
      (object.type == "trigger" ? "DROP TRIGGER \"" : "DROP INDEX \"") + quoted + "\"";
  return connection.execute(sql.c_str());
}

// After damage, two rows of `texts` may have the same text. Then the unique index over them cannot
// be made. The later row gets a text that no other row has: rows that name it no longer fit their
// seals, and repair makes them again.
Status make_texts_distinct(Connection& connection) {
  ASSAY_ASSIGN(const std::int64_t doubled,
               connection.integer("SELECT EXISTS (SELECT 1 FROM texts NOT INDEXED "
                                  "GROUP BY text HAVING count(*) > 1)"));
  return doubled == 0 ? Status()
                      : connection.execute(
                            "DROP INDEX IF EXISTS texts_by_text;"
                            "UPDATE texts SET text = hex(randomblob(16)) WHERE number NOT IN "
                            "(SELECT min(number) FROM texts GROUP BY text)");
}

}  // namespace

Status check_schema(Connection& connection) {
  ASSAY_ASSIGN(const Difference difference, difference_of(connection));
  if (!difference.foreign.empty()) {
    return differs(difference.foreign.front());
  }
  return difference.missing.empty() ? Status() : differs(difference.missing.front());
}

Result<std::int64_t> checked_schema(Connection& connection) {
  ASSAY_TRY(connection.execute("BEGIN"));
  const Status checked = check_schema(connection);
  auto version = connection.integer("PRAGMA schema_version");
  ASSAY_TRY(connection.execute("ROLLBACK"));
  ASSAY_TRY(checked);
  return version;
}

Status drop_statistics(Connection& connection) {
  ASSAY_ASSIGN(const Objects found, objects_of(connection.handle()));
  for (const Object& object : found) {
    if (is_statistics(object)) {
      ASSAY_TRY(connection.execute(("DROP TABLE " + object.name).c_str()));
    }
  }
  return {};
}

Result<bool> SchemaInUse::check(Connection& connection, bool again) {
  if (foreign_) {
    ASSAY_TRY(check_schema(connection));  // names what is foreign
    return fail(ErrorCode::kDataLoss,
                "the schema of the database was changed and changed back while it is in use: stop "
                "the service, and start it again; see docs/recovery.md");
  }
  std::int64_t version = 0;
  {
    Query query = connection.query(Sql::kSchemaVersion);
    ASSAY_ASSIGN(const bool found, query.next());
    version = found ? query.integer(0) : 0;
  }
  if (version == version_ && !again) {
    return false;
  }
  const Status checked = check_schema(connection);
  if (checked) {
    version_ = version;
    return true;
  }
  if (checked.error().code == ErrorCode::kDataLoss) {
    foreign_ = true;
  }
  return std::unexpected(checked.error());
}

Result<std::uint64_t> remake_schema(Connection& connection) {
  ASSAY_ASSIGN(const Difference difference, difference_of(connection));
  for (const Objects* objects : {&difference.foreign, &difference.missing}) {
    const auto stays = std::ranges::find_if_not(*objects, can_be_made_again);
    if (stays != objects->end()) {
      return differs(*stays);
    }
  }
  ASSAY_TRY(drop_statistics(connection));
  for (const Object& object : difference.foreign) {
    ASSAY_TRY(drop(connection, object));
  }
  ASSAY_TRY(make_texts_distinct(connection));
  ASSAY_ASSIGN(const Difference left, difference_of(connection));
  for (const Object& object : left.missing) {
    if (!is_keeper(object)) {
      ASSAY_TRY(connection.execute(object.sql.c_str()));
    }
  }
  ASSAY_ASSIGN(const Objects found, objects_of(connection.handle()));
  for (const Object& object : found) {
    if (is_keeper(object)) {
      ASSAY_TRY(drop(connection, object));
    }
  }
  const bool marked = check_file_marks(connection).has_value();
  ASSAY_TRY(put_file_marks(connection));
  return std::max(difference.foreign.size(), left.missing.size()) + (marked ? 0U : 1U);
}

Status make_keepers(Connection& connection) {
  const Result<Objects>& wanted = expected();
  if (!wanted) {
    return std::unexpected(wanted.error());
  }
  for (const Object& object : *wanted) {
    if (is_keeper(object)) {
      ASSAY_TRY(connection.execute(object.sql.c_str()));
    }
  }
  return check_schema(connection);
}

}  // namespace assay::storage::sqlite
