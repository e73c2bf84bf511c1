// SPDX-License-Identifier: Apache-2.0
#include "worker/reader/serve.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "schemas/posix/descriptor_limit.h"
#include "schemas/posix/link.h"
#include "worker/instances/check.h"
#include "worker/reader/remote_owner.h"
#include "worker/reader/turn.h"

namespace assay::worker {
namespace {

// Progress is said at most so often.
constexpr std::chrono::milliseconds kProgressEvery{500};

std::unexpected<Error> not_understood() {
  return fail(ErrorCode::kInvalidParameter, "the node agent asks for what makes no sense");
}

// The export time is the node agent's to measure: here the clock stands still.
ExportTime endless() {
  return ExportTime([] { return Steady::time_point(); });
}

wire::Numbers numbers_of(const std::vector<std::size_t>& tensors) {
  return {tensors.begin(), tensors.end()};
}

// What all checks of the process share.
struct Shared {
  Link& link;
  const ServeSetup& setup;
  gpu_hash::Engine& engine;
  Random& random;
  Turn turn{};

  // Without the node agent there is nothing left to do.
  void send(const wire::FromReader& message) {
    setup.before_sending(message);
    if (!link.send(wire::write(message))) {
      std::_Exit(0);
    }
  }
};

// One check, in a thread of its own.
class Session {
 public:
  Session(Shared& shared, const wire::Start& start, std::shared_ptr<RemoteOwner> owner)
      : shared_(shared),
        number_(start.check),
        parameters_{.hash = start.hash, .chunk_size = start.chunk_size},
        slices_(start.slices),
        tags_(start.tags),
        owner_(std::move(owner)),
        engine_(shared.engine, shared.turn, owner_->ended(), [this] { progress(); }),
        thread_([this] { run(); }) {}

  [[nodiscard]] RemoteOwner& owner() { return *owner_; }
  [[nodiscard]] bool is_done() const { return done_; }

  // False when the question before is not answered yet.
  [[nodiscard]] bool ask(wire::ToReader question) {
    const std::scoped_lock lock(mutex_);
    if (busy_ || question_) {
      return false;
    }
    question_ = std::move(question);
    changed_.notify_all();
    return true;
  }
  void end() {
    owner_->end();
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }

 private:
  void progress() {
    const auto now = Steady::now().time_since_epoch();
    auto last = said_.load();
    if (now - last >= kProgressEvery && said_.compare_exchange_strong(last, now)) {
      shared_.send(wire::Progress{number_});
    }
  }

  void run() {
    answer([this] { return start(); });
    while (const std::optional<wire::ToReader> question = next()) {
      answer([&] { return handle(*question); });
    }
    // This object lives until the next message; nothing of the owner may.
    check_.reset();
    owner_->close_window();
    shared_.send(wire::Ended{number_});
    done_ = true;
  }

  // The next question; nullopt at the end.
  std::optional<wire::ToReader> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return question_ || ending_; });
    busy_ = !ending_;
    return ending_ ? std::nullopt : std::exchange(question_, std::nullopt);
  }

  template <typename Work>
  void answer(const Work& work) {
    Result<wire::FromReader> result = fail(ErrorCode::kInternal, "The work ended early");
    try {
      result = work();
    } catch (const std::exception& error) {  // the system has no more memory or threads
      result = fail(ErrorCode::kInternal, error.what());
    }
    {
      const std::scoped_lock lock(mutex_);
      busy_ = false;
    }
    shared_.send(result ? *result
                        : wire::Failed{number_, wire::problem_of(
                                                    std::unexpected(std::move(result).error()))});
  }

  Result<wire::FromReader> start() {
    std::vector<std::size_t> tensors(owner_->registration().tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      tensors[i] = i;
    }
    ExportTime exports = endless();
    ASSAY_ASSIGN(check_,
                 InstanceCheck::start(owner_, engine_, std::move(tensors),
                                      {parameters_, slices_, {}, &exports, tags_}, shared_.random));
    const PassTimes& times = check_->times();
    const auto count = [](std::chrono::microseconds time) {
      return static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
    };
    wire::Started started{number_,
                          check_->roots(),
                          {},
                          count(times.exports),
                          count(times.imports),
                          count(times.hashing)};
    for (unsigned i = 0; i < check_->slices(); ++i) {
      started.slices.push_back(check_->bytes_of(i));
    }
    return started;
  }

  Result<wire::FromReader> handle(const wire::ToReader& question) {
    if (!check_) {
      return fail(ErrorCode::kInvalidParameter, "the full pass failed");
    }
    if (const auto* const look = std::get_if<wire::Look>(&question)) {
      const std::vector<unsigned> slices(look->slices.begin(), look->slices.end());
      if (std::ranges::any_of(look->slices,
                              [this](std::uint64_t slice) { return slice >= check_->slices(); })) {
        return fail(ErrorCode::kInvalidParameter, "there is no such slice");
      }
      ExportTime exports = endless();
      ASSAY_ASSIGN(const Looked looked, check_->look(slices, look->count, &exports));
      return wire::Looked{number_, numbers_of(looked.changed), looked.redraw.drawn,
                          looked.redraw.pieces, numbers_of(looked.redraw.changed)};
    }
    if (const auto* const fetch = std::get_if<wire::Fetch>(&question)) {
      ExportTime exports = endless();
      ASSAY_TRY(check_->draw(fetch->count, &exports));
      return wire::Fetched{number_};
    }
    if (const auto* const draw = std::get_if<wire::Draw>(&question)) {
      ExportTime exports = endless();
      ASSAY_ASSIGN(const Redraw redraw, check_->redraw(draw->count, &exports));
      return wire::Drawn{number_, redraw.drawn, redraw.pieces, numbers_of(redraw.changed)};
    }
    return outline(std::get<wire::Outline>(question));
  }

  Result<wire::FromReader> outline(const wire::Outline& wanted) {
    const std::vector<std::size_t> tensors(wanted.tensors.begin(), wanted.tensors.end());
    const std::size_t count = owner_->registration().tensors.size();
    if (std::ranges::any_of(tensors, [=](std::size_t tensor) { return tensor >= count; })) {
      return fail(ErrorCode::kInvalidParameter, "there is no such tensor");
    }
    ASSAY_ASSIGN(const std::vector<gpu_hash::ObjectDigests> found,
                 check_->outline(tensors, wanted.span));
    wire::Outlined outlined{number_, {}};
    std::size_t bytes = 0;
    for (const gpu_hash::ObjectDigests& one : found) {
      wire::Digests& digests = outlined.tensors.emplace_back(wire::Digests{one.root});
      digests.insert(digests.end(), one.outline.begin(), one.outline.end());
      bytes += digests.size() * (1 + Digest::kMaxSize) + sizeof(std::uint32_t);
    }
    constexpr std::size_t kHead = 64;
    if (bytes > wire::kMaxFromReader - kHead) {
      return fail(ErrorCode::kLimitExceeded, "the outline has too many digests");
    }
    return outlined;
  }

  Shared& shared_;
  const std::uint64_t number_;
  const TreeParameters parameters_;
  const unsigned slices_;
  const bool tags_;
  const std::shared_ptr<RemoteOwner> owner_;
  EngineInTurn engine_;
  std::unique_ptr<InstanceCheck> check_;  // of thread_
  std::atomic<Steady::duration> said_{};
  std::atomic<bool> done_ = false;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::optional<wire::ToReader> question_;
  bool busy_ = true;  // with the full pass first
  bool ending_ = false;
  std::jthread thread_;  // last: it uses the others
};

// The thread that hears the node agent.
class Server {
 public:
  explicit Server(Shared& shared) : shared_(shared) {}

  // Ends with the process.
  [[noreturn]] void run() {
    Status status;
    while (status) {
      auto frame =
          shared_.link.receive({.bytes = wire::kMaxToReader, .descriptors = kMaxFrameDescriptors});
      if (!frame) {
        std::_Exit(0);
      }
      auto message = wire::parse_to_reader(frame->body);
      if (!message) {
        break;
      }
      shared_.setup.on_message(*message);
      status = take(*std::move(message), std::move(frame->descriptors));
      std::erase_if(sessions_, [](const auto& item) { return item.second->is_done(); });
    }
    std::_Exit(EXIT_FAILURE);
  }

 private:
  Status take(wire::ToReader message, std::vector<Descriptor> descriptors) {
    if (const auto* const begin = std::get_if<wire::Start>(&message)) {
      return start(*begin, std::move(descriptors));
    }
    const auto place =
        sessions_.find(std::visit([](const auto& one) { return one.check; }, message));
    if (place == sessions_.end()) {
      return not_understood();
    }
    Session& session = *place->second;
    if (const auto* const exported = std::get_if<wire::Exported>(&message)) {
      session.owner().take(exported->problem, std::move(descriptors));
    } else if (const auto* const staged = std::get_if<wire::Staged>(&message)) {
      session.owner().take(staged->problem, {});
    } else if (std::holds_alternative<wire::End>(message)) {
      session.end();
    } else if (!session.ask(std::move(message))) {
      return not_understood();
    }
    return {};
  }

  Status start(const wire::Start& start, std::vector<Descriptor> descriptors) {
    Descriptor window;
    if (!descriptors.empty()) {
      window = std::move(descriptors.front());
    }
    if (sessions_.contains(start.check) || descriptors.size() > 1) {
      return not_understood();
    }
    ASSAY_ASSIGN(
        std::shared_ptr<RemoteOwner> owner,
        RemoteOwner::create(start, std::move(window),
                            [this](const wire::FromReader& message) { shared_.send(message); }));
    sessions_.emplace(start.check, std::make_unique<Session>(shared_, start, std::move(owner)));
    return {};
  }

  Shared& shared_;
  std::map<std::uint64_t, std::unique_ptr<Session>> sessions_;
};

wire::Hello hello_of(const ServeSetup& setup, const gpu_hash::EngineInfo& engine) {
  return {setup.build,
          engine.id,
          engine.device,
          engine.uuid,
          engine.pci,
          engine.driver,
          engine.kernel_digest ? engine.kernel_digest->text() : ""};
}

}  // namespace

void end_first_without_memory() {
  std::ofstream("/proc/self/oom_score_adj") << 1000;  // the most there is; more needs no privilege
}

Status serve_reader(Descriptor socket, const ServeSetup& setup, Random& random) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return fail(ErrorCode::kUsage, "Only the node agent starts this");
  }
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  raise_descriptor_limit();  // imports of device memory keep theirs
  Link link(std::move(socket));
  const auto engine = setup.make_engine();
  if (!engine) {
    const wire::Failed failed{0, wire::problem_of(std::unexpected(engine.error()))};
    (void)link.send(wire::write(failed));
    return std::unexpected(engine.error());
  }
  Shared shared{link, setup, **engine, random};
  shared.send(hello_of(setup, (*engine)->info()));
  Server(shared).run();
}

}  // namespace assay::worker
