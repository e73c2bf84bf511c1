// SPDX-License-Identifier: Apache-2.0
// The one thread that writes: many writes in one commit. storage/README.md tells the life of a
// write.
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
#include "storage/sqlite/connection.h"
#include "storage/sqlite/log_tables.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// What is durable: the newest checkpoint, the tree it covers, and the epochs.
struct Committed {
  LogState state;
  LogTail tail;
  Epochs epochs;
};

// Reads it from the tables. data-loss when there is no checkpoint, log-inconsistent when it does
// not fit the tree.
[[nodiscard]] Result<Committed> load_committed(Connection& connection);

// Threading: write() and healthy() from any thread; the rest runs on the writer's own.
class Writer {
 public:
  using Work = std::function<Status(Transaction&)>;
  struct Options {
    std::string origin;
    std::size_t max_group;
    std::chrono::milliseconds anchor_interval;
  };

  // `committed` is what the database holds. `anchor` may be absent; `signer` and `clock` are
  // borrowed.
  Writer(std::unique_ptr<Connection> connection, Committed committed, std::optional<Anchor> anchor,
         Options options, const Signer& signer, const Clock& clock);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  [[nodiscard]] Result<LogState> write(const Work& work);
  [[nodiscard]] bool healthy() const;
  // Finishes what is queued and refuses the rest.
  void stop();

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;
  struct Job {
    const Work& work;
    Status outcome;  // of the work; writer's thread
    std::mutex mutex;
    std::condition_variable done;
    std::optional<Result<LogState>> result;  // guarded by mutex
  };
  using Group = std::vector<std::shared_ptr<Job>>;

  void run();
  Group next_group();
  void wait_for_work(std::unique_lock<std::mutex>& lock);

  void commit(const Group& group);
  Status process(const Group& group);
  Status resume();
  Status run_work(Job& job);
  Status undo_work(const LogTail& before);
  Status seal();
  void abandon();
  static void deliver(const Group& group, const Status& status, const LogState& state);

  void save_anchor();
  void checkpoint_if_due();

  const std::unique_ptr<Connection> connection_;
  const std::optional<Anchor> anchor_;
  const Options options_;
  const Signer& signer_;
  const Clock& clock_;

  // Writer's thread.
  Committed committed_;
  LogTail tail_;              // committed_.tail and what the group has appended
  bool in_step_ = true;       // committed_ is what the database holds
  bool anchor_due_ = false;   // the anchor is older than committed_
  bool work_failed_ = false;  // the database failed inside the work of this group
  SteadyTime anchor_time_;    // when it may be written next
  SteadyTime::duration commit_time_{};
  std::size_t last_group_ = 1;
  int checkpoint_pages_;

  std::atomic<bool> writes_fail_ = false;
  std::atomic<bool> anchor_fails_ = false;
  std::atomic<bool> checkpoint_fails_ = false;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> queue_;  // guarded by mutex_
  std::size_t wanted_ = 1;                  // guarded by mutex_: length of queue_ worth waking for
  bool stopping_ = false;                   // guarded by mutex_

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace assay::storage::sqlite
