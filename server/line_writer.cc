// SPDX-License-Identifier: Apache-2.0
#include "server/line_writer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <utility>

namespace assay::server {
namespace {

// A pipe that polls as writable takes this many bytes without a wait (PIPE_BUF of Linux).
constexpr std::size_t kPieceBytes = 4096;
// How often a stalled writer looks whether the file was changed or nobody waits for it any more.
constexpr int kStallPollMs = 50;
// How often a loss that could not be told is tried again.
constexpr std::chrono::seconds kTellAgain{1};
// How long a thread that was told to give up may take. Longer means that a system call hangs.
constexpr std::chrono::milliseconds kGiveUpTime{500};

struct Line {
  std::string text;
  std::uint64_t lost_before;  // lines dropped between the line before and this one
};

}  // namespace

struct LineWriter::State {
  explicit State(Descriptor own_file, TellLoss own_tell_loss)
      : file(std::make_shared<Descriptor>(std::move(own_file))),
        tell_loss(std::move(own_tell_loss)) {}

  mutable std::mutex mutex;
  std::condition_variable work;      // for the thread: lines, another file, or the end
  std::condition_variable progress;  // for flush() and the destructor
  std::deque<Line> queue;            // guarded by mutex, as is everything below
  std::size_t bytes = 0;             // of the queue and of the line that is being written
  std::uint64_t queued = 0;          // lines that were ever taken into the queue
  std::uint64_t settled = 0;         // those of them that were written or lost
  std::uint64_t dropped = 0;         // lines dropped since the newest line of the queue
  std::uint64_t lost = 0;            // lines dropped or not written, ever
  bool dropping = false;
  bool ending = false;
  bool ended = false;
  std::shared_ptr<Descriptor> file;
  std::atomic<bool> give_up = false;

  // Of the thread alone:
  const TellLoss tell_loss;
  std::uint64_t untold = 0;            // lost lines that no line of the file tells of yet
  std::shared_ptr<Descriptor> broken;  // the file that ends with a part of a line, if one does

  std::shared_ptr<Descriptor> current_file() const {
    const std::lock_guard lock(mutex);
    return file;
  }

  void run();
  // Writes one line. Returns false when it could not be written whole.
  bool put(const std::string& text);
  enum class Outcome : std::uint8_t { kWritten, kFailed, kOtherFile };
  Outcome put_into(const std::shared_ptr<Descriptor>& into, const std::string& text);
  // Tells of lost lines. What cannot be told now stays to be told.
  void tell();
};

LineWriter::State::Outcome LineWriter::State::put_into(const std::shared_ptr<Descriptor>& into,
                                                       const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    if (give_up) {
      return Outcome::kFailed;
    }
    if (current_file() != into) {
      return Outcome::kOtherFile;
    }
    pollfd ready{into->get(), POLLOUT, 0};
    if (::poll(&ready, 1, kStallPollMs) == 0) {
      continue;
    }
    const std::size_t piece = std::min(text.size() - done, kPieceBytes);
    const ssize_t wrote = ::write(into->get(), text.data() + done, piece);
    if (wrote < 0 && (errno == EAGAIN || errno == EINTR)) {
      ::poll(nullptr, 0, kStallPollMs);  // another process filled the pipe meanwhile
      continue;
    }
    if (wrote <= 0) {
      return Outcome::kFailed;
    }
    done += static_cast<std::size_t>(wrote);
    broken = done < text.size() ? into : nullptr;
  }
  return Outcome::kWritten;
}

bool LineWriter::State::put(const std::string& text) {
  for (;;) {
    const auto into = current_file();
    if (!*into || give_up) {
      return false;
    }
    const Outcome outcome = put_into(into, broken == into ? "\n" + text : text);
    if (outcome != Outcome::kOtherFile) {
      return outcome == Outcome::kWritten;
    }
  }
}

void LineWriter::State::tell() {
  if (untold > 0 && !give_up && put(tell_loss(untold))) {
    untold = 0;
  }
}

void LineWriter::State::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    const auto woken = [this] { return !queue.empty() || dropped > 0 || ending; };
    if (untold > 0) {
      work.wait_for(lock, kTellAgain, woken);
    } else {
      work.wait(lock, woken);
    }
    if (queue.empty()) {
      const bool last = ending;
      dropping = false;
      untold += std::exchange(dropped, 0);
      lock.unlock();
      tell();
      lock.lock();
      if (last && queue.empty()) {
        break;
      }
      continue;
    }
    const Line line = std::move(queue.front());
    queue.pop_front();
    lock.unlock();
    untold += line.lost_before;
    tell();
    const bool written = put(line.text);
    untold += written ? 0 : 1;
    lock.lock();
    bytes -= line.text.size();
    lost += written ? 0 : 1;
    ++settled;
    dropping =
        dropping && (bytes > kMaxQueuedLogBytes / 2 || queue.size() > kMaxQueuedLogLines / 2);
    progress.notify_all();
  }
  ended = true;
  progress.notify_all();
}

LineWriter::LineWriter(Descriptor file, TellLoss tell_loss, std::chrono::milliseconds flush_time)
    : state_(std::make_shared<State>(std::move(file), std::move(tell_loss))),
      flush_time_(flush_time) {
  // Signals are for other threads, and a pipe whose reader has gone is an error of the write.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([state = state_] { state->run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

LineWriter::~LineWriter() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->work.notify_all();
  const auto ended = [this] { return state_->ended; };
  bool joinable = state_->progress.wait_for(lock, flush_time_, ended);
  if (!joinable) {
    state_->give_up = true;
    joinable = state_->progress.wait_for(lock, kGiveUpTime, ended);
  }
  lock.unlock();
  if (joinable) {
    thread_.join();
  } else {
    thread_.detach();  // a system call hangs; the thread owns what it uses
  }
}

void LineWriter::write(std::string line) {
  const std::lock_guard lock(state_->mutex);
  State& state = *state_;
  state.dropping = state.dropping || state.queue.size() >= kMaxQueuedLogLines ||
                   line.size() > kMaxQueuedLogBytes - state.bytes;
  if (state.dropping) {
    ++state.dropped;
    ++state.lost;
    state.work.notify_one();
    return;
  }
  state.bytes += line.size();
  ++state.queued;
  state.queue.push_back({std::move(line), std::exchange(state.dropped, 0)});
  state.work.notify_one();
}

void LineWriter::change(Descriptor file) {
  auto fresh = std::make_shared<Descriptor>(std::move(file));
  const std::lock_guard lock(state_->mutex);
  std::swap(state_->file, fresh);
}

bool LineWriter::flush(std::chrono::milliseconds bound) {
  std::unique_lock lock(state_->mutex);
  return state_->progress.wait_for(
      lock, bound, [this, until = state_->queued] { return state_->settled >= until; });
}

std::uint64_t LineWriter::lost() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lost;
}

}  // namespace assay::server
