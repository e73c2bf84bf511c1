// SPDX-License-Identifier: Apache-2.0
// A connection to the database with its prepared statements. Only one thread at a time may use it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/error.h"
#include "storage/report_rules.h"
#include "storage/sqlite/handles.h"
#include "storage/sqlite/map_table.h"
#include "storage/sqlite/query.h"

namespace assay::storage::sqlite {

class Connection {
 public:
  enum class Mode : bool { kReadOnly, kReadWrite };

  // Where the index of the write-ahead log lies. kFile: in a file, so that other processes can read
  // the database at the same time. kMemory: in memory, for a disk that has no room for that file.
  enum class Index : bool { kFile, kMemory };

  // Opens an existing file with the common settings of all connections (WAL, synchronous=FULL,
  // foreign keys, defensive, and so on).
  [[nodiscard]] static Result<std::unique_ptr<Connection>> open(const std::string& path, Mode mode,
                                                                Index index = Index::kFile);

  // Sets the key with which the seals of rows are made and checked (seals.h).
  void set_seal_key(std::shared_ptr<const SecretBytes> key) { seal_key_ = std::move(key); }
  [[nodiscard]] ByteView seal_key() const { return seal_key_ ? seal_key_->view() : ByteView(); }

  // Returns what the transaction sees of the record map.
  [[nodiscard]] MapTable& map() { return map_; }

  // Sets the rules that choose which reports decisions use (storage/report_rules.h). The caller
  // must set them before jobs are written or reports are read.
  void set_rules(const ReportRules& rules) { rules_ = &rules; }
  [[nodiscard]] const ReportRules& rules() const { return *rules_; }

  // Returns a statement of sql.def, prepared on first use. The caller must first destroy any
  // earlier query of the same statement.
  [[nodiscard]] Query query(Sql sql);

  // Runs a statement without parameters that is not in sql.def (such as a pragma), and returns the
  // integer that it yields.
  [[nodiscard]] Result<std::int64_t> integer(const char* sql);
  // Runs a statement as integer() does, and returns the first column of all its rows as text.
  [[nodiscard]] Result<std::vector<std::string>> texts(const char* sql);
  // Runs statements without parameters (pragmas, migrations).
  [[nodiscard]] Status execute(const char* sql);

  // Returns false when the database has ended the transaction by itself after an error.
  [[nodiscard]] bool in_transaction() const;
  // Returns and clears the first database error since the last call of take_failure(); nullopt when
  // there was none.
  [[nodiscard]] std::optional<Error> take_failure() {
    return std::exchange(failure_, std::nullopt);
  }

  // Returns true when Index::kMemory can be used. Returns false when SQLite's own file system layer
  // was replaced (in tests), because the replacement cannot keep the index in memory.
  [[nodiscard]] static bool has_memory_index();

  // Copies the write-ahead log into the database file. Without `reset`, does not wait for readers.
  // With `reset`, waits a short time for readers, so that the next write can start at the beginning
  // of the log. The caller must not be in a transaction. Returns true when the whole log was
  // copied.
  [[nodiscard]] Result<bool> checkpoint(bool reset);
  // Reads a page from the database file, and ignores the write-ahead log. Empty when the file ends
  // before the end of the page. Uses SQLite's own descriptor, because closing any other descriptor
  // of the file would release the locks that this process has on the file.
  [[nodiscard]] Result<Bytes> page_of_file(std::int64_t number, int page_size);
  // Copies the database, as the transaction of this connection sees it, over the file at `path`.
  // The caller must have begun a transaction and read something. Calls `progress` with the pages
  // that were copied.
  [[nodiscard]] Status copy_to(
      const std::string& path,
      const std::function<void(std::string_view what, std::uint64_t done)>& progress);
  // Leaves the write-ahead log as it is when the connection closes.
  void keep_log_on_close();
  // Makes everything that can be read at this time durable, because the last writes of another
  // process may be only in memory. Errors: unavailable when another connection keeps an old state
  // of the database open.
  [[nodiscard]] Status make_durable();
  // Returns the number of pages in the write-ahead log after the last commit of this connection.
  [[nodiscard]] int wal_pages() const { return wal_pages_; }

  [[nodiscard]] sqlite3* handle() const { return database_.get(); }

 private:
  explicit Connection(DatabaseHandle database) : database_(std::move(database)) {}
  [[nodiscard]] Status configure(Mode mode);

  DatabaseHandle database_;
  std::array<StatementHandle, kSqlCount> statements_;  // after database_: finalized earlier
  std::optional<Error> failure_;
  std::shared_ptr<const SecretBytes> seal_key_;
  MapTable map_{*this};
  const ReportRules* rules_ = nullptr;
  int wal_pages_ = 0;
};

}  // namespace assay::storage::sqlite
