// SPDX-License-Identifier: Apache-2.0
// The second half of a write. After the database has committed a group, the anchor gets the group's
// checkpoint, and then the writers of the group are answered. Runs on its own thread beside the
// writer, which commits the next group meanwhile. One flush of the anchor covers every group that
// waits for it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "storage/anchor.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// One call of write() that waits for its result.
struct WriteJob {
  const std::function<Status(Transaction&)>& work;
  Status outcome;  // of the work; set on the writer's thread, then on the acknowledger's
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result<LogState>> result;  // guarded by mutex
};
using WriteGroup = std::vector<std::shared_ptr<WriteJob>>;

// Answers each write of `group`: with the write's own error, else with the error in `status`, else
// with `state`.
void deliver(const WriteGroup& group, const Status& status, const LogState& state);

// Threading: any thread, unless a function says otherwise.
class Acknowledger {
 public:
  using Governed = std::shared_ptr<const Governance>;

  // `state` and `governance` are what `anchor` holds. A null `anchor` is for tests only: every
  // state is then treated as anchored.
  Acknowledger(std::unique_ptr<Anchor> anchor, LogState state, Governed governance,
               std::chrono::milliseconds retry);
  ~Acknowledger();
  Acknowledger(const Acknowledger&) = delete;
  Acknowledger& operator=(const Acknowledger&) = delete;

  // Queues a group that is durable in the database, with the state after the group. Call in the
  // order of commits, on the writer's thread.
  void take(WriteGroup group, const LogState& state, Governed governance);
  // Answers all queued groups and ends the thread.
  void stop();

  // Returns the newest state that is durable in database and anchor. Callers must not let data
  // about a log that is larger than in this state leave the process.
  [[nodiscard]] std::shared_ptr<const LogState> anchored() const;
  // Returns true while the anchor cannot be written. Writing is tried again every `retry`.
  [[nodiscard]] bool failing() const { return failing_; }

 private:
  struct Sealed {
    WriteGroup group;
    LogState state;
    Governed governance;
  };

  void run();
  std::vector<Sealed> next();
  Status anchor(const LogState& state, const Governed& governance);

  const std::unique_ptr<Anchor> anchor_;
  const std::chrono::milliseconds retry_;
  // Used only on the acknowledger's thread.
  LogState newest_;  // newest state known to be in the database
  Governed newest_governance_;
  Governed anchored_governance_;

  std::atomic<bool> failing_ = false;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Sealed> queue_;                 // guarded by mutex_
  bool stopping_ = false;                     // guarded by mutex_
  std::shared_ptr<const LogState> anchored_;  // guarded by mutex_

  std::thread thread_;  // last member: the thread uses all others
};

}  // namespace assay::storage::sqlite
