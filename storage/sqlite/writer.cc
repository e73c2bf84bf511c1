// SPDX-License-Identifier: Apache-2.0
// Group commit. Each write is a savepoint in the group's transaction; one signature and one sync
// cover them all.
#include "storage/sqlite/writer.h"

#include <algorithm>
#include <exception>

#include "storage/sqlite/transaction.h"
#include "storage/sqlite/trust_tables.h"

namespace assay::storage::sqlite {
namespace {

// Size of the write-ahead log from which on it is copied into the database (8 MiB), and from which
// on readers are asked to let it start over (64 MiB).
constexpr int kCheckpointPages = 2048;
constexpr int kResetPages = 16384;
// Writers that come back after a commit get this part of the commit's time to join the next group,
// and never longer than the limit. A single writer does not wait.
constexpr int kGatherPart = 4;
constexpr std::chrono::microseconds kGatherLimit{1000};

// Work is a caller's function on our thread: what it throws must not end the process.
Status call(const Writer::Work& work, Transaction& transaction) {
  try {
    return work(transaction);
  } catch (const std::exception& exception) {
    return fail(ErrorCode::kInternal, std::string("a write threw: ") + exception.what());
  } catch (...) {
    return fail(ErrorCode::kInternal, "a write threw");
  }
}

}  // namespace

Result<Committed> load_committed(Connection& connection) {
  ASSAY_ASSIGN(auto state, load_checkpoint(connection));
  if (!state) {
    return fail(ErrorCode::kDataLoss, "the newest checkpoint is missing");
  }
  ASSAY_ASSIGN(LogTail tail, load_tail(connection));
  ASSAY_ASSIGN(const Epochs epochs, load_epochs(connection));
  if (tail.frontier.size() != state->size || tail.frontier.root() != state->root) {
    return fail(ErrorCode::kLogInconsistent, "the log differs from its newest checkpoint");
  }
  return Committed{std::move(*state), std::move(tail), epochs};
}

Writer::Writer(std::unique_ptr<Connection> connection, Committed committed,
               std::optional<Anchor> anchor, Options options, const Signer& signer,
               const Clock& clock)
    : connection_(std::move(connection)),
      anchor_(std::move(anchor)),
      options_(std::move(options)),
      signer_(signer),
      clock_(clock),
      committed_(std::move(committed)),
      tail_(committed_.tail),
      anchor_time_(std::chrono::steady_clock::now() + options_.anchor_interval),
      checkpoint_pages_(kCheckpointPages),
      thread_([this] { run(); }) {}

Writer::~Writer() { stop(); }

void Writer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

bool Writer::healthy() const { return !writes_fail_ && !anchor_fails_ && !checkpoint_fails_; }

Result<LogState> Writer::write(const Work& work) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    return fail(ErrorCode::kInternal, "a write was started inside of another one");
  }
  const auto job = std::make_shared<Job>(work);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return fail(ErrorCode::kUnavailable, "the store is closing");
    }
    queue_.push_back(job);
    if (queue_.size() >= wanted_) {
      wake_.notify_one();
    }
  }
  std::unique_lock lock(job->mutex);
  job->done.wait(lock, [&] { return job->result.has_value(); });
  return std::move(*job->result);
}

void Writer::run() {
  for (Group group = next_group(); !group.empty(); group = next_group()) {
    commit(group);
    checkpoint_if_due();
  }
  if (anchor_due_) {
    save_anchor();
  }
}

// The next writes to commit together; none when the store closes.
Writer::Group Writer::next_group() {
  std::unique_lock lock(mutex_);
  wait_for_work(lock);
  // Those whose last write was acknowledged a moment ago are about to come back.
  wanted_ = std::min(last_group_, options_.max_group);
  if (queue_.size() < wanted_) {
    const auto window = std::min<SteadyTime::duration>(commit_time_ / kGatherPart, kGatherLimit);
    wake_.wait_for(lock, window, [&] { return queue_.size() >= wanted_ || stopping_; });
  }
  wanted_ = 1;
  const auto count = static_cast<std::ptrdiff_t>(
      std::min(queue_.size(), std::max<std::size_t>(options_.max_group, 1)));
  Group group(queue_.begin(), queue_.begin() + count);
  queue_.erase(queue_.begin(), queue_.begin() + count);
  last_group_ = group.size();
  return group;
}

// Also writes the anchor when its time has come and nothing else happens.
void Writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto ready = [&] { return !queue_.empty() || stopping_; };
  while (!ready()) {
    if (!anchor_due_) {
      wake_.wait(lock, ready);
    } else if (!wake_.wait_until(lock, anchor_time_, ready)) {
      lock.unlock();
      save_anchor();
      lock.lock();
    }
  }
}

void Writer::commit(const Group& group) {
  const Epochs epochs_before = committed_.epochs;
  const std::string note_before = committed_.state.note;
  const auto begin = std::chrono::steady_clock::now();
  work_failed_ = false;
  const Status status = process(group);
  if (!status) {
    abandon();
  }
  const auto end = std::chrono::steady_clock::now();
  commit_time_ = end - begin;
  writes_fail_ = !status || work_failed_;

  const bool epochs_changed = committed_.epochs != epochs_before;
  anchor_due_ = anchor_due_ || epochs_changed || committed_.state.note != note_before;
  const bool every_time = options_.anchor_interval.count() == 0;
  if (anchor_due_ && (epochs_changed || every_time)) {
    save_anchor();
  }
  deliver(group, status, committed_.state);
  if (anchor_due_ && end >= anchor_time_) {
    save_anchor();
  }
}

// Runs the group up to and including COMMIT. An error is one of the whole group.
Status Writer::process(const Group& group) {
  ASSAY_TRY(resume());
  ASSAY_TRY(connection_->query(Sql::kBeginWrite).run());
  bool any = false;
  for (const auto& job : group) {
    job->outcome = run_work(*job);
    any = any || job->outcome.has_value();
    if (!connection_->in_transaction()) {
      return fail(ErrorCode::kStorage, "the database gave up the transaction of several writes");
    }
  }
  return any ? seal() : connection_->query(Sql::kRollback).run();
}

// After a failure: what the database holds is looked up, not guessed.
Status Writer::resume() {
  if (in_step_) {
    return {};
  }
  if (connection_->in_transaction()) {
    ASSAY_TRY(connection_->query(Sql::kRollback).run());
  }
  ASSAY_ASSIGN(committed_, load_committed(*connection_));
  tail_ = committed_.tail;
  in_step_ = true;
  return {};
}

Status Writer::run_work(Job& job) {
  const LogTail before = tail_;
  ASSAY_TRY(connection_->query(Sql::kSavepoint).run());
  static_cast<void>(connection_->take_failure());
  SqliteTransaction transaction(*connection_, tail_, committed_.state, clock_.now());
  Status outcome = call(job.work, transaction);
  if (auto failure = connection_->take_failure()) {
    work_failed_ = work_failed_ || failure->code != ErrorCode::kInternal;
    outcome = std::unexpected(std::move(*failure));
  }
  if (outcome) {
    outcome = connection_->query(Sql::kRelease).run();
  }
  if (!outcome) {
    ASSAY_TRY(undo_work(before));
  }
  return outcome;
}

Status Writer::undo_work(const LogTail& before) {
  tail_ = before;
  if (!connection_->in_transaction()) {
    return {};
  }
  Status undone = connection_->query(Sql::kRollbackTo).run();
  if (undone) {
    undone = connection_->query(Sql::kRelease).run();
  }
  if (!undone) {
    // Nothing of the group may stay; process() notices that the transaction is gone.
    static_cast<void>(connection_->query(Sql::kRollback).run());
  }
  return undone;
}

// Signs the new state, stores the checkpoint, commits. From COMMIT on the group is durable.
Status Writer::seal() {
  LogState next = committed_.state;
  if (tail_.frontier.size() != next.size) {
    next = {tail_.frontier.size(), tail_.frontier.root(), {}};
    ASSAY_ASSIGN(next.note, sign_checkpoint({options_.origin, next.size, next.root}, signer_));
    ASSAY_TRY(store_checkpoint(*connection_, next));
  }
  ASSAY_ASSIGN(const Epochs epochs, load_epochs(*connection_));
  ASSAY_TRY(connection_->query(Sql::kCommit).run());
  committed_ = {std::move(next), tail_, epochs};
  return {};
}

void Writer::abandon() {
  if (connection_->in_transaction()) {
    static_cast<void>(connection_->query(Sql::kRollback).run());
  }
  static_cast<void>(connection_->take_failure());
  tail_ = committed_.tail;
  in_step_ = false;
}

// Each write gets its own error, or that of the group, or the state that covers it.
void Writer::deliver(const Group& group, const Status& status, const LogState& state) {
  for (const auto& job : group) {
    Result<LogState> result = state;
    if (!job->outcome) {
      result = std::unexpected(job->outcome.error());
    } else if (!status) {
      result = std::unexpected(status.error());
    }
    {
      const std::lock_guard lock(job->mutex);
      job->result = std::move(result);
    }
    job->done.notify_one();
  }
}

// A failure is not one of the writes, which are durable: it shows in healthy() and is tried again.
void Writer::save_anchor() {
  const Status saved = anchor_ ? anchor_->save(committed_.state.note, committed_.epochs) : Status();
  anchor_fails_ = !saved;
  anchor_due_ = !saved;
  anchor_time_ = std::chrono::steady_clock::now() +
                 std::max<std::chrono::milliseconds>(options_.anchor_interval,
                                                     std::chrono::milliseconds(saved ? 0 : 1000));
}

// Keeps the write-ahead log short. After the acknowledgements, so that nobody waits for it.
void Writer::checkpoint_if_due() {
  const int pages = connection_->wal_pages();
  if (pages < checkpoint_pages_) {
    if (pages < checkpoint_pages_ - kCheckpointPages) {
      checkpoint_pages_ = kCheckpointPages;  // it has started over
    }
    return;
  }
  checkpoint_fails_ = !connection_->checkpoint(pages >= kResetPages);
  checkpoint_pages_ = pages + kCheckpointPages;
}

}  // namespace assay::storage::sqlite
