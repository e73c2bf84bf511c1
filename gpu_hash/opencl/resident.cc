// SPDX-License-Identifier: Apache-2.0
#include "gpu_hash/opencl/resident.h"

#include <algorithm>
#include <set>
#include <utility>

#include "gpu_hash/opencl/lane.h"
#include "gpu_hash/opencl/memory.h"
#include "gpu_hash/resident/plan.h"
#include "gpu_hash/tree/fold.h"

namespace assay::gpu_hash {
namespace {

constexpr std::uint32_t kMaxSlots = 1U << 23;
constexpr std::uint64_t kTagBytes = 16;
// Chunks of the tree over tags: the smallest, because there are few.
constexpr std::uint32_t kTagChunk = kMinChunkSize;

// External memory, acquired while this object lives.
class Acquired {
 public:
  Acquired(const ClSession& session, cl_command_queue queue, ResidentScratch& scratch,
           std::span<const Region> regions)
      : session_(session), queue_(queue), scratch_(scratch) {
    std::set<cl_mem> memory;
    const DeviceMemory* last = nullptr;
    for (const Region& region : regions) {
      for (const Piece& piece : region.pieces) {
        const DeviceMemory* one = std::get<DevicePiece>(piece).memory.get();
        if (one == last) {
          continue;
        }
        last = one;
        const auto& cl = static_cast<const ClMemory&>(*one);
        if (cl.external()) {
          memory.insert(cl.get());
        }
      }
    }
    memory_.assign(memory.begin(), memory.end());
  }
  ~Acquired() {
    // What is in flight may use buffers that are about to go.
    scratch_.finish();
    if (acquired_) {
      ClEvents events;
      (void)hand_over(session_, queue_, Handover::kRelease, memory_, events);
      clFinish(queue_);
    }
  }
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;

  Status acquire() {
    ClEvents events;
    ASSAY_TRY(hand_over(session_, queue_, Handover::kAcquire, memory_, events));
    acquired_ = !memory_.empty();
    return events.wait(session_);
  }

 private:
  const ClSession& session_;
  cl_command_queue queue_;
  ResidentScratch& scratch_;
  std::vector<cl_mem> memory_;
  bool acquired_ = false;
};

// One batch on the device.
class BatchRun {
 public:
  BatchRun(const ClSession& session, ClKernels& kernels, ResidentScratch& scratch,
           cl_command_queue queue, const ResidentBatch& batch, std::uint32_t chunk_size,
           ResidentWork work)
      : session_(session),
        kernels_(kernels),
        scratch_(scratch),
        queue_(queue),
        batch_(batch),
        chunk_size_(chunk_size),
        work_(work),
        tables_(scratch.tables()) {}

  Status prepare() {
    using Role = ResidentScratch::Role;
    plan_tables();
    const std::uint64_t width = kernels_.digest_bytes();
    ASSAY_ASSIGN(tables_buffer_, scratch_.get(session_, Role::kTables, tables_.bytes()));
    const std::uint32_t digests = work_ == ResidentWork::kTags ? tag_runs_.items : slots();
    ASSAY_ASSIGN(digests_, scratch_.get(session_, Role::kDigests, digests * width));
    const std::uint64_t roots = batch_.segments.size() * width;
    ASSAY_ASSIGN(roots_, scratch_.get(session_, Role::kRoots, roots));
    ASSAY_ASSIGN(host_roots_, scratch_.roots(session_, roots));
    ASSAY_ASSIGN(
        side_, scratch_.get(session_, Role::kSide, std::max<std::uint64_t>(batch_.side_bytes, 1)));
    cl_event event = nullptr;
    ASSAY_TRY(
        session_.check("clEnqueueWriteBuffer",
                       clEnqueueWriteBuffer(queue_, tables_buffer_, CL_FALSE, 0, tables_.bytes(),
                                            tables_.words().data(), 0, nullptr, &event)));
    events_.add(event);
    std::uint32_t at = 0;
    for (const PlannedCopies& copies : batch_.copies) {
      const std::vector<cl_mem> buffers = handles(copies.memory);
      ASSAY_TRY(kernels_.gather_bytes(session_, queue_, buffers, tables_buffer_, at_copies_[at++],
                                      static_cast<std::uint32_t>(copies.copies.size()), side_,
                                      events_));
    }
    return {};
  }

  // Leaves into digests, with tags when there is a buffer for them. Later commands wait for them.
  Status leaves(cl_mem key, cl_mem tags) {
    const std::size_t queues = std::min(batch_.launches.size(), ResidentScratch::kQueues);
    std::vector<cl_command_queue> used{queue_};
    for (std::size_t i = 1; i < queues; ++i) {
      ASSAY_ASSIGN(const cl_command_queue other, scratch_.queue(session_, i));
      used.push_back(other);
      ASSAY_TRY(follow(other, queue_));
    }
    for (std::size_t i = 0; i < batch_.launches.size(); ++i) {
      ASSAY_TRY(launch_leaves(used[i % queues], i, key, tags));
    }
    for (std::size_t i = 1; i < queues; ++i) {
      ASSAY_TRY(follow(queue_, used[i]));
    }
    return session_.check("clFlush", clFlush(queue_));
  }

  // The tags of each segment as an object of its own, into digests.
  Status leaves_of_tags(cl_mem tags) {
    const cl_mem buffer = tags;
    LeafLaunch launch;
    launch.buffers = {&buffer, 1};
    launch.tables = tables_buffer_;
    launch.runs = tag_runs_;
    launch.chunk_size = kTagChunk;
    launch.aligned = true;
    launch.digests = digests_;
    return kernels_.leaves(session_, queue_, launch, events_);
  }

  // Starts to join the digests of segments to roots, and their way to the host.
  Status start_roots(bool of_tags) {
    const SegmentTables& segments = of_tags ? tag_segments_ : segments_;
    const NodeLaunch nodes{digests_, tables_buffer_, 0};
    for (const LevelTable& level : segments.levels) {
      ASSAY_TRY(kernels_.nodes(session_, queue_, nodes, segments, level, events_));
    }
    ASSAY_TRY(kernels_.gather_roots(session_, queue_, nodes, segments, roots_, 0, events_));
    const std::uint64_t size = batch_.segments.size() * kernels_.digest_bytes();
    cl_event event = nullptr;
    ASSAY_TRY(session_.check(
        "clEnqueueReadBuffer",
        clEnqueueReadBuffer(queue_, roots_, CL_FALSE, 0, size, host_roots_, 0, nullptr, &event)));
    events_.add(event);
    return session_.check("clFlush", clFlush(queue_));
  }

  // Waits for the roots and calls `take` with each, in the order of segments.
  template <typename Take>
  Status finish_roots(HashAlgorithm algorithm, const Take& take) {
    ASSAY_TRY(events_.wait(session_));
    const std::size_t width = kernels_.digest_bytes();
    for (std::size_t i = 0; i < batch_.segments.size(); ++i) {
      take(i, Digest::wrap(algorithm, host_roots_ + i * width));
    }
    return {};
  }

  [[nodiscard]] std::uint32_t slots() const { return batch_.first_slot.back(); }
  [[nodiscard]] std::uint64_t tag_bytes() const {
    return std::uint64_t{slots()} * (chunk_size_ / kTagBlock) * kTagBytes;
  }

 private:
  Status launch_leaves(cl_command_queue queue, std::size_t number, cl_mem key, cl_mem tags) {
    const PlannedLaunch& planned = batch_.launches[number];
    if (tags != nullptr && !planned.aligned) {
      return fail(ErrorCode::kInvalidParameter,
                  "tags need device memory that begins at a multiple of 16 bytes");
    }
    const std::vector<cl_mem> buffers = handles(planned.memory);
    LeafLaunch launch;
    launch.buffers = buffers;
    launch.tables = tables_buffer_;
    launch.runs = runs_[number];
    launch.chunk_size = chunk_size_;
    launch.aligned = planned.aligned;
    launch.digests = digests_;
    launch.first_digest = planned.first_slot;
    launch.key = key;
    launch.tags = tags;
    return work_ == ResidentWork::kTags ? kernels_.tag_blocks(session_, queue, launch, events_)
                                        : kernels_.leaves(session_, queue, launch, events_);
  }

  // What comes into `queue` from here on waits for what is in `first` now.
  Status follow(cl_command_queue queue, cl_command_queue first) {
    cl_event event = nullptr;
    ASSAY_TRY(session_.check("clEnqueueMarkerWithWaitList",
                             clEnqueueMarkerWithWaitList(first, 0, nullptr, &event)));
    events_.add(event);
    ASSAY_TRY(session_.check("clFlush", clFlush(first)));
    return session_.check("clEnqueueBarrierWithWaitList",
                          clEnqueueBarrierWithWaitList(queue, 1, &event, nullptr));
  }

  void plan_tables() {
    tables_.clear();
    std::size_t runs = 0;
    for (const PlannedLaunch& launch : batch_.launches) {
      runs += launch.runs.size();
    }
    tables_.reserve(runs, batch_.segments.size());
    for (const PlannedLaunch& launch : batch_.launches) {
      runs_.push_back(tables_.add_runs(launch.runs, chunk_size_));
    }
    for (const PlannedCopies& planned : batch_.copies) {
      std::vector<std::uint32_t> words;
      for (const ByteCopy& copy : planned.copies) {
        for (const std::uint64_t word :
             {std::uint64_t{copy.buffer}, std::uint64_t{copy.size}, copy.from & 0xFFFFFFFFU,
              copy.from >> 32, copy.to & 0xFFFFFFFFU, copy.to >> 32}) {
          words.push_back(static_cast<std::uint32_t>(word));
        }
      }
      at_copies_.push_back(tables_.add(words));
    }
    segments_ = tables_.add_segments(batch_.first_slot);
    if (work_ == ResidentWork::kHash) {
      return;
    }
    // Tags of a chunk are at most kTagChunk bytes, so digests of tags fit where digests of data
    // were.
    std::vector<Run> tag_runs;
    std::vector<std::uint32_t> first{0};
    const std::uint64_t per_chunk = chunk_size_ / kTagBlock * kTagBytes;
    for (std::size_t i = 0; i + 1 < batch_.first_slot.size(); ++i) {
      const std::uint64_t chunks = batch_.first_slot[i + 1] - batch_.first_slot[i];
      const std::uint64_t size = chunks * per_chunk;
      tag_runs.push_back({batch_.first_slot[i] * per_chunk, size, 0});
      first.push_back(first.back() +
                      static_cast<std::uint32_t>((size + kTagChunk - 1) / kTagChunk));
    }
    tag_runs_ = tables_.add_runs(tag_runs, kTagChunk);
    tag_segments_ = tables_.add_segments(first);
  }

  std::vector<cl_mem> handles(const std::vector<const DeviceMemory*>& memory) const {
    std::vector<cl_mem> result;
    result.reserve(memory.size());
    for (const DeviceMemory* one : memory) {
      result.push_back(one == nullptr ? side_ : static_cast<const ClMemory*>(one)->get());
    }
    return result;
  }

  const ClSession& session_;
  ClKernels& kernels_;
  ResidentScratch& scratch_;
  cl_command_queue queue_;
  const ResidentBatch& batch_;
  std::uint32_t chunk_size_;
  ResidentWork work_;
  LaunchTables& tables_;
  std::vector<RunTables> runs_;
  std::vector<std::uint32_t> at_copies_;
  SegmentTables segments_;
  RunTables tag_runs_;
  SegmentTables tag_segments_;
  cl_mem tables_buffer_ = nullptr;
  cl_mem digests_ = nullptr;
  cl_mem roots_ = nullptr;
  std::uint8_t* host_roots_ = nullptr;
  cl_mem side_ = nullptr;
  ClEvents events_;
};

// The key, on the device for the time of a call, and overwritten after it.
class DeviceKey {
 public:
  static Result<DeviceKey> create(const ClSession& session, cl_command_queue queue,
                                  const TagKey& key) {
    DeviceKey result(queue);
    ASSAY_ASSIGN(result.buffer_, session.make_buffer(CL_MEM_READ_WRITE, key.words().size_bytes()));
    ASSAY_TRY(session.check(
        "clEnqueueWriteBuffer",
        clEnqueueWriteBuffer(queue, result.buffer_.get(), CL_TRUE, 0, key.words().size_bytes(),
                             key.words().data(), 0, nullptr, nullptr)));
    return result;
  }
  ~DeviceKey() {
    if (buffer_ != nullptr) {
      const std::uint32_t zero = 0;
      clEnqueueFillBuffer(queue_, buffer_.get(), &zero, sizeof(zero), 0,
                          kTagKeyWords * sizeof(zero), 0, nullptr, nullptr);
      clFinish(queue_);
    }
  }
  DeviceKey(DeviceKey&&) noexcept = default;
  DeviceKey& operator=(DeviceKey&&) = delete;
  [[nodiscard]] cl_mem get() const { return buffer_.get(); }

 private:
  explicit DeviceKey(cl_command_queue queue) : queue_(queue) {}
  cl_command_queue queue_;
  ClBuffer buffer_;
};

// The results of a call, made when the device has begun to work.
class LazyResults {
 public:
  LazyResults(std::span<const std::uint64_t> sizes, const HashRequest& request,
              std::uint64_t segment)
      : sizes_(sizes), request_(request), segment_(segment) {}
  ResultTable& get() { return table_ ? *table_ : table_.emplace(sizes_, request_, segment_); }

 private:
  std::span<const std::uint64_t> sizes_;
  const HashRequest& request_;
  std::uint64_t segment_;
  std::optional<ResultTable> table_;
};

class Resident {
 public:
  Resident(const ClSession& session, ClKernels& kernels, ResidentScratch& scratch,
           cl_command_queue queue, const HashRequest& request, ResidentWork work, const TagKey* key)
      : session_(session),
        kernels_(kernels),
        scratch_(scratch),
        queue_(queue),
        request_(request),
        work_(work),
        key_(key) {}

  Status run(const ResidentBatch& batch, LazyResults& results,
             std::vector<std::vector<Digest>>& tag_roots) {
    BatchRun device(session_, kernels_, scratch_, queue_, batch, request_.parameters.chunk_size,
                    work_);
    const Status status = run_batch(device, batch, results, tag_roots);
    if (!status) {
      scratch_.finish();  // nothing of this batch may be in flight when its buffers go
    }
    return status;
  }

 private:
  Status run_batch(BatchRun& device, const ResidentBatch& batch, LazyResults& results,
                   std::vector<std::vector<Digest>>& tag_roots) {
    ASSAY_TRY(device.prepare());
    if (work_ == ResidentWork::kHash) {
      ASSAY_TRY(device.leaves(nullptr, nullptr));
      return add_digests(device, batch, results);
    }
    ASSAY_ASSIGN(const DeviceKey key, DeviceKey::create(session_, queue_, *key_));
    ASSAY_ASSIGN(const cl_mem tags,
                 scratch_.get(session_, ResidentScratch::kTagSums, device.tag_bytes()));
    ASSAY_TRY(device.leaves(key.get(), tags));
    if (work_ == ResidentWork::kHashAndTags) {
      ASSAY_TRY(add_digests(device, batch, results));
    }
    ASSAY_TRY(device.leaves_of_tags(tags));
    ASSAY_TRY(device.start_roots(true));
    return device.finish_roots(request_.parameters.hash, [&](std::size_t i, const Digest& root) {
      tag_roots[batch.segments[i].region].push_back(root);
    });
  }

  Status add_digests(BatchRun& device, const ResidentBatch& batch, LazyResults& results) {
    ResultTable& table = results.get();  // while the device hashes leaves
    ASSAY_TRY(device.start_roots(false));
    ASSAY_TRY(device.finish_roots(request_.parameters.hash, [&](std::size_t i, const Digest& root) {
      table.add(batch.segments[i], {&root, 1});
    }));
    if (request_.progress) {
      request_.progress(table.bytes_done());
    }
    return {};
  }

  const ClSession& session_;
  ClKernels& kernels_;
  ResidentScratch& scratch_;
  cl_command_queue queue_;
  const HashRequest& request_;
  ResidentWork work_;
  const TagKey* key_;
};

}  // namespace

Result<bool> is_resident(const ClSession& session, std::span<const Region> regions) {
  bool device = false;
  bool other = false;
  const DeviceMemory* known = nullptr;  // to be this engine's; pieces mostly share their memory
  for (const Region& region : regions) {
    for (const Piece& piece : region.pieces) {
      const auto* part = std::get_if<DevicePiece>(&piece);
      device = device || part != nullptr;
      other = other || part == nullptr;
      if (part == nullptr) {
        continue;
      }
      const DeviceMemory* memory = part->memory.get();
      if (memory != known || memory == nullptr) {
        const auto* own = dynamic_cast<const ClMemory*>(memory);
        if (own == nullptr || own->context() != session.context()) {
          return fail(ErrorCode::kInvalidParameter,
                      "device memory can only be hashed by the engine of its device");
        }
        known = memory;
      }
      if (part->offset > memory->size() || part->size > memory->size() - part->offset) {
        return fail(ErrorCode::kInvalidParameter, "a piece lies outside its device memory");
      }
    }
  }
  if (device && other) {
    return fail(ErrorCode::kInvalidParameter,
                "device memory and other pieces cannot be hashed in one call");
  }
  return device;
}

Result<ResidentResult> hash_resident(const ClSession& session, ClKernels& kernels,
                                     ResidentScratch& scratch, std::span<const Region> regions,
                                     const HashRequest& request, ResidentWork work,
                                     const TagKey* key) {
  ASSAY_ASSIGN(const std::vector<std::uint64_t> sizes, region_sizes(regions));
  ASSAY_ASSIGN(const cl_command_queue queue, scratch.queue(session));
  ResidentPlan plan(regions, sizes, request, {kMaxSlots, ClKernels::max_buffers(session)});
  LazyResults results(sizes, request, plan.segment_size());
  ResidentResult result;
  result.tag_roots.resize(work == ResidentWork::kHash ? 0 : regions.size());
  Acquired memory(session, queue, scratch, regions);
  ASSAY_TRY(memory.acquire());
  Resident resident(session, kernels, scratch, queue, request, work, key);
  while (plan.next(scratch.batch())) {
    if (request.stop.stop_requested()) {
      return fail(ErrorCode::kCancelled, "hashing was stopped on request");
    }
    ASSAY_TRY(resident.run(scratch.batch(), results, result.tag_roots));
  }
  if (work != ResidentWork::kTags) {
    ASSAY_ASSIGN(result.digests, results.get().take());
  }
  scratch.trim();
  return result;
}

}  // namespace assay::gpu_hash
