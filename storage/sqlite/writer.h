// SPDX-License-Identifier: Apache-2.0
// The one thread that writes the database: many writes in one commit. storage/README.md tells the
// life of a write.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "schemas/core/signer.h"
#include "storage/sqlite/acknowledger.h"
#include "storage/sqlite/connection.h"
#include "storage/sqlite/governance_tables.h"
#include "storage/sqlite/log_tables.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// What is durable: the newest checkpoint, the tree it covers, and what is trusted and in force.
struct Committed {
  LogState state;
  LogTail tail;
  std::shared_ptr<const Governance> governance;
};

// Reads it from the tables, all but `governance`. data-loss when there is no checkpoint,
// log-inconsistent when it does not fit the tree.
[[nodiscard]] Result<Committed> load_committed(Connection& connection);
// The least that time can be: that of the last write; where that is not known, or earlier, that of
// the newest record of the log, with no lead over the wall clock. The connection must have its seal
// key. data-loss when the record is not what the log says.
[[nodiscard]] Result<LastWrite> least_time(Connection& connection, const LogState& state);

// Threading: write() and healthy() from any thread; the rest runs on the writer's own.
class Writer {
 public:
  using Work = std::function<Status(Transaction&)>;
  struct Options {
    std::string origin;
    std::size_t max_group;
    std::chrono::milliseconds probe_interval;
    LastWrite least{};                // nothing is written with an earlier time
    std::function<Timestamp()> wall;  // as SqliteOptions has it
    bool disk_fails = false;          // it took no write when the store was opened
  };

  // `committed` is what the database and `anchor`, which may be null, hold. `signer` and `clock`
  // are borrowed.
  Writer(std::unique_ptr<Connection> connection, Committed committed,
         std::unique_ptr<Anchor> anchor, Options options, const Signer& signer, const Clock& clock);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] Result<LogState> write(const Work& work);
  [[nodiscard]] bool healthy() const;
  // See Acknowledger.
  [[nodiscard]] std::shared_ptr<const LogState> anchored() const { return back_.anchored(); }
  // What snapshots trust.
  [[nodiscard]] const GovernanceHistory& history() const { return history_; }
  // Finishes what is queued and refuses the rest.
  void stop();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  void run();
  WriteGroup next_group();
  void wait_for_work(std::unique_lock<std::mutex>& lock);

  void commit(const WriteGroup& group);
  Status process(const WriteGroup& group);
  Status resume();
  Status resume_governance(const Committed& found);
  Status run_work(WriteJob& job);
  Status undo_work(const LogTail& before);
  Status seal();
  void abandon();
  Timestamp now();
  LastWrite last_write();

  void probe();
  void checkpoint_if_due();

  const std::unique_ptr<Connection> connection_;
  const Options options_;
  const Signer& signer_;
  const Clock& clock_;

  // Writer's thread.
  Committed committed_;
  LogTail tail_;                                  // committed_.tail and what the group has appended
  std::shared_ptr<const Governance> governance_;  // committed_.governance with what the group did
  bool in_step_ = true;                           // committed_ is what the database holds
  Timestamp latest_;                              // no earlier time was ever written
  bool work_failed_ = false;  // the database failed inside the work of this group
  SteadyTime::duration commit_time_{};
  std::size_t last_group_ = 1;
  int checkpoint_pages_;

  GovernanceHistory history_;

  std::atomic<bool> writes_fail_ = false;
  std::atomic<bool> checkpoint_fails_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<WriteJob>> queue_;  // guarded by mutex_
  std::size_t wanted_ = 1;  // guarded by mutex_: length of queue_ worth waking for
  bool stopping_ = false;   // guarded by mutex_

  Acknowledger back_;
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace assay::storage::sqlite
