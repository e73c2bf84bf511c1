// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/stream.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>
#include <optional>
#include <utility>

#include "gpu_hash/opencl/block_filler.h"
#include "gpu_hash/tree/fold.h"
#include "gpu_hash/tree/slice_layout.h"

namespace assay::gpu_hash {
namespace {

// A slice takes this many whole segments, so that little of it stays empty.
constexpr std::uint64_t kSegmentsPerSlice = 16;

std::uint64_t segment_size(std::uint64_t slice_bytes, const HashRequest& request) {
  const std::uint64_t size =
      std::max<std::uint64_t>(request.parameters.chunk_size, slice_bytes / kSegmentsPerSlice);
  return request.outline_span == 0 ? size : std::min(size, request.outline_span);
}

// Brings what lies in a slice from byte `begin` on into `out`.
Status read_slice(std::span<const Region> regions, const SliceLayout& layout, PieceReader& reader,
                  std::uint64_t begin, std::span<std::uint8_t> out) {
  const std::uint64_t end = begin + out.size();
  const std::span<const Segment> segments = layout.segments();
  for (std::size_t i = layout.find(begin); i < segments.size(); ++i) {
    const std::uint64_t first = layout.extents()[2 * i];
    const std::uint64_t from = std::max(first, begin);
    const std::uint64_t to = std::min(first + segments[i].size, end);
    if (from >= to) {
      break;
    }
    ASSAY_TRY(reader.read(regions[segments[i].region], segments[i].offset + (from - first),
                          out.subspan(from - begin, to - from)));
  }
  return {};
}

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
        regions_(regions),
        filler_(request.stop, options.threads) {
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
    filler_.post(
        [this, &layout = layouts_[lane]](PieceReader& reader, std::uint64_t begin,
                                         std::span<std::uint8_t> out) {
          return read_slice(regions_, layout, reader, begin, out);
        },
        offset, staging_.block(block).first(size));
    // No more than there are blocks and lanes to be filled without being sent.
    const bool enough = loads_.size() > BlockFiller::kFilling ||
                        loads_.size() + 1 >= staging_.size() || loads_.size() + 1 >= lanes_.size();
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
  std::span<const Region> regions_;
  BlockFiller filler_;  // last: its threads use layouts and lanes
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
  StreamOptions own = options;
  own.threads = BlockFiller::useful_threads(
      options.threads, std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
  return Pipeline(session, kernels, lanes, staging, regions, sizes, request, own).work();
}

}  // namespace assay::gpu_hash
