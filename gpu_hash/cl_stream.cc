// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_stream.h"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "gpu_hash/fold.h"
#include "gpu_hash/piece_reader.h"
#include "gpu_hash/slice_layout.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace assay::gpu_hash {
namespace {

// A slice takes this many whole segments, so that little of it stays empty.
constexpr std::uint64_t kSegmentsPerSlice = 16;
// Slices that are filled at a time; the other lanes are on their way to the device or on it.
constexpr std::size_t kFilling = 2;

std::uint64_t segment_size(std::uint64_t slice_bytes, const HashRequest& request) {
  const std::uint64_t size =
      std::max<std::uint64_t>(request.parameters.chunk_size, slice_bytes / kSegmentsPerSlice);
  return request.outline_span == 0 ? size : std::min(size, request.outline_span);
}

// Copies past the caches: nobody reads staging memory but the device, and a cached write would read
// the old line first. Host memory's bandwidth is what limits four copies at a time.
void copy_past_caches(std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
#if defined(__SSE2__)
  constexpr std::size_t line = 64;
  if (reinterpret_cast<std::uintptr_t>(to) % line == 0) {
    for (; size >= line; size -= line, to += line, from += line) {
      const auto* source = reinterpret_cast<const __m128i*>(from);
      auto* target = reinterpret_cast<__m128i*>(to);
      const __m128i a = _mm_loadu_si128(source);
      const __m128i b = _mm_loadu_si128(source + 1);
      const __m128i c = _mm_loadu_si128(source + 2);
      const __m128i d = _mm_loadu_si128(source + 3);
      _mm_stream_si128(target, a);
      _mm_stream_si128(target + 1, b);
      _mm_stream_si128(target + 2, c);
      _mm_stream_si128(target + 3, d);
    }
    _mm_sfence();
  }
#endif
  std::memcpy(to, from, size);
}

// Brings segments into staging memory with threads that live as long as the call.
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

  // Starts to fill `staging`. Both must stay until wait() has returned or this object is gone.
  void post(std::size_t lane, const SliceLayout& layout, std::span<std::uint8_t> staging) {
    {
      const std::scoped_lock lock(mutex_);
      slices_.push_back({lane, &layout, staging, 0, layout.segments().size()});
    }
    wake_.notify_all();
  }

  // Waits for the slice that was posted first, and forgets it.
  Status wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return slices_.front().missing == 0; });
    slices_.pop_front();
    return error_ ? Status(std::unexpected(*error_)) : Status{};
  }
  [[nodiscard]] std::size_t posted() const { return slices_.size(); }
  [[nodiscard]] std::size_t first_lane() const { return slices_.front().lane; }

 private:
  struct Slice {
    std::size_t lane;
    const SliceLayout* layout;
    std::span<std::uint8_t> staging;
    std::size_t next;     // segment that nobody has taken
    std::size_t missing;  // segments that are not yet there
  };

  // The first slice with work; nullptr when there is none.
  Slice* next_slice() {
    for (Slice& slice : slices_) {
      if (slice.next < slice.layout->segments().size()) {
        return &slice;
      }
    }
    return nullptr;
  }

  void work() {
    PieceReader reader;
    std::unique_lock lock(mutex_);
    for (;;) {
      Slice* slice = nullptr;
      wake_.wait(lock, [&] { return end_ || (slice = next_slice()) != nullptr; });
      if (end_) {
        return;
      }
      // Addresses in a deque stay while its ends change, and this slice stays while parts of it are
      // missing.
      const std::size_t i = slice->next++;
      const bool skip = error_.has_value();
      lock.unlock();
      Status status = skip ? Status{} : read(reader, *slice, i);
      lock.lock();
      if (!status && !error_) {
        error_ = std::move(status).error();
      }
      if (--slice->missing == 0) {
        done_.notify_one();
      }
    }
  }

  Status read(PieceReader& reader, const Slice& slice, std::size_t i) const {
    if (stop_.stop_requested()) {
      return fail(ErrorCode::kCancelled, "hashing was stopped on request");
    }
    const Segment& segment = slice.layout->segments()[i];
    const Region& region = regions_[segment.region];
    const std::span<std::uint8_t> out =
        slice.staging.subspan(slice.layout->extents()[2 * i], segment.size);
    const auto* host =
        region.pieces.size() == 1 ? std::get_if<HostPiece>(&region.pieces.front()) : nullptr;
    if (host != nullptr) {
      copy_past_caches(out.data(), host->bytes.subspan(segment.offset, segment.size).data(),
                       segment.size);
      return {};
    }
    return reader.read(region, segment.offset, out);
  }

  std::span<const Region> regions_;
  const std::stop_token& stop_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Slice> slices_;
  std::optional<Error> error_;
  bool end_ = false;
  std::vector<std::jthread> threads_;  // last: they use all of it
};

// One hash() call: slices go round the lanes until every object is folded.
class Pipeline {
 public:
  Pipeline(const ClSession& session, ClKernels& kernels, std::vector<ClLane>& lanes,
           std::span<const Region> regions, std::span<const std::uint64_t> sizes,
           const HashRequest& request, const StreamOptions& options)
      : session_(session),
        kernels_(kernels),
        lanes_(lanes),
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
      filler_.post(lane, layouts_[lane], lanes_[lane].staging());
      ++filling_;
      if (filling_ > kFilling || filling_ == lanes_.size()) {
        ASSAY_TRY(submit());
      }
    }
    while (filling_ > 0) {
      ASSAY_TRY(submit());
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

  // Hands the slice that was posted first to the device.
  Status submit() {
    --filling_;
    ASSAY_TRY(filler_.wait());
    last_ = submitted_++ % lanes_.size();
    return lanes_[last_].submit(session_, kernels_, layouts_[last_],
                                request_.parameters.chunk_size);
  }

  Status collect(std::size_t lane) {
    if (!lanes_[lane].busy()) {
      return {};
    }
    ASSAY_ASSIGN(const std::vector<Digest> digests,
                 lanes_[lane].wait(session_, request_.parameters.hash));
    const std::span<const Segment> segments = layouts_[lane].segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      table_.add(segments[i], {digests[i]});
    }
    if (request_.progress) {
      request_.progress(table_.bytes_done());
    }
    return {};
  }

  const ClSession& session_;
  ClKernels& kernels_;
  std::vector<ClLane>& lanes_;
  const HashRequest& request_;
  SegmentCursor cursor_;
  std::optional<Segment> waiting_;  // did not fit into the slice before
  ResultTable table_;
  std::vector<SliceLayout> layouts_;  // by lane
  std::size_t filling_ = 0;           // slices posted and not submitted
  std::size_t submitted_ = 0;
  std::size_t last_ = 0;  // lane
  Filler filler_;         // last: its threads use layouts and lanes
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
                                          std::vector<ClLane>& lanes,
                                          std::span<const Region> regions,
                                          const HashRequest& request,
                                          const StreamOptions& options) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  // No more threads than segments.
  StreamOptions own = options;
  const std::uint64_t segment = segment_size(options.slice_bytes, request);
  std::uint64_t segments = 0;
  for (const std::uint64_t size : sizes) {
    segments += (size + segment - 1) / segment;
  }
  own.threads = static_cast<unsigned>(std::min<std::uint64_t>(own.threads, segments));
  return Pipeline(session, kernels, lanes, regions, sizes, request, own).work();
}

}  // namespace assay::gpu_hash
