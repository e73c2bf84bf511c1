// SPDX-License-Identifier: Apache-2.0
// A connection to the database with its prepared statements. Used by one thread at a time.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/error.h"
#include "storage/report_rules.h"
#include "storage/sqlite/handles.h"
#include "storage/sqlite/query.h"

namespace assay::storage::sqlite {

class Connection {
 public:
  enum class Mode : bool { kReadOnly, kReadWrite };

  // Where the index of the write-ahead log lies: in a file, so that other processes may read beside
  // this one, or in memory, for a disk that has no room for it.
  enum class Index : bool { kFile, kMemory };

  // Opens an existing file with the settings of every connection (WAL, synchronous=FULL, foreign
  // keys, defensive, and so on).
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode,
                                                                Index index = Index::kFile);

  // The key of the seals (seals.h).
  void set_seal_key(std::shared_ptr<const SecretBytes> key) { seal_key_ = std::move(key); }
  [[nodiscard]] ByteView seal_key() const { return seal_key_ ? seal_key_->view() : ByteView(); }

  // Which reports count. Before any job is read or written.
  void set_rules(const ReportRules& rules) { rules_ = &rules; }
  [[nodiscard]] const ReportRules& rules() const { return *rules_; }

  // A statement of sql.def, prepared on first use. Not while an earlier query of the same statement
  // is alive.
  [[nodiscard]] Query query(Sql sql);

  // One integer from a statement without parameters that is not in sql.def (pragmas).
  [[nodiscard]] Result<std::int64_t> integer(const char* sql);
  // The first column of all rows, as text, likewise.
  [[nodiscard]] Result<std::vector<std::string>> texts(const char* sql);
  // Runs statements without parameters (pragmas, migrations).
  [[nodiscard]] Status execute(const char* sql);

  // False when the database has ended the transaction by itself after an error.
  [[nodiscard]] bool in_transaction() const;
  // The first error of the database since the last call.
  [[nodiscard]] std::optional<Error> take_failure() {
    return std::exchange(failure_, std::nullopt);
  }

  // False when another program's file system layer is in use (tests), which has no index in memory.
  [[nodiscard]] static bool has_memory_index();

  // Copies what the write-ahead log holds into the database file, without waiting for readers, or
  // (`reset`) waiting a moment for them so that the log can start over. Outside of transactions.
  [[nodiscard]] Status checkpoint(bool reset);
  // Makes sure that all that can be read now is on the disk: what another process wrote last may be
  // in memory only. unavailable when somebody else keeps an old state of the database open.
  [[nodiscard]] Status make_durable();
  // Pages in the write-ahead log after the last commit of this connection.
  [[nodiscard]] int wal_pages() const { return wal_pages_; }

  [[nodiscard]] sqlite3* handle() const { return database_.get(); }

 private:
  explicit Connection(DatabaseHandle database) : database_(std::move(database)) {}
  [[nodiscard]] Status configure(Mode mode);

  DatabaseHandle database_;
  std::array<StatementHandle, kSqlCount> statements_;  // after database_: finalized before
  std::optional<Error> failure_;
  std::shared_ptr<const SecretBytes> seal_key_;
  const ReportRules* rules_ = nullptr;
  int wal_pages_ = 0;
};

}  // namespace assay::storage::sqlite
