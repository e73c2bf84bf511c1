// SPDX-License-Identifier: Apache-2.0
// The second half of a write. The writer's thread commits writes to the database in groups. After
// each commit, the group's checkpoint is written to the anchor (storage/anchor.h), a file that
// reveals at start when the database is an old copy. Only after that are the callers that wrote the
// group answered. This half runs on its own thread, while the writer's thread commits the next
// group. One flush of the anchor file covers all groups that are queued at that time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "storage/anchor.h"
#include "storage/sqlite/history.h"
#include "storage/store.h"

namespace assay::storage::sqlite {

// Who asks for a write: writes of the two classes take turns (write_queue.h).
enum class WriteClass : std::uint8_t { kApi, kAdmission };

// One call of write() that waits for its result.
struct WriteJob {
  const std::function<Status(Transaction&)>& work;
  WriteClass of;
  Status outcome;  // of `work`; set on the writer's thread, read on the acknowledger's
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result<LogState>> result;  // guarded by mutex
};
using WriteGroup = std::vector<std::shared_ptr<WriteJob>>;

// Answers each write of `group`: with the write's own error if there is one, else with the error in
// `status` if there is one, else with `state`.
void deliver(const WriteGroup& group, const Status& status, const LogState& state);

// Threading: any thread, unless a function says otherwise.
class Acknowledger {
 public:
  // The caller must pass as `state` and `believed` what `anchor` holds. Writing the anchor is tried
  // again every `retry` after a failure. A null `anchor` is for tests only: every state is treated
  // as anchored.
  Acknowledger(std::unique_ptr<Anchor> anchor, LogState state, Believed believed,
               std::chrono::milliseconds retry);
  ~Acknowledger();
  Acknowledger(const Acknowledger&) = delete;
  Acknowledger& operator=(const Acknowledger&) = delete;

  // Queues a group that is durable in the database. `state` and `believed` are those after the
  // group. The caller must be the writer's thread, and must keep the order of the commits.
  void take(WriteGroup group, const LogState& state, Believed believed);
  // Answers all queued groups and ends the thread.
  void stop();

  // The newest state that is durable in database and anchor, and the number of the write that left
  // it. Callers must not send data about later records of the log out of the process.
  struct Anchored {
    LogState state;
    std::uint64_t number;
  };
  [[nodiscard]] std::shared_ptr<const Anchored> anchored() const;
  // Returns true while the anchor cannot be written.
  [[nodiscard]] bool failing() const { return failing_; }

 private:
  struct Sealed {
    WriteGroup group;
    LogState state;
    Believed believed;
  };

  void run();
  std::vector<Sealed> next();
  Status anchor(const LogState& state, const Believed& believed);

  const std::unique_ptr<Anchor> anchor_;
  const std::chrono::milliseconds retry_;
  // Used only on the acknowledger's thread.
  LogState newest_;  // newest state known to be in the database
  Believed newest_believed_;
  Believed anchored_believed_;

  std::atomic<bool> failing_ = false;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Sealed> queue_;                 // guarded by mutex_
  bool stopping_ = false;                     // guarded by mutex_
  std::shared_ptr<const Anchored> anchored_;  // guarded by mutex_

  std::thread thread_;  // last member: the thread uses all others
};

}  // namespace assay::storage::sqlite
