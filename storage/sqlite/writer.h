// SPDX-License-Identifier: Apache-2.0
// The only thread that writes the database. It puts many writes (a group) into one commit.
// storage/README.md describes the life of a write.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
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
#include "storage/sqlite/history.h"
#include "storage/sqlite/log_tables.h"
#include "storage/sqlite/place.h"
#include "storage/sqlite/schema.h"
#include "storage/sqlite/write_queue.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// The durable state: the newest checkpoint, the tree that it covers, and what is believed of the
// rest.
struct Committed {
  LogState state;
  LogTail tail;
  Believed believed;
};

// Reads all members but `believed` from the tables. Errors: data-loss when there is no
// checkpoint; log-inconsistent when the checkpoint does not fit the tree.
[[nodiscard]] Result<Committed> load_committed(Connection& connection);
// Returns the earliest time that a new write may have: the time of the last write, or that of the
// newest log record, if that is later. The caller must have set the connection's seal key. Errors:
// data-loss when either does not fit its seal or the log.
[[nodiscard]] Result<LastWrite> least_time(Connection& connection, const LogState& state);

// Threading: any thread may call the public functions, but only one thread stop(). The private
// functions run on the writer's thread.
class Writer {
 public:
  using Work = std::function<Status(Transaction&)>;
  struct Options {
    std::string origin;
    std::int64_t schema_version;  // see checked_schema()
    Place place;                  // of the files of the database
    std::size_t max_group;
    std::chrono::milliseconds probe_interval;
    LastWrite least{};                // no write gets an earlier time
    std::function<Timestamp()> wall;  // as in SqliteOptions
    std::uint64_t copied = 0;         // FileAge::copied
    bool disk_fails = false;          // the disk took no write when the store was opened
  };

  // The caller must pass as `committed` what the database and `anchor` hold. A null `anchor` is for
  // tests only. `signer` and `clock` must outlive the writer.
  Writer(std::unique_ptr<Connection> connection, Committed committed,
         std::unique_ptr<Anchor> anchor, Options options, const Signer& signer, const Clock& clock);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Runs `work` as storage::Store::write() does, with the share of the writer that belongs to `of`.
  [[nodiscard]] Result<LogState> write(const Work& work, WriteClass of);
  [[nodiscard]] bool healthy() const;
  // Returns Acknowledger::anchored().
  [[nodiscard]] std::shared_ptr<const Acknowledger::Anchored> anchored() const {
    return back_.anchored();
  }
  // Returns what snapshots believe.
  [[nodiscard]] const History& history() const { return history_; }
  // Finishes the queued writes and refuses new ones.
  void stop();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  void run();
  WriteGroup next_group();
  void wait_for_work(std::unique_lock<std::mutex>& lock);

  void commit(WriteGroup& group);
  Status process(WriteGroup& group);
  bool cut_short(WriteGroup& group, std::size_t done, SteadyTime begin);
  Status begin();
  Status check_alone();
  Status resume();
  Status resume_believed(Committed& found);
  Status run_work(WriteJob& job);
  Status undo_work(const LogTail& before);
  Status seal();
  void abandon();
  Timestamp now();
  LastWrite last_write();

  void probe();
  void checkpoint_if_due();
  void checkpoint(bool reset);

  const std::unique_ptr<Connection> connection_;
  const Options options_;
  const Signer& signer_;
  const Clock& clock_;

  // Used only on the writer's thread.
  Committed committed_;
  LogTail tail_;  // committed_.tail plus what the group has appended
  std::shared_ptr<const Governance> governance_;  // that of committed_ plus the group's changes
  bool in_step_ = true;                           // committed_ equals the state in the database
  std::uint64_t copied_;                          // FileAge::copied
  std::optional<Believed> pending_;               // of the commit that is under way, or failed
  SchemaInUse schema_;
  Timestamp latest_;           // no write gets an earlier time
  bool other_writer_ = false;  // another process wrote the database meanwhile: no more writes
  bool work_failed_ = false;   // the database failed inside the work of this group
  SteadyTime::duration commit_time_{};
  std::size_t last_group_ = 1;
  int checkpoint_pages_;

  History history_;

  std::atomic<bool> writes_fail_ = false;
  std::atomic<bool> checkpoint_fails_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  WriteQueue queue_;        // guarded by mutex_
  std::size_t wanted_ = 1;  // guarded by mutex_: length of queue_ that wakes the writer
  bool stopping_ = false;   // guarded by mutex_

  Acknowledger back_;
  std::thread thread_;  // last member: the thread uses all others
};

}  // namespace assay::storage::sqlite
