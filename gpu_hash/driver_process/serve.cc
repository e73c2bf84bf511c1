// SPDX-License-Identifier: Apache-2.0
// The process that calls drivers. One thread hears the other side, so that the process ends with
// it; another one works.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <thread>
#include <utility>
#include <vector>

#include "gpu_hash/device.h"
#include "gpu_hash/driver_folder.h"
#include "gpu_hash/driver_process.h"
#include "gpu_hash/driver_process/wire.h"
#include "gpu_hash/source_file.h"
#include "schemas/posix/link.h"

namespace assay::gpu_hash {
namespace {

// Progress is said at most so often.
constexpr std::chrono::milliseconds kProgressEvery{250};

// The other side is this program, too: it violates the protocol by a fault alone.
[[noreturn]] void violated() { std::_Exit(EXIT_FAILURE); }
void require(bool condition) {
  if (!condition) {
    violated();
  }
}

// A memory file, mapped.
class Mapping {
 public:
  Mapping(const Descriptor& file, std::uint64_t size)
      : memory_(::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0)), size_(size) {
    require(memory_ != MAP_FAILED);
  }
  ~Mapping() { ::munmap(memory_, size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] ByteView bytes() const {
    return {static_cast<const std::uint8_t*>(memory_), size_};
  }

 private:
  void* memory_;
  std::uint64_t size_;
};

// One call of Engine::hash(), as it arrives.
class Arriving {
 public:
  explicit Arriving(const driver::Call& call) {
    request.parameters.hash = call.hash;
    request.parameters.chunk_size = call.chunk_size;
    request.outline_span = call.outline_span;
  }

  HashRequest request{};
  std::vector<Region> regions{};

  void add(Descriptor folder) {
    folders_.push_back(std::make_shared<const Directory>(std::move(folder)));
  }
  void add(const driver::Files& message) {
    for (const driver::File& file : message.files) {
      require(file.folder < folders_.size());
      const FileIdentity seen{file.device, file.inode, file.size, file.mtime_ns, file.ctime_ns};
      files_.push_back(std::make_shared<const SourceFile>(folders_[file.folder],
                                                          std::string(as_text(file.path)),
                                                          std::to_string(files_.size()), seen));
      if (file.read_once) {
        files_.back()->read_once();
      }
    }
  }
  void add(const Descriptor& file, std::uint64_t size) {
    require(memory_ == nullptr);
    memory_ = std::make_unique<const Mapping>(file, size);
  }
  void add(const driver::Pieces& message) {
    for (const driver::Piece& piece : message.pieces) {
      if (!open_) {
        regions.emplace_back();
      }
      open_ = !piece.ends;
      add(piece, regions.back());
    }
  }
  void add(const driver::Moves& message) {
    moves_.insert(moves_.end(), message.moves.begin(), message.moves.end());
  }
  void add(driver::Round round) { rounds_.push_back(std::move(round)); }
  [[nodiscard]] bool is_whole() const { return !open_; }
  [[nodiscard]] bool derives() const { return !rounds_.empty(); }
  // Gives the loads of the derivation their sources and moves.
  [[nodiscard]] DeriveRequest derivation() const {
    DeriveRequest derivation;
    auto source = regions.begin();
    auto move = moves_.begin();
    for (const driver::Round& round : rounds_) {
      DeriveRound& own = derivation.rounds.emplace_back();
      own.results = round.results;
      own.filled = round.filled;
      for (const driver::Load& load : round.loads) {
        require(load.sources <= static_cast<std::uint64_t>(regions.end() - source) &&
                load.moves <= static_cast<std::uint64_t>(moves_.end() - move));
        const auto sources_end = source + static_cast<std::ptrdiff_t>(load.sources);
        const auto moves_end = move + static_cast<std::ptrdiff_t>(load.moves);
        own.loads.push_back({{source, sources_end}, {move, moves_end}});
        source = sources_end;
        move = moves_end;
      }
    }
    require(source == regions.end() && move == moves_.end());
    return derivation;
  }
  [[nodiscard]] driver::Done done() const {
    driver::Done done;
    for (const auto& file : files_) {
      const std::optional<Protection> protection = file->protection();
      done.protections.push_back(protection ? static_cast<std::uint8_t>(*protection)
                                            : driver::kNotOpened);
    }
    return done;
  }

 private:
  void add(const driver::Piece& piece, Region& region) const {
    if (piece.source == driver::PieceSource::kFile) {
      require(piece.file < files_.size());
      region.pieces.emplace_back(FilePiece{files_[piece.file], piece.offset, piece.size});
    } else if (piece.source == driver::PieceSource::kMemory) {
      const ByteView all = memory_ ? memory_->bytes() : ByteView();
      require(piece.offset <= all.size() && piece.size <= all.size() - piece.offset);
      region.pieces.emplace_back(HostPiece{all.subspan(piece.offset, piece.size)});
    }
  }

  std::vector<std::shared_ptr<const Directory>> folders_;
  std::vector<std::shared_ptr<const SourceFile>> files_;
  std::unique_ptr<const Mapping> memory_;
  std::vector<Move> moves_;
  std::vector<driver::Round> rounds_;
  bool open_ = false;  // the last region has more pieces
};

class Server {
 public:
  explicit Server(Descriptor socket) : link_(std::move(socket)) {}

  [[noreturn]] void run(const std::string& build) {
    send(driver::Hello{build});
    std::thread([this] { work(); }).detach();
    while (true) {
      auto frame = link_.receive({.bytes = driver::kMaxMessage, .descriptors = 1});
      if (!frame) {
        std::_Exit(0);
      }
      auto message = driver::parse_to_process(frame->body);
      require(message.has_value());
      Descriptor file;
      if (!frame->descriptors.empty()) {
        file = std::move(frame->descriptors.front());
      }
      take(*message, std::move(file));
    }
  }

 private:
  using Answer = std::function<Result<driver::FromProcess>()>;

  void send(const driver::FromProcess& message) {
    if (!link_.send(driver::write(message))) {
      std::_Exit(0);
    }
  }

  void take(const driver::ToProcess& message, Descriptor file) {
    const bool wants_file = std::holds_alternative<driver::Folder>(message) ||
                            std::holds_alternative<driver::Memory>(message);
    require(wants_file == static_cast<bool>(file));
    if (std::holds_alternative<driver::List>(message)) {
      begin([this]() -> Result<driver::FromProcess> { return list(); });
    } else if (const auto* const open = std::get_if<driver::Open>(&message)) {
      begin([this, open = *open] { return make(open); });
    } else if (const auto* const bench = std::get_if<driver::Bench>(&message)) {
      begin([this, bench = *bench] { return measure(bench); });
    } else if (const auto* const call = std::get_if<driver::Call>(&message)) {
      arriving_ = std::make_unique<Arriving>(*call);
    } else {
      require(arriving_ != nullptr);
      add(message, std::move(file));
    }
  }

  void add(const driver::ToProcess& message, Descriptor file) {
    if (std::holds_alternative<driver::Folder>(message)) {
      arriving_->add(std::move(file));
    } else if (const auto* const files = std::get_if<driver::Files>(&message)) {
      arriving_->add(*files);
    } else if (const auto* const memory = std::get_if<driver::Memory>(&message)) {
      arriving_->add(file, memory->size);
    } else if (const auto* const pieces = std::get_if<driver::Pieces>(&message)) {
      arriving_->add(*pieces);
    } else if (const auto* const moves = std::get_if<driver::Moves>(&message)) {
      arriving_->add(*moves);
    } else if (const auto* const round = std::get_if<driver::Round>(&message)) {
      arriving_->add(*round);
    } else {
      require(arriving_->is_whole());
      begin([this, call = std::shared_ptr<Arriving>(std::move(arriving_))] { return hash(*call); });
    }
  }

  // Hands work to the other thread.
  void begin(Answer answer) {
    const std::scoped_lock lock(mutex_);
    require(!next_ && !busy_);
    next_ = std::move(answer);
    changed_.notify_all();
  }

  void work() {
    while (true) {
      Answer answer;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return static_cast<bool>(next_); });
        answer = std::exchange(next_, nullptr);
        busy_ = true;
      }
      Result<driver::FromProcess> result = fail(ErrorCode::kDeviceFailed, "the work ended early");
      try {
        result = answer();
      } catch (const std::exception& error) {  // the system has no more memory or threads
        result = fail(ErrorCode::kDeviceFailed, error.what());
      }
      answer = nullptr;
      {
        const std::scoped_lock lock(mutex_);
        busy_ = false;
      }
      send(result
               ? *result
               : driver::Failed{messages::problem_of(std::unexpected(std::move(result).error()))});
    }
  }

  driver::Listed list() {
    DeviceListing found = drivers_in_this_process().list();
    driver::Listed listed{std::move(found.devices), {}};
    for (const FailedPlatform& failed : found.failed) {
      listed.failed.push_back({failed.name, messages::problem_of(std::unexpected(failed.error))});
    }
    return listed;
  }

  Result<driver::FromProcess> make(const driver::Open& open) {
    engine_.reset();
    ASSAY_ASSIGN(engine_,
                 drivers_in_this_process().make_engine(open.index, driver::options_of(open)));
    return driver::opened_of(engine_->info());
  }

  static Result<driver::FromProcess> measure(const driver::Bench& bench) {
    ASSAY_ASSIGN(const BenchResult result,
                 drivers_in_this_process().bench(bench.device.index, bench.hash, bench.bytes,
                                                 driver::options_of(bench.device)));
    return driver::benched_of(result);
  }

  Result<driver::FromProcess> hash(Arriving& call) {
    if (!engine_) {
      return fail(ErrorCode::kInvalidParameter, "there is no engine yet");
    }
    call.request.progress = [this](std::uint64_t bytes) { progress(bytes); };
    std::vector<ObjectDigests> hashed;
    if (call.derives()) {
      ASSAY_ASSIGN(Derived derived, engine_->derive(call.derivation(), call.request));
      hashed = std::move(derived.sources);
      std::ranges::move(derived.results, std::back_inserter(hashed));
    } else {
      ASSAY_ASSIGN(hashed, engine_->hash(call.regions, call.request));
    }
    driver::Digests message;
    const auto add = [&](const Digest& digest) {
      message.digests.push_back(digest);
      if (message.digests.size() == driver::kMaxDigests) {
        send(message);
        message.digests.clear();
      }
    };
    for (const ObjectDigests& object : hashed) {
      add(object.root);
      std::ranges::for_each(object.outline, add);
    }
    if (!message.digests.empty()) {
      send(message);
    }
    return call.done();
  }

  // Called by threads of the engine, one at a time.
  void progress(std::uint64_t bytes) {
    const auto now = Steady::now();
    if (now - said_ >= kProgressEvery) {
      said_ = now;
      send(driver::Progress{bytes});
    }
  }

  Link link_;
  std::unique_ptr<Arriving> arriving_;  // of the thread that hears
  std::unique_ptr<Engine> engine_;      // of the thread that works, as said_
  Steady::time_point said_{};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Answer next_;
  bool busy_ = false;
};

}  // namespace

Status serve_driver(Descriptor socket, const std::string& build, const std::string& vendors) {
  int type = 0;
  socklen_t size = sizeof(type);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM) {
    return fail(ErrorCode::kUsage, "Only this program itself starts this");
  }
  (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!vendors.empty()) {
    (void)::setenv("OCL_ICD_VENDORS", vendors.c_str(), 1);
  }
  use_driver_folder();
  Server(std::move(socket)).run(build);
}

}  // namespace assay::gpu_hash
