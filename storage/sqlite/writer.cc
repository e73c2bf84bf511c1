// SPDX-License-Identifier: Apache-2.0
// Group commit. Each write is a savepoint in the group's transaction; one signature and one sync
// cover them all.
#include "storage/sqlite/writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "storage/sqlite/events.h"
#include "storage/sqlite/file_age.h"
#include "storage/sqlite/head.h"
#include "storage/sqlite/transaction.h"

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
// A group whose works have run for this long ends when a write of admission waits that is not in
// the group. What the group has not begun goes back to the front of the queue.
constexpr std::chrono::milliseconds kLongGroup{5};

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
  if (tail.frontier.size() != state->size || tail.frontier.root() != state->root) {
    return fail(ErrorCode::kLogInconsistent, "the log differs from its newest checkpoint");
  }
  return Committed{std::move(*state), std::move(tail), {}};
}

Result<LastWrite> least_time(Connection& connection, const LogState& state) {
  ASSAY_ASSIGN(const Head head, load_head(connection, state));
  const LastWrite& least = head.last;
  if (state.size == 0) {
    return least;
  }
  ASSAY_ASSIGN(const EventRow newest, load_event(connection, state.size - 1));
  const Timestamp time = newest.record.time;
  return time > least.time ? LastWrite{time, std::max(time, least.wall)} : least;
}

Writer::Writer(std::unique_ptr<Connection> connection, Committed committed,
               std::unique_ptr<Anchor> anchor, Options options, const Signer& signer,
               const Clock& clock)
    : connection_(std::move(connection)),
      options_(std::move(options)),
      signer_(signer),
      clock_(clock),
      committed_(std::move(committed)),
      tail_(committed_.tail),
      governance_(committed_.believed.governance),
      copied_(options_.copied),
      schema_(options_.schema_version),
      latest_(options_.least.time),
      checkpoint_pages_(kCheckpointPages),
      history_(committed_.believed),
      writes_fail_(options_.disk_fails),
      back_(std::move(anchor), committed_.state, committed_.believed, options_.probe_interval) {
  connection_->map().trust(committed_.believed.map);
  thread_ = std::thread([this] { run(); });
}

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
  back_.stop();
  // SQLite removes the log by its name when it closes the database: by now that may be the log of
  // another one.
  if (!options_.place.check()) {
    connection_->keep_log_on_close();
  }
}

bool Writer::healthy() const {
  return !writes_fail_ && !checkpoint_fails_ && !back_.failing() && options_.place.check();
}

Result<LogState> Writer::write(const Work& work, WriteClass of) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    return fail(ErrorCode::kInternal, "a write was started inside of another one");
  }
  const auto job = std::make_shared<WriteJob>(work, of);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      return fail(ErrorCode::kUnavailable, "the store is closing");
    }
    queue_.push(job);
    if (queue_.size() >= wanted_) {
      wake_.notify_one();
    }
  }
  std::unique_lock lock(job->mutex);
  job->done.wait(lock, [&] { return job->result.has_value(); });
  return std::move(*job->result);
}

void Writer::run() {
  for (WriteGroup group = next_group(); !group.empty(); group = next_group()) {
    commit(group);
    checkpoint_if_due();
  }
}

// The next writes to commit together; none when the store closes.
WriteGroup Writer::next_group() {
  std::unique_lock lock(mutex_);
  wait_for_work(lock);
  // Those whose last write was acknowledged a moment ago are about to come back.
  wanted_ = std::min(last_group_, options_.max_group);
  if (queue_.size() < wanted_) {
    const auto window = std::min<SteadyTime::duration>(commit_time_ / kGatherPart, kGatherLimit);
    wake_.wait_for(lock, window, [&] { return queue_.size() >= wanted_ || stopping_; });
  }
  wanted_ = 1;
  WriteGroup group = queue_.take(options_.max_group);
  return group;
}

// While the disk refuses writes it is tried again and again: nobody may send one (a service that is
// not ready gets none), so that nobody else would find out.
void Writer::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto ready = [&] { return !queue_.empty() || stopping_; };
  while (!ready()) {
    if (!writes_fail_ && !checkpoint_fails_) {
      wake_.wait(lock, ready);
    } else if (!wake_.wait_for(lock, options_.probe_interval, ready)) {
      lock.unlock();
      probe();
      lock.lock();
    }
  }
}

void Writer::commit(WriteGroup& group) {
  // What could not be anchored is not answered, so nothing more is added to it.
  if (back_.failing()) {
    deliver(group, fail(ErrorCode::kStorage, "the anchor file cannot be written"),
            committed_.state);
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  work_failed_ = false;
  Status status = process(group);
  if (!status) {
    abandon();
  }
  commit_time_ = std::chrono::steady_clock::now() - begin;
  last_group_ = group.size();
  writes_fail_ = !status || work_failed_;
  if (status) {
    status = options_.place.check();  // what was committed into a file that is gone is lost
    writes_fail_ = writes_fail_ || !status;
  }
  if (status) {
    back_.take(group, committed_.state, committed_.believed);
  } else {
    deliver(group, status, committed_.state);
  }
}

// Writes what is there once more.
void Writer::probe() {
  Status status = begin();
  if (status) {
    status = store_checkpoint(*connection_, committed_.state);
  }
  if (status) {
    status = connection_->query(Sql::kCommit).run();
  }
  if (!status) {
    abandon();
  }
  writes_fail_ = !status;
  if (status && checkpoint_fails_) {
    checkpoint(false);
  }
}

// Runs the group up to and including COMMIT, or its beginning when it is cut short. An error is one
// of the whole group.
Status Writer::process(WriteGroup& group) {
  const auto start = std::chrono::steady_clock::now();
  ASSAY_TRY(begin());
  bool any = false;
  for (std::size_t done = 0; done < group.size() && !cut_short(group, done, start); ++done) {
    WriteJob& job = *group[done];
    job.outcome = run_work(job);
    any = any || job.outcome.has_value();
    if (!connection_->in_transaction()) {
      return fail(ErrorCode::kStorage, "the database gave up the transaction of several writes");
    }
  }
  return any ? seal() : connection_->query(Sql::kRollback).run();
}

// Whether the group ends here, after `done` works: admission waits for no long group of the API.
// The rest of the group waits again then.
bool Writer::cut_short(WriteGroup& group, std::size_t done, SteadyTime begin) {
  if (done == 0 || std::chrono::steady_clock::now() - begin < kLongGroup) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  if (queue_.size(WriteClass::kAdmission) == 0) {
    return false;
  }
  queue_.put_back(group, done);
  return true;
}

// Begins a transaction in which only the triggers of this service run. After a failure the schema
// may have been read again, so that its version says nothing about what was read.
Status Writer::begin() {
  if (other_writer_) {
    return fail(ErrorCode::kUnavailable,
                "another process writes the database: stop both services, and start one");
  }
  ASSAY_TRY(options_.place.check());
  const bool in_step = in_step_;
  ASSAY_TRY(resume());
  ASSAY_TRY(connection_->query(Sql::kBeginWrite).run());
  ASSAY_ASSIGN(const bool changed, schema_.check(*connection_, !in_step));
  if (changed) {
    ASSAY_TRY(drop_statistics(*connection_));
  }
  return check_alone();
}

// The database is locked for writing now. Another write than the last one of this service is the
// work of another process: what this service knows of trust and policy is old, and its next record
// would be a second one of the same index.
Status Writer::check_alone() {
  ASSAY_ASSIGN(const FileAge age, load_file_age(*connection_));
  ASSAY_ASSIGN(const auto found, load_checkpoint(*connection_));
  other_writer_ =
      age.number != committed_.believed.number || (found && found->size > committed_.state.size);
  return other_writer_ ? fail(ErrorCode::kUnavailable, "another process wrote the database")
                       : Status();
}

// After a failure: what the database holds is looked up, not guessed.
Status Writer::resume() {
  if (in_step_) {
    return {};
  }
  if (connection_->in_transaction()) {
    ASSAY_TRY(connection_->query(Sql::kRollback).run());
  }
  ASSAY_ASSIGN(Committed found, load_committed(*connection_));
  ASSAY_TRY(resume_believed(found));
  committed_ = std::move(found);
  connection_->map().trust(committed_.believed.map);
  governance_ = committed_.believed.governance;
  tail_ = committed_.tail;
  in_step_ = true;
  return {};
}

// A commit that seemed to fail may have been made.
Status Writer::resume_believed(Committed& found) {
  ASSAY_ASSIGN(const FileAge age, load_file_age(*connection_));
  if (pending_ && pending_->number == age.number) {
    found.believed = *std::exchange(pending_, std::nullopt);
    return {};
  }
  found.believed = committed_.believed;  // check_alone() refuses any other number
  return {};
}

Status Writer::run_work(WriteJob& job) {
  const LogTail before = tail_;
  ASSAY_TRY(connection_->query(Sql::kSavepoint).run());
  static_cast<void>(connection_->take_failure());
  SqliteTransaction transaction(*connection_, tail_, committed_.state, governance_, now());
  Status outcome = call(job.work, transaction);
  auto governance = transaction.finish();
  if (outcome && !governance) {
    outcome = std::unexpected(governance.error());
  }
  if (auto failure = connection_->take_failure()) {
    work_failed_ = work_failed_ || failure->code != ErrorCode::kInternal;
    outcome = std::unexpected(std::move(*failure));
  }
  if (outcome) {
    outcome = connection_->query(Sql::kRelease).run();
  }
  if (!outcome) {
    ASSAY_TRY(undo_work(before));
    return outcome;
  }
  governance_ = *std::move(governance);
  connection_->map().keep_work();
  return {};
}

Status Writer::undo_work(const LogTail& before) {
  tail_ = before;
  connection_->map().drop_work();
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
  Believed believed{committed_.believed.number + 1, governance_, {}};
  ASSAY_ASSIGN(believed.map, connection_->map().store());
  ASSAY_TRY(store_head(*connection_, {last_write(), believed.number, believed.map.root()}, next,
                       copied_));
  pending_ = believed;
  history_.publish(believed);  // before anybody can see the rows
  ASSAY_TRY(connection_->query(Sql::kCommit).run());
  pending_.reset();
  connection_->map().trust(believed.map);
  committed_ = {std::move(next), tail_, std::move(believed)};
  return {};
}

// Whatever the clock says: a time that went back would make ages short again.
Timestamp Writer::now() {
  latest_ = std::max(latest_, clock_.now());
  return latest_;
}

// The wall clock is read first: its time is rather too far behind than not far enough.
LastWrite Writer::last_write() {
  const auto wall = options_.wall ? std::optional(options_.wall()) : std::nullopt;
  const Timestamp time = now();
  return {time, wall.value_or(time)};
}

void Writer::abandon() {
  if (connection_->in_transaction()) {
    static_cast<void>(connection_->query(Sql::kRollback).run());
  }
  static_cast<void>(connection_->take_failure());
  tail_ = committed_.tail;
  governance_ = committed_.believed.governance;
  connection_->map().trust(committed_.believed.map);
  in_step_ = false;
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
  checkpoint(pages >= kResetPages);
  checkpoint_pages_ = pages + kCheckpointPages;
}

void Writer::checkpoint(bool reset) {
  const auto complete = connection_->checkpoint(reset);
  checkpoint_fails_ = !complete;
  if (complete && *complete) {
    copied_ = committed_.believed.number;
  }
}

}  // namespace assay::storage::sqlite
