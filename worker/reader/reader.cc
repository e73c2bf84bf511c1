// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/reader.h"

#include <algorithm>
#include <exception>
#include <sys/socket.h>
#include <utility>

namespace assay::worker {
namespace {

// A check asks for one thing at a time, so few messages wait for it.
constexpr std::size_t kMaxWaiting = 4;
// For the end of a process that was killed: the kernel may still be busy with its device.
constexpr std::chrono::seconds kToDie{3};

std::unexpected<Error> nonsense(const std::string& what) {
  return assay::fail(ErrorCode::kInvalidEncoding, what);
}

std::uint64_t check_of(const wire::FromReader& message) {
  return std::visit(
      [](const auto& one) -> std::uint64_t {
        if constexpr (requires { one.check; }) {
          return one.check;
        } else {
          return 0;
        }
      },
      message);
}

}  // namespace

Reader::Reader(ReaderSetup setup) : setup_(std::move(setup)) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
    other_end_ = Descriptor(ends[1]);
  }
  link_ = std::make_unique<Link>(Descriptor(ends[0]));
  // The thread lives as long as the process: the kernel kills the child of a thread that ends.
  thread_ = std::jthread([this] { run(); });
}

Reader::~Reader() {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  link_->shut_down();
}

Error Reader::gone() const {
  return {ErrorCode::kDeviceFailed,
          "The process that reads memory of " + setup_.engine.id +
              " failed: " + (why_.empty() ? "its socket is closed" : why_),
          {}};
}

bool Reader::is_usable() {
  const Lock lock(mutex_);
  return !failing_ && !closing_ && !gone_;
}

void Reader::fail(const std::string& why) {
  const Lock lock(mutex_);
  fail_locked(why);
}

// The thread sees the end of the socket, and kills the process.
void Reader::fail_locked(const std::string& why) {
  if (!failing_ && !gone_) {
    failing_ = true;
    why_ = why;
    link_->shut_down();
    changed_.notify_all();
  }
}

void Reader::run() {
  Status status;
  try {
    status = begin();
    if (status) {
      status = attend();
    }
  } catch (const std::exception& error) {  // the system has no more memory
    status = assay::fail(ErrorCode::kInternal, error.what());
  }
  finish(status ? Error{ErrorCode::kCancelled, "nobody needs it", {}} : status.error());
}

Status Reader::begin() {
  if (!other_end_) {
    return assay::fail(ErrorCode::kInternal, "the system has no more sockets");
  }
  ChildProgram program{.path = setup_.program, .words = {"assay"}};
  program.words.insert(program.words.end(), setup_.arguments.begin(), setup_.arguments.end());
  const int socket = other_end_.get();
  ASSAY_ASSIGN(ChildProcess child, ChildProcess::start(program, std::span(&socket, 1)));
  child_.emplace(std::move(child));
  (void)other_end_.close();
  ASSAY_TRY(greet());
  setup_.tell({setup_.engine.id, child_->pid(), std::nullopt});
  const Lock lock(mutex_);
  ready_ = true;
  heard_ = Steady::now();
  changed_.notify_all();
  return {};
}

Status Reader::greet() {
  ASSAY_ASSIGN(const Frame frame, link_->receive({.bytes = wire::kMaxFromReader,
                                                  .end = Steady::now() + setup_.times.start}));
  ASSAY_ASSIGN(const wire::FromReader message, wire::parse_from_reader(frame.body));
  if (const auto* const failed = std::get_if<wire::Failed>(&message)) {
    return assay::fail(ErrorCode::kDeviceFailed, failed->problem.detail);
  }
  const auto* const hello = std::get_if<wire::Hello>(&message);
  if (hello == nullptr) {
    return nonsense("it does not say which device it has");
  }
  const gpu_hash::EngineInfo& engine = setup_.engine;
  // The CPU engine measures in each process which of its variants is fastest, and names that one as
  // its driver. All variants give the same digests.
  const std::string& driver = engine.id == "cpu" ? hello->driver : engine.driver;
  const wire::Hello expected{setup_.build,
                             engine.id,
                             engine.device,
                             engine.uuid,
                             engine.pci,
                             driver,
                             engine.kernel_digest ? engine.kernel_digest->text() : ""};
  // As bytes: text may be written otherwise than it was.
  if (frame.body != wire::write(wire::FromReader(expected))) {
    return nonsense("it is not of this build, or has another device");
  }
  engine_ = engine;
  engine_.driver = driver;
  return {};
}

bool Reader::is_idle() const {
  return std::ranges::all_of(boxes_, [](const auto& item) { return item.second.ended; });
}

// Hands out messages until the process ends, or nobody needs it any more.
Status Reader::attend() {
  while (true) {
    Steady::time_point begin = Steady::time_point::max();
    {
      const Lock lock(mutex_);
      if (is_idle()) {
        begin = Steady::now() + setup_.times.linger;
      }
    }
    auto frame = link_->receive(
        {.bytes = wire::kMaxFromReader, .begin = begin, .idle = setup_.times.silent});
    if (!frame && frame.error().code == ErrorCode::kRequestTimeout &&
        begin != Steady::time_point::max()) {
      const Lock lock(mutex_);
      if (is_idle()) {
        closing_ = true;
        return {};
      }
      continue;
    }
    if (!frame) {
      return std::unexpected(std::move(frame).error());
    }
    ASSAY_ASSIGN(wire::FromReader message, wire::parse_from_reader(frame->body));
    ASSAY_TRY(take(std::move(message)));
  }
}

Status Reader::take(wire::FromReader message) {
  const Lock lock(mutex_);
  const auto place = boxes_.find(check_of(message));
  if (place == boxes_.end()) {
    return nonsense("it speaks of what it was not asked");
  }
  Box& box = place->second;
  heard_ = box.heard = Steady::now();
  if (std::holds_alternative<wire::Ended>(message)) {
    if (!box.ending || box.ended) {
      return nonsense("it ends what it was not asked to end");
    }
    box.ended = true;
  } else if (!std::holds_alternative<wire::Progress>(message)) {
    if (box.ended || box.messages.size() >= kMaxWaiting) {
      return nonsense("it says more than it was asked");
    }
    box.messages.push_back(std::move(message));
  }
  changed_.notify_all();
  return {};
}

void Reader::finish(const Error& why) {
  bool wanted = false;
  std::int64_t pid = 0;
  {
    const Lock lock(mutex_);
    wanted = closing_ && !failing_;
    if (!failing_) {
      failing_ = true;
      why_ = why.detail;
    }
    changed_.notify_all();
  }
  link_->shut_down();
  if (child_) {
    pid = child_->pid();
    std::string end;
    if (wanted) {  // it ends by itself
      end = child_->wait(Steady::now() + kToDie);
    }
    if (end.empty()) {
      child_->kill();
      end = child_->wait(Steady::time_point::max());
    }
    const Lock lock(mutex_);
    why_ += end.empty() ? "" : " (" + end + ")";
  }
  if (!wanted) {
    Error told;
    {
      const Lock lock(mutex_);
      told = gone();
    }
    setup_.tell({setup_.engine.id, pid, std::move(told)});
  }
  std::vector<std::shared_ptr<Owner>> held;  // goes without the lock
  const Lock lock(mutex_);
  gone_ = true;
  held.swap(held_);
  changed_.notify_all();
}

Result<std::uint64_t> Reader::open(const std::stop_token& stop) {
  Lock lock(mutex_);
  if (closing_) {
    return assay::fail(ErrorCode::kUnavailable, "the process is about to end");
  }
  const std::uint64_t check = next_++;
  boxes_[check].heard = Steady::now();  // from now on it does not end for want of work
  (void)changed_.wait(lock, stop, [this] { return (ready_ && !failing_) || gone_; });
  if (ready_ && !failing_) {
    return check;
  }
  boxes_.erase(check);
  if (gone_) {
    return std::unexpected(gone());
  }
  return assay::fail(ErrorCode::kCancelled, "the work was stopped on request");
}

Status Reader::send(std::uint64_t check, const wire::ToReader& message,
                    std::span<const int> descriptors) {
  const bool ends = std::holds_alternative<wire::End>(message);
  const auto within = ends ? setup_.times.end : setup_.times.silent;
  const Status sent = link_->send(wire::write(message), descriptors, Steady::now() + within);
  const Lock lock(mutex_);
  boxes_.at(check).heard = Steady::now();
  if (!sent) {
    // A check that knows of the end must not leave the process usable until the thread sees it too.
    fail_locked(sent.error().code == ErrorCode::kRequestTimeout ? "it does not answer"
                                                                : "its socket is closed");
    return std::unexpected(gone());
  }
  return {};
}

Steady::time_point Reader::patience(const Box& box) const {
  return std::min(std::max(heard_, box.heard) + setup_.times.silent,
                  box.heard + setup_.times.stalled);
}

Result<wire::FromReader> Reader::next(std::uint64_t check, const std::stop_token& stop) {
  Lock lock(mutex_);
  Box& box = boxes_.at(check);
  while (true) {
    if (stop.stop_requested()) {
      return assay::fail(ErrorCode::kCancelled, "the work was stopped on request");
    }
    if (failing_ || gone_) {
      return std::unexpected(gone());
    }
    if (!box.messages.empty()) {
      wire::FromReader message = std::move(box.messages.front());
      box.messages.pop_front();
      return message;
    }
    const Steady::time_point deadline = patience(box);
    if (Steady::now() >= deadline) {
      fail_locked("it does not answer");
      continue;
    }
    (void)changed_.wait_until(lock, stop, deadline,
                              [&] { return failing_ || gone_ || !box.messages.empty(); });
  }
}

void Reader::close(std::uint64_t check, std::shared_ptr<Owner> owner) {
  {
    const Lock lock(mutex_);
    boxes_.at(check).ending = true;
  }
  (void)send(check, wire::End{check});
  Lock lock(mutex_);
  Box& box = boxes_.at(check);
  const auto is_over = [&] { return box.ended || gone_; };
  if (!changed_.wait_for(lock, setup_.times.end, [&] { return is_over() || failing_; })) {
    fail_locked("it does not let go of memory");
  }
  if (!changed_.wait_for(lock, kToDie + kToDie, is_over)) {
    held_.push_back(std::move(owner));
  }
  boxes_.erase(check);
}

}  // namespace assay::worker
