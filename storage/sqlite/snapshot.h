// SPDX-License-Identifier: Apache-2.0
// Snapshots, and the pool of read-only connections that they use.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "storage/sqlite/connection.h"
#include "storage/sqlite/history.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/view.h"

namespace assay::storage::sqlite {

// Threading: any thread.
class ReaderPool {
 public:
  [[nodiscard]] static Result<std::shared_ptr<ReaderPool>> open(
      const std::string& path, std::size_t readers, std::chrono::milliseconds wait,
      const std::shared_ptr<const SecretBytes>& seal_key, const ReportRules& rules,
      Connection::Index index = Connection::Index::kFile);

  // Makes every snapshot check the schema, which now has this version (schema.h). The caller must
  // do so before the first snapshot.
  void pin_schema(std::int64_t version) { schema_.emplace(version); }
  // Null when it is not to be checked.
  [[nodiscard]] SchemaInUse* schema() { return schema_ ? &*schema_ : nullptr; }

  // Takes a connection out of the pool; waits at most `wait` for one. Errors: unavailable when no
  // connection is given back in time.
  [[nodiscard]] Result<std::unique_ptr<Connection>> take();
  void give_back(std::unique_ptr<Connection> connection);

 private:
  explicit ReaderPool(std::chrono::milliseconds wait) : wait_(wait) {}

  const std::chrono::milliseconds wait_;
  std::optional<SchemaInUse> schema_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<Connection>> idle_;  // guarded by mutex_
};

// A read transaction. Destruction ends the transaction and returns the connection to the pool.
class SqliteSnapshot final : public Reading<Snapshot> {
 public:
  // Returns what is believed of the commit that the connection sees, and that left the log as
  // `held` says; nullopt when that is not known any more.
  using Believe =
      std::function<Result<std::optional<Believed>>(Connection& connection, const LogState& held)>;
  // `anchored` is the state of the log that the snapshot shows. The caller must pass a state that
  // the database has already reached.
  [[nodiscard]] static Result<std::unique_ptr<Snapshot>> open(std::shared_ptr<ReaderPool> pool,
                                                              const Believe& believe,
                                                              LogState anchored, Timestamp now);
  ~SqliteSnapshot() override;

  Result<LogState> log_state() override { return anchored_; }

 private:
  SqliteSnapshot(std::shared_ptr<ReaderPool> pool, std::unique_ptr<Connection> connection,
                 LogState anchored, LogState held, std::shared_ptr<const Governance> governance,
                 Timestamp now)
      : Reading(*connection, now),
        pool_(std::move(pool)),
        owned_(std::move(connection)),
        anchored_(std::move(anchored)),
        held_(std::move(held)),
        governance_(std::move(governance)) {}

  Result<LogState> held_state() override { return held_; }
  const Governance& governance() override { return *governance_; }

  std::shared_ptr<ReaderPool> pool_;
  std::unique_ptr<Connection> owned_;
  LogState anchored_;
  LogState held_;
  std::shared_ptr<const Governance> governance_;
};

}  // namespace assay::storage::sqlite
