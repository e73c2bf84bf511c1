// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/derive.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "embedded/gpu_hash_kernels.h"
#include "gpu_hash/opencl/block_filler.h"
#include "gpu_hash/opencl/resident.h"

namespace assay::gpu_hash {
namespace {

constexpr std::size_t kRowWords = 8;               // ROW_WORDS in moves.cl
constexpr std::uint64_t kCopy16 = 6;               // COPY16
constexpr std::uint64_t kRowElements = 1U << 13U;  // that a group takes at a time
constexpr std::size_t kGroup = 256;
constexpr std::size_t kMaxGroups = 16'384;

// Adds a move as rows of the kernel: as few and as wide elements as fit, neighbours of the results
// in the inner loop.
void add_rows(const Move& move, std::vector<std::uint64_t>& words) {
  Move row = move;
  auto kind = static_cast<std::uint64_t>(move.kind);
  const std::uint64_t width = bytes_to(row.kind);
  const bool copy = bytes_from(row.kind) == width && row.inner.from == width &&
                    row.inner.to == width &&
                    kind < static_cast<std::uint64_t>(MoveKind::kF32ToBf16);
  const std::uint64_t bytes = row.inner.count * width;
  const bool one = row.outer.count == 1;
  const std::uint64_t all =
      row.from | row.to | bytes | (one ? 0 : row.outer.from) | (one ? 0 : row.outer.to);
  if (copy && all % 16 == 0) {
    kind = kCopy16;
    row.inner = {bytes / 16, 16, 16};
  }
  if (row.outer.count > 1 && row.outer.to < row.inner.to) {
    std::swap(row.outer, row.inner);
  }
  const std::uint64_t inner = std::min(row.inner.count, kRowElements);
  const std::uint64_t outer = std::max<std::uint64_t>(kRowElements / inner, 1);
  for (std::uint64_t i = 0; i < row.outer.count; i += outer) {
    for (std::uint64_t j = 0; j < row.inner.count; j += inner) {
      const std::uint64_t counts =
          std::min(outer, row.outer.count - i) << 32U | std::min(inner, row.inner.count - j);
      words.insert(words.end(), {row.from + i * row.outer.from + j * row.inner.from,
                                 row.to + i * row.outer.to + j * row.inner.to, row.outer.from,
                                 row.outer.to, row.inner.from, row.inner.to, counts, kind});
    }
  }
}

// Brings loads to the device in turn, in a thread of its own.
class Loader {
 public:
  Loader(const DeriveParts& parts, std::vector<const DeriveLoad*> loads,
         const std::stop_token& stop, cl_command_queue queue, std::array<cl_mem, 2> memory,
         std::uint64_t bytes)
      : parts_(parts),
        loads_(std::move(loads)),
        queue_(queue),
        memory_(memory),
        copies_(loads_.size()),
        filler_(stop, BlockFiller::useful_threads(parts.threads, bytes)),
        thread_([this] { run(); }) {}
  ~Loader() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
    // Nothing may be in flight when staging memory is used again.
    clFinish(queue_);
    parts_.staging.clear();
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Waits until a load is on the device.
  Status wait(std::size_t load) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return sent_ > load || error_; });
      if (error_) {
        return std::unexpected(*error_);
      }
    }
    return copies_[load].wait(parts_.session);
  }
  // Says that the memory of a load may be used again.
  void release(std::size_t load) {
    const std::scoped_lock lock(mutex_);
    released_ = load + 1;
    changed_.notify_all();
  }

 private:
  struct Block {
    std::size_t load;
    std::size_t staging;
    std::uint64_t offset;  // bytes in the load
    std::uint64_t size;
    bool last;
  };

  void run() {
    Status status = send_all();
    if (!status) {
      const std::scoped_lock lock(mutex_);
      error_ = std::move(status).error();
      changed_.notify_all();
    }
  }

  Status send_all() {
    for (std::size_t load = 0; load < loads_.size(); ++load) {
      const std::vector<Region>& sources = loads_[load]->sources;
      ASSAY_ASSIGN(std::vector<std::uint64_t> sizes, region_sizes(sources));
      const std::vector<std::uint64_t>& places = places_.emplace_back(derive_places(sizes));
      const std::uint64_t end = places.back();
      const std::uint64_t step = parts_.staging.block_bytes();
      if (end == 0) {
        blocks_.push_back({load, 0, 0, 0, true});
      }
      for (std::uint64_t at = 0; at < end; at += step) {
        ASSAY_TRY(post({load, posted_++ % parts_.staging.size(), at, std::min(step, end - at),
                        at + step >= end},
                       sources, places));
      }
    }
    while (!blocks_.empty()) {
      ASSAY_TRY(send());
    }
    return {};
  }

  Status post(const Block& block, const std::vector<Region>& sources,
              const std::vector<std::uint64_t>& places) {
    ASSAY_TRY(parts_.staging.wait(parts_.session, block.staging));
    blocks_.push_back(block);
    filler_.post(
        [&sources, &places](PieceReader& reader, std::uint64_t begin, std::span<std::uint8_t> out) {
          return fill(sources, places, reader, begin, out);
        },
        block.offset, parts_.staging.block(block.staging).first(block.size));
    const bool enough =
        blocks_.size() > BlockFiller::kFilling || blocks_.size() + 1 >= parts_.staging.size();
    return enough ? send() : Status{};
  }

  // Bytes between two sources are never read.
  static Status fill(const std::vector<Region>& sources, const std::vector<std::uint64_t>& places,
                     PieceReader& reader, std::uint64_t begin, std::span<std::uint8_t> out) {
    const std::uint64_t end = begin + out.size();
    auto source =
        static_cast<std::size_t>(std::ranges::upper_bound(places, begin) - places.begin() - 1);
    for (; source < sources.size() && places[source] < end; ++source) {
      ASSAY_ASSIGN(const std::uint64_t size, region_size(sources[source]));
      const std::uint64_t from = std::max(places[source], begin);
      const std::uint64_t to = std::min(places[source] + size, end);
      if (from < to) {
        ASSAY_TRY(reader.read(sources[source], from - places[source],
                              out.subspan(from - begin, to - from)));
      }
    }
    return {};
  }

  // Sends the block that was posted first, once the load that had its memory is released.
  Status send() {
    const Block block = blocks_.front();
    blocks_.pop_front();
    if (block.size > 0) {
      ASSAY_TRY(filler_.wait());
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || released_ + 2 > block.load; });
      if (ended_) {
        return fail(ErrorCode::kCancelled, "the derivation has ended");
      }
    }
    if (block.size > 0) {
      ASSAY_ASSIGN(ClEvent event,
                   parts_.staging.send(parts_.session, queue_, block.staging, block.size,
                                       memory_.at(block.load % 2), block.offset));
      copies_[block.load].add(event.release());
    }
    if (block.last) {
      const std::scoped_lock lock(mutex_);
      sent_ = block.load + 1;
      changed_.notify_all();
    }
    return {};
  }

  const DeriveParts& parts_;
  std::vector<const DeriveLoad*> loads_;
  cl_command_queue queue_;
  std::array<cl_mem, 2> memory_;
  std::vector<ClEvents> copies_;  // by load; of the other thread once it was sent
  std::deque<std::vector<std::uint64_t>> places_;
  std::deque<Block> blocks_;  // posted and not sent
  std::size_t posted_ = 0;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t sent_ = 0;      // loads
  std::size_t released_ = 0;  // loads
  std::optional<Error> error_;
  bool ended_ = false;
  BlockFiller filler_;
  std::jthread thread_;
};

// The objects of these sizes in device memory, as regions.
std::vector<Region> regions_in(const std::shared_ptr<ClMemory>& memory,
                               std::span<const std::uint64_t> sizes) {
  const std::vector<std::uint64_t> places = derive_places(sizes);
  std::vector<Region> regions(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0) {
      regions[i].pieces.emplace_back(DevicePiece{memory, places[i], sizes[i]});
    }
  }
  return regions;
}

// The loads of a derivation, and the most bytes that it needs at a time.
struct Needs {
  std::vector<const DeriveLoad*> loads{};
  std::uint64_t load = 0;
  std::uint64_t results = 0;
  std::uint64_t bytes = 0;  // of all loads
};
Result<Needs> needs_of(const DeriveRequest& derivation) {
  Needs needs;
  for (const DeriveRound& round : derivation.rounds) {
    needs.results = std::max(needs.results, derive_places(round.results).back());
    for (const DeriveLoad& load : round.loads) {
      ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(load.sources));
      needs.loads.push_back(&load);
      needs.load = std::max(needs.load, derive_places(sizes).back());
      needs.bytes += derive_places(sizes).back();
    }
  }
  return needs;
}

// The moves of the self-test: each kind, with and without gaps and turns.
std::vector<Move> test_moves() {
  std::vector<Move> moves;
  std::uint64_t to = 0;
  for (unsigned i = 0; i <= static_cast<unsigned>(MoveKind::kF32ToF16); ++i) {
    const MoveKind kind{static_cast<std::uint8_t>(i)};
    const std::uint64_t in = bytes_from(kind);
    const std::uint64_t out = bytes_to(kind);
    moves.push_back({kind, 8 * i, to, {3, 400 * in, 64 * out}, {64, in, out}});
    moves.push_back({kind, 16 * in, to + 192 * out, {20, in, 10 * out}, {10, 20 * in, out}});
    to += 1024 * out;
  }
  return moves;
}

}  // namespace

Status ClDerivation::reserve(const ClSession& session, std::shared_ptr<ClMemory>& memory,
                             std::uint64_t size) const {
  if (memory == nullptr || memory->size() < size) {
    memory.reset();
    ASSAY_ASSIGN(memory, ClMemory::allocate(session, std::max<std::uint64_t>(size, 1)));
  }
  return {};
}

Status ClDerivation::prepare(const DeriveParts& parts) {
  if (kernel_) {
    return {};
  }
  ASSAY_ASSIGN(copies_, parts.session.make_queue());
  ASSAY_ASSIGN(moves_, parts.session.make_queue());
  const ProgramSource source{{embedded::kMovesCl}, "-cl-std=CL1.2"};
  ASSAY_ASSIGN(LoadedProgram program, load_program(parts.session, source, parts.cache));
  Status status = fail(ErrorCode::kDeviceFailed, "not yet");
  for (const bool cached : {program.from_cache, false}) {
    // A cached binary may be to blame, so the source gets its chance.
    if (!cached && program.from_cache) {
      ASSAY_ASSIGN(program, build_program(parts.session, source, parts.cache));
    }
    ASSAY_ASSIGN(kernel_, make_kernel(parts.session, program.program.get(), "move_rows"));
    program_ = std::move(program.program);
    status = test(parts);
    if (status || !cached) {
      break;
    }
  }
  if (!status) {
    kernel_ = {};
  }
  return status;
}

Status ClDerivation::test(const DeriveParts& parts) {
  Bytes sources(32'768);
  std::uint32_t state = 1;
  for (std::uint8_t& byte : sources) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::uint8_t>(state >> 24U);
  }
  Bytes expected(32'768);
  Bytes found(expected.size());
  const std::vector<Move> moves = test_moves();
  for (const Move& one : moves) {
    move_elements(one, sources, expected);
  }
  ASSAY_TRY(reserve(parts.session, sources_[0], sources.size()));
  ASSAY_TRY(reserve(parts.session, results_, expected.size()));
  const cl_command_queue queue = moves_.get();
  const std::uint32_t zero = 0;
  ASSAY_TRY(parts.session.check(
      "clEnqueueWriteBuffer",
      clEnqueueWriteBuffer(queue, sources_[0]->get(), CL_TRUE, 0, sources.size(), sources.data(), 0,
                           nullptr, nullptr)));
  ASSAY_TRY(parts.session.check("clEnqueueFillBuffer",
                                clEnqueueFillBuffer(queue, results_->get(), &zero, sizeof(zero), 0,
                                                    expected.size(), 0, nullptr, nullptr)));
  ClEvents events;
  ASSAY_TRY(move(parts, moves, *sources_[0], events));
  ASSAY_TRY(events.wait(parts.session));
  ASSAY_TRY(parts.session.check(
      "clEnqueueReadBuffer", clEnqueueReadBuffer(queue, results_->get(), CL_TRUE, 0, found.size(),
                                                 found.data(), 0, nullptr, nullptr)));
  return found == expected ? Status()
                           : fail(ErrorCode::kDeviceSelfTestFailed,
                                  parts.session.name() + ": moved elements are others");
}

Status ClDerivation::move(const DeriveParts& parts, std::span<const Move> moves,
                          const ClMemory& sources, ClEvents& events) {
  words_.clear();
  for (const Move& one : moves) {
    add_rows(one, words_);
  }
  if (words_.empty()) {
    return {};
  }
  const std::uint64_t bytes = words_.size() * sizeof(words_[0]);
  ASSAY_TRY(reserve(parts.session, rows_, bytes));
  const cl_command_queue queue = moves_.get();
  cl_event event = nullptr;
  ASSAY_TRY(parts.session.check("clEnqueueWriteBuffer",
                                clEnqueueWriteBuffer(queue, rows_->get(), CL_FALSE, 0, bytes,
                                                     words_.data(), 0, nullptr, &event)));
  events.add(event);
  const auto rows = static_cast<std::uint32_t>(words_.size() / kRowWords);
  KernelArguments arguments(kernel_.get());
  arguments.add(rows_->get()).add(rows).add(sources.get()).add(results_->get());
  ASSAY_TRY(enqueue(parts.session, queue, events, kernel_.get(), arguments,
                    std::min<std::size_t>(rows, kMaxGroups) * kGroup, kGroup));
  return parts.session.check("clFlush", clFlush(queue));
}

Status ClDerivation::clear(const ClSession& session, std::uint64_t size, ClEvents& events) {
  const std::uint32_t zero = 0;
  cl_event event = nullptr;
  ASSAY_TRY(session.check("clEnqueueFillBuffer",
                          clEnqueueFillBuffer(moves_.get(), results_->get(), &zero, sizeof(zero), 0,
                                              size, 0, nullptr, &event)));
  events.add(event);
  return {};
}

Result<Derived> ClDerivation::run(const DeriveParts& parts, const DeriveRequest& derivation,
                                  const HashRequest& request) {
  ASSAY_TRY(check(derivation, kDeviceDeriveRoom));
  ASSAY_TRY(prepare(parts));
  ASSAY_ASSIGN(const Needs needs, needs_of(derivation));
  for (std::shared_ptr<ClMemory>& memory : sources_) {
    ASSAY_TRY(reserve(parts.session, memory, needs.load));
  }
  ASSAY_TRY(reserve(parts.session, results_, needs.results));
  const HashRequest quiet{request.parameters, request.outline_span, {}, request.stop};
  const auto hash = [&](const std::shared_ptr<ClMemory>& memory,
                        std::span<const std::uint64_t> sizes,
                        std::vector<ObjectDigests>& digests) -> Status {
    ASSAY_ASSIGN(
        ResidentResult result,
        hash_resident(parts.session, parts.kernels, parts.scratch, regions_in(memory, sizes), quiet,
                      ResidentWork::kHash, nullptr, parts.batch_bytes));
    std::ranges::move(result.digests, std::back_inserter(digests));
    return {};
  };
  Derived derived;
  ClEvents events;
  Loader loader(parts, needs.loads, request.stop, copies_.get(),
                {sources_[0]->get(), sources_[1]->get()}, needs.bytes);
  std::uint64_t done = 0;
  std::size_t number = 0;
  for (const DeriveRound& round : derivation.rounds) {
    const std::uint64_t end = derive_places(round.results).back();
    if (end > 0 && !round.filled) {
      ASSAY_TRY(clear(parts.session, end, events));
    }
    for (const DeriveLoad& load : round.loads) {
      ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(load.sources));
      const std::shared_ptr<ClMemory>& memory = sources_.at(number % 2);
      ASSAY_TRY(loader.wait(number));
      ASSAY_TRY(move(parts, load.moves, *memory, events));
      ASSAY_TRY(hash(memory, sizes, derived.sources));
      ASSAY_TRY(events.wait(parts.session));
      loader.release(number++);
      done = std::accumulate(sizes.begin(), sizes.end(), done);
      if (request.progress) {
        request.progress(done);
      }
    }
    ASSAY_TRY(events.wait(parts.session));
    if (!round.results.empty()) {
      ASSAY_TRY(hash(results_, round.results, derived.results));
    }
  }
  return derived;
}

}  // namespace assay::gpu_hash
