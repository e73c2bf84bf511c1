// SPDX-License-Identifier: Apache-2.0
// The second half of a write: once the database has a group, the anchor gets its checkpoint, and
// only then its writers are answered. Runs beside the writer, which commits the next group
// meanwhile; one flush of the anchor covers every group that is waiting for it.
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

// One call of write() that waits for its answer.
struct WriteJob {
  const std::function<Status(Transaction&)>& work;
  Status outcome;  // of the work; writer's thread, then the acknowledger's
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result<LogState>> result;  // guarded by mutex
};
using WriteGroup = std::vector<std::shared_ptr<WriteJob>>;

// Each write gets its own error, or `status` when that is one, or the state that covers it.
void deliver(const WriteGroup& group, const Status& status, const LogState& state);

// Threading: any thread, unless a function says otherwise.
class Acknowledger {
 public:
  using Governed = std::shared_ptr<const Governance>;

  // `state` and `governance` are what `anchor` holds. Without an anchor everything counts as
  // anchored (tests of other things).
  Acknowledger(std::unique_ptr<Anchor> anchor, LogState state, Governed governance,
               std::chrono::milliseconds retry);
  ~Acknowledger();
  Acknowledger(const Acknowledger&) = delete;
  Acknowledger& operator=(const Acknowledger&) = delete;

  // A group that is durable in the database, with the state after it. In the order of commits, from
  // the writer's thread.
  void take(WriteGroup group, const LogState& state, Governed governance);
  // Answers what was taken and ends the thread.
  void stop();

  // The newest state that is durable in database and anchor: nothing that speaks of a larger log
  // may leave the process.
  [[nodiscard]] std::shared_ptr<const LogState> anchored() const;
  // The anchor could not be written, and is tried again every `retry`.
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
  // Acknowledger's thread.
  LogState newest_;  // that the database holds, as far as it was told
  Governed newest_governance_;
  Governed anchored_governance_;

  std::atomic<bool> failing_ = false;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Sealed> queue_;                 // guarded by mutex_
  bool stopping_ = false;                     // guarded by mutex_
  std::shared_ptr<const LogState> anchored_;  // guarded by mutex_

  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace assay::storage::sqlite
