// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/stream.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "gpu_hash/files/piece_reader.h"
#include "gpu_hash/tree/fold.h"
#include "gpu_hash/tree/slice_layout.h"

namespace assay::gpu_hash {
namespace {

// A slice takes this many whole segments, so that little of it stays empty.
constexpr std::uint64_t kSegmentsPerSlice = 16;
// Blocks that are filled at a time; the others are on their way to the device.
constexpr std::size_t kFilling = 3;
// What a thread fills at a time: a block has parts for many threads, and they stay in their caches.
constexpr std::uint64_t kPart = std::uint64_t{512} << 10;  // bytes

std::uint64_t segment_size(std::uint64_t slice_bytes, const HashRequest& request) {
  const std::uint64_t size =
      std::max<std::uint64_t>(request.parameters.chunk_size, slice_bytes / kSegmentsPerSlice);
  return request.outline_span == 0 ? size : std::min(size, request.outline_span);
}

// Brings segments into staging blocks with threads that live as long as the call.
class Filler {
 public:
  Filler(std::span<const Region> regions, const std::stop_token& stop, unsigned threads)
      : regions_(regions), stop_(stop) {
    for (unsigned i = 0; i < std::max(threads, 1U); ++i) {
      threads_.emplace_back([this] { work(); });
    }
  }
  ~Filler() {
    {
      const std::scoped_lock lock(mutex_);
      end_ = true;
    }
    wake_.notify_all();
  }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;

  // Starts to fill `block` with what lies in the slice from byte `begin` on. All of them must stay
  // until wait() has returned or this object is gone.
  void post(const SliceLayout& layout, std::uint64_t begin, std::span<std::uint8_t> block) {
    {
      const std::scoped_lock lock(mutex_);
      const std::uint64_t parts = (block.size() + kPart - 1) / kPart;
      blocks_.push_back({&layout, begin, block, 0, parts, parts});
    }
    wake_.notify_all();
  }

  // Waits for the block that was posted first, and forgets it.
  Status wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return blocks_.front().missing == 0; });
    blocks_.pop_front();
    return error_ ? Status(std::unexpected(*error_)) : Status{};
  }

 private:
  struct Block {
    const SliceLayout* layout;
    std::uint64_t begin;  // bytes in the slice
    std::span<std::uint8_t> memory;
    std::uint64_t next;  // part that nobody has taken
    std::uint64_t parts;
    std::uint64_t missing;  // parts that are not yet there
  };

  // The first block with work; nullptr when there is none.
  Block* next_block() {
    for (Block& block : blocks_) {
      if (block.next < block.parts) {
        return &block;
      }
    }
    return nullptr;
  }

  void work() {
    PieceReader reader;
    std::unique_lock lock(mutex_);
    for (;;) {
      Block* block = nullptr;
      wake_.wait(lock, [&] { return end_ || (block = next_block()) != nullptr; });
      if (end_) {
        return;
      }
      // Addresses in a deque stay while its ends change, and this block stays while parts of it are
      // missing.
      const std::uint64_t part = block->next++;
      const bool skip = error_.has_value();
      lock.unlock();
      Status status = skip ? Status{} : fill(reader, *block, part);
      lock.lock();
      if (!status && !error_) {
        error_ = std::move(status).error();
      }
      if (--block->missing == 0) {
        done_.notify_one();
      }
    }
  }

  Status fill(PieceReader& reader, const Block& block, std::uint64_t part) const {
    if (stop_.stop_requested()) {
      return fail(ErrorCode::kCancelled, "hashing was stopped on request");
    }
    const std::span<std::uint8_t> out = block.memory.subspan(
        part * kPart, std::min<std::uint64_t>(kPart, block.memory.size() - part * kPart));
    const std::uint64_t begin = block.begin + part * kPart;  // in the slice, as what follows
    const std::uint64_t end = begin + out.size();
    const std::span<const Segment> segments = block.layout->segments();
    for (std::size_t i = block.layout->find(begin); i < segments.size(); ++i) {
      const std::uint64_t first = block.layout->extents()[2 * i];
      const std::uint64_t from = std::max(first, begin);
      const std::uint64_t to = std::min(first + segments[i].size, end);
      if (from >= to) {
        break;
      }
      ASSAY_TRY(reader.read(regions_[segments[i].region], segments[i].offset + (from - first),
                            out.subspan(from - begin, to - from)));
    }
    return {};
  }

  std::span<const Region> regions_;
  const std::stop_token& stop_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Block> blocks_;
  std::optional<Error> error_;
  bool end_ = false;
  std::vector<std::jthread> threads_;  // last: they use all of it
};

// One hash() call: slices go round the lanes until every object is folded.
class Pipeline {
 public:
  Pipeline(const ClSession& session, ClKernels& kernels, std::vector<ClLane>& lanes,
           ClStaging& staging, std::span<const Region> regions,
           std::span<const std::uint64_t> sizes, const HashRequest& request,
           const StreamOptions& options)
      : session_(session),
        kernels_(kernels),
        lanes_(lanes),
        staging_(staging),
        request_(request),
        cursor_(sizes, segment_size(options.slice_bytes, request)),
        table_(sizes, request, segment_size(options.slice_bytes, request)),
        filler_(regions, request.stop, options.threads) {
    const SliceLayout::Limits limits{options.slice_bytes, slots_of_slice(options.slice_bytes),
                                     options.alignment};
    layouts_.assign(lanes.size(), SliceLayout(request.parameters.chunk_size, limits));
  }
  // Whatever went wrong, nothing may be in flight when staging memory is used again.
  ~Pipeline() {
    for (ClLane& lane : lanes_) {
      lane.drain();
    }
    staging_.clear();
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  Result<std::vector<ObjectDigests>> work() {
    for (std::size_t lane = 0;; lane = (lane + 1) % lanes_.size()) {
      ASSAY_TRY(collect(lane));
      plan(layouts_[lane]);
      if (layouts_[lane].empty()) {
        break;
      }
      const std::uint64_t bytes = layouts_[lane].bytes();
      for (std::uint64_t at = 0; at < bytes; at += staging_.block_bytes()) {
        ASSAY_TRY(load(lane, at, std::min(staging_.block_bytes(), bytes - at)));
      }
    }
    while (!loads_.empty()) {
      ASSAY_TRY(send());
    }
    // In the order of submission, so that digests arrive in theirs.
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      ASSAY_TRY(collect((last_ + 1 + i) % lanes_.size()));
    }
    return table_.take();
  }

 private:
  void plan(SliceLayout& layout) {
    layout.clear();
    for (;;) {
      if (!waiting_) {
        waiting_ = cursor_.next();
      }
      if (!waiting_ || !layout.add(*waiting_)) {
        return;
      }
      waiting_.reset();
    }
  }

  // Has the next block filled with bytes [offset, offset + size) of a lane's slice, and sends
  // another one once enough are being filled.
  Status load(std::size_t lane, std::uint64_t offset, std::uint64_t size) {
    const std::size_t block = posted_++ % staging_.size();
    ASSAY_TRY(staging_.wait(session_, block));
    loads_.push_back({lane, block, offset, size});
    filler_.post(layouts_[lane], offset, staging_.block(block).first(size));
    // No more than there are blocks and lanes to be filled without being sent.
    const bool enough = loads_.size() > kFilling || loads_.size() + 1 >= staging_.size() ||
                        loads_.size() + 1 >= lanes_.size();
    return enough ? send() : Status{};
  }

  // Sends the block that was posted first, and starts the kernels behind the last one of a slice.
  Status send() {
    const Load load = loads_.front();
    loads_.pop_front();
    ASSAY_TRY(filler_.wait());
    ASSAY_TRY(lanes_[load.lane].receive(session_, staging_, load.block, load.size, load.offset));
    const SliceLayout& layout = layouts_[load.lane];
    if (load.offset + load.size < layout.bytes()) {
      return {};
    }
    last_ = load.lane;
    return lanes_[last_].submit(session_, kernels_, layout, request_.parameters.chunk_size);
  }

  Status collect(std::size_t lane) {
    if (!lanes_[lane].busy()) {
      return {};
    }
    ASSAY_ASSIGN(const std::vector<Digest> digests,
                 lanes_[lane].wait(session_, request_.parameters.hash));
    const std::span<const Segment> segments = layouts_[lane].segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      table_.add(segments[i], {&digests[i], 1});
    }
    if (request_.progress) {
      request_.progress(table_.bytes_done());
    }
    return {};
  }

  // A block that is being filled.
  struct Load {
    std::size_t lane;
    std::size_t block;
    std::uint64_t offset;  // bytes in the slice
    std::uint64_t size;    // bytes
  };

  const ClSession& session_;
  ClKernels& kernels_;
  std::vector<ClLane>& lanes_;
  ClStaging& staging_;
  const HashRequest& request_;
  SegmentCursor cursor_;
  std::optional<Segment> waiting_;  // did not fit into the slice before
  ResultTable table_;
  std::vector<SliceLayout> layouts_;  // by lane
  std::deque<Load> loads_;            // posted and not sent
  std::size_t posted_ = 0;            // blocks
  std::size_t last_ = 0;              // lane
  Filler filler_;                     // last: its threads use layouts and lanes
};

}  // namespace

std::uint32_t slots_of_slice(std::uint64_t slice_bytes) {
  // Small objects take a slot each; beyond the slots of the smallest chunks there is room for some.
  return static_cast<std::uint32_t>(slice_bytes / kMinChunkSize + 1024);
}

std::uint32_t levels_of_slice(std::uint64_t slice_bytes) {
  return static_cast<std::uint32_t>(std::bit_width(slice_bytes / kMinChunkSize));
}

Result<std::vector<ObjectDigests>> stream(const ClSession& session, ClKernels& kernels,
                                          std::vector<ClLane>& lanes, ClStaging& staging,
                                          std::span<const Region> regions,
                                          const HashRequest& request,
                                          const StreamOptions& options) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  // No more threads than parts.
  StreamOptions own = options;
  const std::uint64_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  own.threads =
      static_cast<unsigned>(std::min<std::uint64_t>(own.threads, (bytes + kPart - 1) / kPart));
  return Pipeline(session, kernels, lanes, staging, regions, sizes, request, own).work();
}

}  // namespace assay::gpu_hash
