// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/cl_engine.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "gpu_hash/cl_device_engine.h"
#include "gpu_hash/piece_reader.h"
#include "gpu_hash/self_test.h"
#include "gpu_hash/slice_layout.h"
#include "gpu_hash/workers.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint64_t kDefaultSlice = std::uint64_t{64} << 20;  // bytes
// Not below the largest chunk: a slice holds whole segments, a segment whole chunks.
constexpr std::uint64_t kMinSlice = kMaxChunkSize;
// A slice takes this many whole segments, so that little of it stays empty.
constexpr std::uint64_t kSegmentsPerSlice = 16;
// Where segments start in a slice; any byte is allowed, this one suits the memory.
constexpr std::uint32_t kAlignment = 64;
constexpr unsigned kMaxReaders = 16;

std::uint32_t slots_of(std::uint64_t slice_bytes) {
  // Small objects take a slot each; beyond the slots of the smallest chunks there is room for some.
  return static_cast<std::uint32_t>(slice_bytes / kMinChunkSize + 1024);
}

std::uint64_t segment_size(std::uint64_t slice_bytes, const HashRequest& request) {
  const std::uint64_t size =
      std::max<std::uint64_t>(request.parameters.chunk_size, slice_bytes / kSegmentsPerSlice);
  return request.outline_span == 0 ? size : std::min(size, request.outline_span);
}

// Levels of the tree over the largest segment.
std::uint32_t levels_of(std::uint64_t slice_bytes) {
  return static_cast<std::uint32_t>(std::bit_width(slice_bytes / kMinChunkSize));
}

Result<std::uint64_t> choose_slice(const ClDevice& device, std::uint64_t wanted) {
  const std::uint64_t limit =
      std::min(device.info.max_allocation_bytes, device.info.memory_bytes / 8);
  if (limit < kMinSlice) {
    return fail(ErrorCode::kDeviceFailed, device.info.name + ": the device has too little memory");
  }
  const std::uint64_t slice = std::max(wanted == 0 ? kDefaultSlice : wanted, kMinSlice);
  return std::bit_floor(std::min(slice, limit));
}

// Brings the data of a slice into staging memory, with several threads: one alone is slower than
// the way to the device.
class Filler {
 public:
  Filler(std::span<const Region> regions, const SliceLayout& layout,
         std::span<std::uint8_t> staging, const std::stop_token& stop)
      : regions_(regions), layout_(layout), staging_(staging), stop_(stop) {}

  Status run(unsigned threads) {
    const auto useful = std::min<std::size_t>(threads, layout_.segments().size());
    run_on_threads(static_cast<unsigned>(useful), [this] { work(); });
    return error_ ? Status(std::unexpected(*error_)) : Status{};
  }

 private:
  void work() {
    PieceReader reader;
    while (!failed_) {
      const std::size_t i = next_++;
      if (i >= layout_.segments().size()) {
        return;
      }
      const Segment& segment = layout_.segments()[i];
      Status status = stop_.stop_requested()
                          ? Status(fail(ErrorCode::kCancelled, "hashing was stopped on request"))
                          : reader.read(regions_[segment.region], segment.offset,
                                        staging_.subspan(layout_.extents()[2 * i], segment.size));
      if (!status) {
        const std::scoped_lock lock(mutex_);
        if (!error_) {
          error_ = std::move(status).error();
        }
        failed_ = true;
      }
    }
  }

  std::span<const Region> regions_;
  const SliceLayout& layout_;
  std::span<std::uint8_t> staging_;
  const std::stop_token& stop_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;
  std::optional<Error> error_;  // guarded by mutex_
};

}  // namespace

// One hash() call: slices go round the lanes until every object is folded.
class ClEngine::Run {
 public:
  Run(ClEngine& engine, const ClKernels& kernels, std::span<const Region> regions,
      std::span<const std::uint64_t> sizes, const HashRequest& request, std::uint32_t alignment)
      : engine_(engine),
        kernels_(kernels),
        regions_(regions),
        request_(request),
        cursor_(sizes, segment_size(engine.slice_bytes_, request)),
        table_(sizes, request, segment_size(engine.slice_bytes_, request)) {
    const SliceLayout::Limits limits{engine.slice_bytes_, slots_of(engine.slice_bytes_), alignment};
    layouts_.assign(kLanes, SliceLayout(request.parameters.chunk_size, limits));
  }
  // Whatever went wrong, nothing may be in flight when staging memory is used again.
  ~Run() {
    for (ClLane& lane : engine_.lanes_) {
      lane.drain();
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<std::vector<ObjectDigests>> work() {
    for (std::size_t lane = 0;; lane = (lane + 1) % kLanes) {
      ASSAY_TRY(collect(lane));
      SliceLayout& layout = layouts_[lane];
      plan(layout);
      if (layout.empty()) {
        break;
      }
      Filler filler(regions_, layout, engine_.lanes_[lane].staging(), request_.stop);
      ASSAY_TRY(filler.run(engine_.threads_));
      ASSAY_TRY(engine_.lanes_[lane].submit(engine_.session_, kernels_, layout,
                                            request_.parameters.chunk_size));
    }
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      ASSAY_TRY(collect(lane));
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

  Status collect(std::size_t lane) {
    if (!engine_.lanes_[lane].busy()) {
      return {};
    }
    ASSAY_ASSIGN(const std::vector<Digest> digests,
                 engine_.lanes_[lane].wait(engine_.session_, request_.parameters.hash));
    const std::span<const Segment> segments = layouts_[lane].segments();
    for (std::size_t i = 0; i < segments.size(); ++i) {
      table_.add(segments[i], {digests[i]});
    }
    if (request_.progress) {
      request_.progress(table_.bytes_done());
    }
    return {};
  }

  ClEngine& engine_;
  const ClKernels& kernels_;
  std::span<const Region> regions_;
  const HashRequest& request_;
  SegmentCursor cursor_;
  std::optional<Segment> waiting_;  // did not fit into the slice before
  ResultTable table_;
  std::vector<SliceLayout> layouts_;  // by lane
};

ClEngine::ClEngine(ClSession session, const EngineOptions& options, KernelCache cache,
                   std::uint64_t slice_bytes)
    : session_(std::move(session)),
      cache_(std::move(cache)),
      threads_(options.threads != 0 ? options.threads : std::min(usable_cores(), kMaxReaders)),
      slice_bytes_(slice_bytes) {
  const DeviceInfo& device = session_.device().info;
  info_ = {device.id, device.name, device.driver, kernel_digest()};
}

Result<std::unique_ptr<ClEngine>> ClEngine::open(ClDevice device, const EngineOptions& options,
                                                 KernelCache cache) {
  ASSAY_ASSIGN(const std::uint64_t slice, choose_slice(device, options.slice_bytes));
  ASSAY_ASSIGN(ClSession session, ClSession::open(std::move(device)));
  return std::unique_ptr<ClEngine>(
      new ClEngine(std::move(session), options, std::move(cache), slice));
}

Status ClEngine::make_lanes() {
  while (lanes_.size() < kLanes) {
    ASSAY_ASSIGN(ClLane lane, ClLane::create(session_, slice_bytes_, slots_of(slice_bytes_),
                                             levels_of(slice_bytes_)));
    lanes_.push_back(std::move(lane));
  }
  return {};
}

Status ClEngine::test(const ClKernels& kernels, HashAlgorithm algorithm) {
  ASSAY_TRY(make_lanes());
  // Segments without gaps between them, so that most start at an odd address.
  return self_test(session_.name(), algorithm,
                   [&](std::span<const Region> regions, const HashRequest& request) {
                     return run(kernels, regions, request, 1);
                   });
}

Result<const ClKernels*> ClEngine::kernels(HashAlgorithm algorithm) {
  std::optional<ClKernels>& slot = tested_[algorithm == HashAlgorithm::kSha256 ? 0 : 1];
  if (slot) {
    return &*slot;
  }
  ASSAY_ASSIGN(ClKernels kernels, ClKernels::load(session_, algorithm, cache_));
  Status result = test(kernels, algorithm);
  if (!result && kernels.from_cache()) {
    // The cached binary may be to blame, so the source gets its chance.
    ASSAY_ASSIGN(kernels, ClKernels::build(session_, algorithm, cache_));
    result = test(kernels, algorithm);
  }
  if (!result) {
    return std::unexpected(std::move(result).error());
  }
  slot = std::move(kernels);
  return &*slot;
}

Result<std::vector<ObjectDigests>> ClEngine::hash(std::span<const Region> regions,
                                                  const HashRequest& request) {
  ASSAY_TRY(check(request));
  const std::scoped_lock lock(mutex_);
  ASSAY_ASSIGN(const ClKernels* const tested, kernels(request.parameters.hash));
  return run(*tested, regions, request, kAlignment);
}

Result<std::vector<ObjectDigests>> ClEngine::run(const ClKernels& kernels,
                                                 std::span<const Region> regions,
                                                 const HashRequest& request,
                                                 std::uint32_t alignment) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  return Run(*this, kernels, regions, sizes, request, alignment).work();
}

std::vector<DeviceInfo> list_opencl_devices() {
  std::vector<DeviceInfo> result;
  for (ClDevice& device : find_cl_devices()) {
    result.push_back(std::move(device.info));
  }
  return result;
}

std::string opencl_absence() {
  return "no OpenCL device was found; is the driver's file in /etc/OpenCL/vendors?";
}

Result<std::unique_ptr<Engine>> make_opencl_engine(unsigned index, const EngineOptions& options) {
  std::vector<ClDevice> devices = find_cl_devices();
  if (index >= devices.size()) {
    return fail(ErrorCode::kDeviceNotFound, opencl_absence());
  }
  return ClEngine::open(std::move(devices[index]), options, KernelCache::of_user());
}

}  // namespace assay::gpu_hash
